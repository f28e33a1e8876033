package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

// server is a bot on Discord with its model. Eve owns the bot, Max does not.
type server struct {
	*channeltest.Discord
	t     *testing.T
	ctx   context.Context
	dir   string
	model *modeltest.Server
	bot   *process
}

const (
	eve, max = "700000000000000071", "700000000000000072"
	lobby    = "600000000000000001"
)

func newServer(t *testing.T, script modeltest.Script, fake channeltest.DiscordConfig, config string) *server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	t.Cleanup(cancel)
	s := &server{Discord: channeltest.NewDiscord(fake), t: t, ctx: ctx, dir: t.TempDir(), model: modeltest.New(script)}
	t.Cleanup(s.model.Close)
	t.Cleanup(s.Close)
	s.SetPerson(eve, channeltest.DiscordPerson{Name: "Eve"})
	s.SetPerson(max, channeltest.DiscordPerson{Name: "Max"})
	s.AddChannel(lobby, channeltest.DiscordChannelOptions{Name: "lobby"})
	text := fmt.Sprintf(`[agent]
model = "test/scripted-1"
[providers.test]
format = "openai"
base_url = %q
api_key = "sk-test-canary-0123456789"
[server]
listen = "127.0.0.1:0"
[access]
owners = ["discord:%s"]
dm_policy = "open"
[channels.discord]
token = %q
api_url = %q
%s
`, s.model.URL(), eve, s.Token(), s.URL(), config)
	must(t, os.WriteFile(filepath.Join(s.dir, "clawbot.toml"), []byte(text), 0o600))
	s.start()
	return s
}

func (s *server) start() {
	s.t.Helper()
	s.bot = startProcess(s.t, s.dir, nil, "run", "--config", filepath.Join(s.dir, "clawbot.toml"))
	if err := s.WaitConnected(s.ctx); err != nil {
		s.t.Fatalf("the bot does not connect: %v\n%s", err, s.bot.log())
	}
}

// at mentions the bot.
func (s *server) at(text string) string { return "<@" + s.BotID() + "> " + text }

// saying waits for a message of the bot in a channel or thread.
func (s *server) saying(channel, text string) channeltest.DiscordMessage {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	m, err := s.WaitText(ctx, channel, text)
	if err != nil {
		s.t.Fatalf("%v; the model was asked %d times; the bot's log:\n%s", err, s.model.Count(), s.bot.log())
	}
	return m
}

func (s *server) nextRequest() *modeltest.Request {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	req, err := s.model.WaitRequest(ctx)
	if err != nil {
		s.t.Fatalf("the model is not asked: %v\n%s", err, s.bot.log())
	}
	return req
}

// whole is the text of the bot's messages in a channel.
func (s *server) whole(channel string) string {
	var out strings.Builder
	for _, m := range s.Messages(channel) {
		out.WriteString(m.Text + "\n")
	}
	return out.String()
}

