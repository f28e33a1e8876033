package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

// slackWorld is a bot with Slack as its platform.
type slackWorld struct {
	world
	slack *channeltest.Slack
}

// The people in the workspace, and where they talk.
const (
	eva, tom = "U0EVA", "U0TOM"
	evaDM    = "D0EVA"
	lounge   = "C0LOUNGE"
)

func newSlackWorld(t *testing.T, script modeltest.Script, config string) *slackWorld {
	t.Helper()
	return newSlackWorldIn(t, script, config, func(w *slackWorld) { must(t, w.slack.WaitSockets(w.ctx, 2)) })
}

// newSlackWorldIn is a world whose bot receives when ready returns.
func newSlackWorldIn(t *testing.T, script modeltest.Script, config string, ready func(*slackWorld)) *slackWorld {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	t.Cleanup(cancel)
	w := &slackWorld{
		world: world{t: t, ctx: ctx, dir: t.TempDir(), model: modeltest.New(script)},
		slack: channeltest.NewSlack(channeltest.SlackConfig{}),
	}
	t.Cleanup(w.model.Close)
	t.Cleanup(w.slack.Close)
	w.slack.SetPerson(eva, channeltest.SlackPerson{Name: "Eva"})
	w.slack.SetPerson(tom, channeltest.SlackPerson{Name: "Tom"})
	text := fmt.Sprintf(`[agent]
model = "test/scripted-1"
[providers.test]
format = "openai"
base_url = %q
api_key = "sk-test-canary-0123456789"
[server]
listen = "127.0.0.1:0"
[access]
owners = ["slack:%s"]
dm_policy = "members"
[channels.slack]
bot_token = %q
app_token = %q
signing_secret = %q
api_url = %q
%s
`, w.model.URL(), eva, w.slack.BotToken(), w.slack.AppToken(), w.slack.SigningSecret(), w.slack.URL(), config)
	must(t, os.WriteFile(filepath.Join(w.dir, "clawbot.toml"), []byte(text), 0o600))
	w.run()
	ready(w)
	return w
}

func (w *slackWorld) run() {
	w.t.Helper()
	w.bot = startProcess(w.t, w.dir, nil, "run", "--config", filepath.Join(w.dir, "clawbot.toml"))
}

// saying waits for a message of the bot in a channel and returns it.
func (w *slackWorld) saying(channel, text string) channeltest.SlackMessage {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	m, err := w.slack.WaitText(ctx, channel, text)
	if err != nil {
		w.t.Fatalf("nobody says %q: %v; the model was asked %d times; the bot's log:\n%s", text, err, w.model.Count(), w.bot.log())
	}
	return m
}

func (w *slackWorld) mention(text string) string {
	return w.slack.SendText(lounge, eva, w.slack.Mention()+" "+text)
}

func TestSlackAMentionIsAnsweredInItsThreadOnceAndStreamed(t *testing.T) {
	hold := make(chan struct{})
	w := newSlackWorld(t, modeltest.Turns(
		modeltest.Turn{Text: "The answer begins here, and it goes on **and on** to its end.", Chunk: 8, Hold: hold, After: 5},
	), "")
	w.slack.SendText(lounge, tom, "just talking among people")
	root := w.mention("tell me")
	req := w.nextRequest()
	if !strings.Contains(req.LastUser(), "tell me") || !strings.Contains(req.LastUser(), "Eva") || !req.Mentions("just talking among people") {
		t.Errorf("the model was asked %q", req.LastUser())
	}
	draft := w.saying(lounge, "The answer begins")
	close(hold)
	w.saying(lounge, "The answer begins here, and it goes on **and on** to its end.")
	must(t, w.slack.WaitAcked(w.ctx))
	must(t, w.slack.WaitStatus(w.ctx, lounge, root, func(s string) bool { return s == "" }))
	all := w.slack.Messages(lounge)
	if len(all) != 1 || all[0].Thread != root || all[0].TS != draft.TS || len(all[0].History) < 2 {
		t.Errorf("the channel shows %+v", all)
	}
	must(t, w.slack.WaitCalls(w.ctx, "chat.stopStream", 1))
	if starts, stops := w.slack.CallCount("chat.startStream"), w.slack.CallCount("chat.stopStream"); starts != 1 || stops != 1 || all[0].Streaming() {
		t.Errorf("it grew in %d streams, %d of them ended", starts, stops)
	}
	if n := w.model.Count(); n != 1 {
		t.Errorf("the twins made %d model calls", n)
	}
	if err := w.bot.stop(); err != nil {
		t.Errorf("SIGTERM: %v\n%s", err, w.bot.log())
	}
	for _, secret := range []string{"canary", w.slack.BotToken(), w.slack.AppToken(), w.slack.SigningSecret()} {
		if strings.Contains(w.bot.log(), secret) {
			t.Error("a secret is in the log")
		}
	}
}

func TestSlackAReplyInTheThreadSteersWithoutAnotherMention(t *testing.T) {
	hold := make(chan struct{})
	w := newSlackWorld(t, modeltest.Turns(
		modeltest.Turn{Text: "Working on it.", Calls: []modeltest.Call{{Name: "list_dir", Arguments: `{}`}}, Hold: hold, After: 1},
		modeltest.Say("Done, in French."),
	), "")
	root := w.mention("write a poem")
	w.nextRequest()
	w.saying(lounge, "Working on it.")
	w.slack.Send(channeltest.SlackIncoming{Channel: lounge, User: eva, Thread: root, Text: "make it French"})
	must(t, w.slack.WaitAcked(w.ctx))
	close(hold)
	if second := w.nextRequest(); !second.Mentions("make it French") || !second.Mentions("write a poem") {
		t.Errorf("the second request has %+v", second.Messages)
	}
	if m := w.saying(lounge, "Done, in French."); m.Thread != root {
		t.Errorf("answered in %q", m.Thread)
	}
}

func TestSlackStopAsTextEndsTheRunInThatThread(t *testing.T) {
	w := newSlackWorld(t, modeltest.Turns(
		modeltest.Turn{Text: "The quick brown fox jumps over the lazy dog, and then", Stall: true, After: 1},
		modeltest.Say("Here again."),
	), "")
	root := w.mention("tell me a story")
	w.saying(lounge, "The quick brown fox")
	w.slack.Send(channeltest.SlackIncoming{Channel: lounge, User: eva, Thread: root, Text: w.slack.Mention() + " /stop"})
	w.saying(lounge, "Stopped")
	w.slack.Send(channeltest.SlackIncoming{Channel: lounge, User: eva, Thread: root, Text: w.slack.Mention() + " are you there?"})
	w.saying(lounge, "Here again.")
	if last := w.model.Requests()[1]; !last.Mentions("The quick brown fox") {
		t.Errorf("the next request lacks what was said: %+v", last.Messages)
	}
}

func TestSlacksStopButtonEndsTheRunAndItsStream(t *testing.T) {
	w := newSlackWorld(t, modeltest.Turns(
		modeltest.Turn{Text: "The quick brown fox jumps over the lazy dog, and then", Stall: true, After: 1},
		modeltest.Say("Here again."),
	), "")
	root := w.mention("tell me a story")
	if m := w.saying(lounge, "The quick brown fox"); !m.Streaming() {
		t.Error("it is no stream")
	}
	w.slack.PressStop(lounge, eva, root)
	w.saying(lounge, "Stopped")
	w.slack.Send(channeltest.SlackIncoming{Channel: lounge, User: eva, Thread: root, Text: w.slack.Mention() + " are you there?"})
	w.saying(lounge, "Here again.")
	for _, m := range w.slack.Messages(lounge) {
		if m.Streaming() {
			t.Errorf("%q is still a stream", m.Shown())
		}
	}
	must(t, w.slack.WaitStatus(w.ctx, lounge, root, func(s string) bool { return s == "" }))
}

func TestSlackADirectMessageIsAnsweredToMembersAndRefusedToGuests(t *testing.T) {
	w := newSlackWorld(t, modeltest.Always(modeltest.Say("Hello, member.")), "")
	w.slack.SendText(evaDM, eva, "hello")
	if m := w.saying(evaDM, "Hello, member."); m.Thread != "" {
		t.Errorf("answered in the thread %q", m.Thread)
	}
	w.slack.SetPerson("U0GUEST", channeltest.SlackPerson{Name: "Guest", Guest: true})
	w.slack.SendText("D0GUEST", "U0GUEST", "hello")
	w.saying("D0GUEST", "answers only people")
	w.slack.SendText("D0TOM", tom, "hello")
	w.saying("D0TOM", "Hello, member.")
	if n := w.model.Count(); n != 2 {
		t.Errorf("%d model calls", n)
	}
}

func TestSlackACommandIsAnsweredToWhoAskedAlone(t *testing.T) {
	w := newSlackWorld(t, modeltest.Always(modeltest.Say("unused")), "")
	w.slack.Slash(lounge, eva, "/clawbot", "status")
	w.mention("/help")
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	hidden, err := w.slack.WaitEphemeral(ctx, lounge, func(all []channeltest.SlackMessage) bool { return len(all) >= 2 })
	if err != nil {
		t.Fatalf("%v\n%s", err, w.bot.log())
	}
	must(t, w.slack.WaitAcked(w.ctx))
	if hidden = w.slack.Ephemeral(lounge); len(hidden) != 2 || hidden[0].OnlyFor != eva || len(w.slack.Messages(lounge)) != 0 || w.model.Count() != 0 {
		t.Errorf("shown to eva %+v, to all %+v", hidden, w.slack.Messages(lounge))
	}
	if !slices.ContainsFunc(hidden, func(m channeltest.SlackMessage) bool { return strings.Contains(m.Shown(), "/status") }) {
		t.Error("/help does not list the commands")
	}
}