func TestOnDiscordAMentionStartsAThreadInWhichTheAnswerStreams(t *testing.T) {
	hold := make(chan struct{})
	s := newServer(t, modeltest.Turns(
		modeltest.Turn{Text: strings.Repeat("A sentence of the answer. ", 150) + "That is all.", Chunk: 40, Hold: hold, After: 30},
		modeltest.Say("And more."), modeltest.Say("Privately."), modeltest.Say("By role."),
	), channeltest.DiscordConfig{RateLimits: true}, "")
	s.SendText(lobby, max, "we talk about the weather")
	asked := s.SendText(lobby, eve, s.at("tell me everything"))
	first := s.nextRequest()
	if !first.Mentions("tell me everything") || !first.Mentions("the weather") {
		t.Errorf("the model is asked %+v", first.Messages)
	}
	s.saying(asked, "A sentence") // a draft, in the thread of the message
	close(hold)
	s.saying(asked, "That is all.")
	_, err := s.Wait(s.ctx, asked, func(all []channeltest.DiscordMessage) bool {
		n := 0
		for _, m := range all {
			n += strings.Count(m.Text, "A sentence of the answer.")
		}
		return n == 150
	})
	if err != nil {
		t.Errorf("not all 150 sentences are shown: %s", s.whole(asked))
	}
	if name, _ := s.HasChannel(asked); name != "tell me everything" {
		t.Errorf("the thread is named %q", name)
	}
	if len(s.Messages(lobby)) > 0 {
		t.Errorf("the room itself shows %s", s.whole(lobby))
	}
	if n := s.Refused(); n > 2 {
		t.Errorf("%d calls were refused", n)
	}
	// In its own thread the bot need not be named.
	s.SendText(asked, eve, "go on")
	s.saying(asked, "And more.")
	if last := s.model.Requests()[1]; !last.Mentions("tell me everything") {
		t.Error("the thread was forgotten")
	}
	s.SendText(s.DM(max), max, "hello there")
	s.saying(s.DM(max), "Privately.")
	byRole := s.SendText(lobby, max, "<@&"+channeltest.DiscordBotRole+"> and by role?")
	s.saying(byRole, "By role.")
	if err := s.bot.stop(); err != nil {
		t.Errorf("SIGTERM: %v\n%s", err, s.bot.log())
	}
	if strings.Contains(s.bot.log(), s.Token()) {
		t.Error("the token is in the log")
	}
}

func TestOnDiscordAMessageInTheThreadSteersAndStopStops(t *testing.T) {
	hold := make(chan struct{})
	s := newServer(t, modeltest.Turns(
		modeltest.Turn{Text: "Working on it.", Calls: []modeltest.Call{{Name: "list_dir", Arguments: `{}`}}, Hold: hold, After: 1},
		modeltest.Turn{Text: "The quick brown fox jumps, and then", Stall: true, After: 1},
		modeltest.Say("Here again."),
	), channeltest.DiscordConfig{}, "")
	asked := s.SendText(lobby, eve, s.at("write a poem"))
	s.nextRequest()
	s.saying(asked, "Working on it.")
	s.SendText(asked, eve, "make it French")
	must(t, s.WaitConfirmed(s.ctx))
	close(hold)
	if second := s.nextRequest(); !second.Mentions("make it French") || !second.Mentions("write a poem") {
		t.Errorf("the second request has %+v", second.Messages)
	}
	s.saying(asked, "The quick brown fox")
	stop := s.Slash(asked, eve, "stop", nil)
	if a, err := s.WaitAnswer(s.ctx, stop, nil); err != nil || !a.Ephemeral {
		t.Errorf("the command is answered %+v, %v", a, err)
	}
	s.saying(asked, "topped")
	s.SendText(asked, eve, "are you there?")
	s.saying(asked, "Here again.")
	if !strings.Contains(s.whole(asked), "The quick brown fox jumps, and then") {
		t.Errorf("what was said is gone: %s", s.whole(asked))
	}
	status := s.Slash(asked, eve, "status", nil)
	if a, err := s.WaitAnswer(s.ctx, status, nil); err != nil || !a.Ephemeral || !strings.Contains(a.Text, "scripted-1") {
		t.Errorf("/status is answered %+v, %v", a, err)
	}
}

func TestOnDiscordABotThatWasKilledLosesNothing(t *testing.T) {
	s := newServer(t, func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		return modeltest.Say("answer to " + req.LastUser()[strings.LastIndex(req.LastUser(), "#"):])
	}, channeltest.DiscordConfig{}, "")
	s.SendText(s.DM(eve), eve, "question #1")
	s.saying(s.DM(eve), "answer to #1")
	s.bot.kill()
	s.SendText(s.DM(eve), eve, "question #2")
	s.SendText(s.DM(max), max, "a first question #3")
	asked := s.SendText(lobby, max, s.at("in the lobby #4"))
	s.start()
	s.saying(s.DM(eve), "answer to #2")
	s.saying(s.DM(max), "answer to #3")
	s.saying(asked, "answer to #4")
	if n := len(s.Messages(s.DM(eve))); n != 2 {
		t.Errorf("two questions have %d answers: %s", n, s.whole(s.DM(eve)))
	}
}