func TestSlackOverHTTPTheBotsServerTakesSignedEvents(t *testing.T) {
	w := newSlackWorldIn(t, modeltest.Always(modeltest.Say("Hello over HTTP.")), "mode = \"http\"", func(w *slackWorld) {
		w.slack.SetEventsURL(w.bot.page() + "/slack/events")
		must(t, w.slack.WaitCalls(w.ctx, "bots.info", 1))
	})
	root := w.mention("hello")
	if m := w.saying(lounge, "Hello over HTTP."); m.Thread != root {
		t.Errorf("answered in %q", m.Thread)
	}
	must(t, w.slack.WaitAcked(w.ctx))
	if n := w.model.Count(); n != 1 {
		t.Errorf("the twins made %d model calls", n)
	}
}

func TestSlackAKilledBotTakesUpItsThread(t *testing.T) {
	w := newSlackWorld(t, func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		switch {
		case req.Mentions("are you there?"):
			return modeltest.Say("I am.")
		case req.Number == 1:
			return modeltest.Turn{Text: "Half of the answer, which will be cut off here", Stall: true, After: 1}
		}
		return modeltest.Say("The whole answer.")
	}, "")
	root := w.mention("a question")
	w.saying(lounge, "Half of the answer")
	w.bot.kill()
	w.slack.SendText(evaDM, eva, "are you there?")
	w.run()
	if m := w.saying(lounge, "The whole answer."); m.Thread != root {
		t.Errorf("answered in %q", m.Thread)
	}
	w.saying(evaDM, "I am.")
	if all := w.slack.Messages(lounge); len(all) != 1 || all[0].Streaming() {
		t.Errorf("the stream that was cut off is left in %+v", all)
	}
}

func TestSlackWithoutStreamsAMessageIsEdited(t *testing.T) {
	hold := make(chan struct{})
	w := newSlackWorld(t, modeltest.Turns(
		modeltest.Turn{Text: "The answer begins here, and it goes on to its end.", Chunk: 8, Hold: hold, After: 5},
	), "streams = false")
	w.mention("tell me")
	w.saying(lounge, "The answer begins")
	close(hold)
	w.saying(lounge, "The answer begins here, and it goes on to its end.")
	must(t, w.slack.WaitCalls(w.ctx, "chat.update", 1)) // a call counts once it is answered
	if n := w.slack.CallCount("chat.startStream"); n != 0 {
		t.Errorf("%d streams", n)
	}
}

func TestSlackWhoCountsAsAMemberIsConfigured(t *testing.T) {
	w := newSlackWorld(t, func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		return modeltest.Say("Welcome.")
	}, `user_groups = ["S0CREW"]
guests = true
connect = "rooms"
direct_threads = true
suggested_prompts = ["What can you do?"]`)
	w.slack.SetPerson("U0GUEST", channeltest.SlackPerson{Name: "Guest", Guest: true})
	w.slack.SetPerson("U0FAR", channeltest.SlackPerson{Name: "Far", Team: "T0OTHER"})
	w.slack.SetGroup("S0CREW", "U0GUEST")
	w.slack.SendText("D0GUEST", "U0GUEST", "hello")
	w.saying("D0GUEST", "Welcome.")
	w.slack.SendText("D0TOM", tom, "hello") // a full member who is in no group
	w.saying("D0TOM", "allow_from")
	w.slack.SendText(lounge, "U0FAR", w.slack.Mention()+" hello")
	w.saying(lounge, "Welcome.")
}

func TestSlackAMessageIsAskedAboutThroughAForm(t *testing.T) {
	w := newSlackWorld(t, func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		return modeltest.Say("Because of the weather.")
	}, "")
	ts := w.slack.SendText(lounge, tom, "the picnic is off")
	w.slack.MessageShortcut(lounge, eva, ts, "ask")
	view, err := w.slack.WaitView(w.ctx, eva)
	must(t, err)
	w.slack.SubmitView(view, "why is that?")
	req := w.nextRequest()
	if !req.Mentions("the picnic is off") || !req.Mentions("why is that?") {
		t.Errorf("the model was asked %q", req.LastUser())
	}
	if m := w.saying(lounge, "Because of the weather."); m.Thread != ts {
		t.Errorf("answered in %q", m.Thread)
	}
}
