package discord

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/channels/channeltest"
)

// answering is a host that answers from within Accept, as the gateway does with
// commands that only read.
type answering struct {
	*channeltest.Host
	bot  *Channel
	mu   sync.Mutex
	says []string
}

func (a *answering) Accept(ctx context.Context, in channels.Inbound) error {
	a.mu.Lock()
	says := a.says
	a.mu.Unlock()
	for _, text := range says {
		if _, err := a.bot.Post(ctx, in.Target, channels.Outgoing{Markdown: text, Private: true}); err != nil {
			return err
		}
	}
	return a.Host.Accept(ctx, in)
}

func startAnswering(t *testing.T, fake channeltest.DiscordConfig, says ...string) *rig {
	t.Helper()
	r := newRig(t, fake, Config{})
	ctx, cancel := context.WithCancel(r.ctx)
	done := make(chan error, 1)
	go func() { done <- r.bot.Receive(ctx, &answering{Host: r.host, bot: r.bot, says: says}) }()
	r.stop = sync.OnceValue(func() error { cancel(); return <-done })
	r.must(r.WaitConnected(r.ctx))
	return r
}

func TestACommandThatIsAnsweredAtOnceIsAnsweredToOneAlone(t *testing.T) {
	r := startAnswering(t, channeltest.DiscordConfig{}, "Idle.", "And one more thing.")
	for _, channel := range []string{channeltest.DiscordRoom(1), r.DM("71")} {
		id := r.Slash(channel, "71", "status", map[string]string{"input": " now "})
		a, err := r.WaitAnswer(r.ctx, id, func(a channeltest.DiscordAnswer) bool { return len(a.FollowUps) > 0 })
		r.must(err)
		if a.Type != answerMessage || a.Text != "Idle." || !a.Ephemeral || a.FollowUps[0] != "And one more thing." {
			t.Errorf("the answer is %+v", a)
		}
		if in := r.next("/status now"); in.Kind != channels.Message || !in.Addressed || in.Sender.ID != "71" {
			t.Errorf("the command is read as %+v", in)
		}
		if len(r.Messages(channel)) != 0 {
			t.Errorf("everybody sees %+v", r.Messages(channel))
		}
	}
}

func TestACommandWithoutAnAnswerOfItsOwnIsConfirmed(t *testing.T) {
	r := start(t)
	id := r.Slash(channeltest.DiscordRoom(1), "71", "stop", nil)
	a, err := r.WaitAnswer(r.ctx, id, nil)
	r.must(err)
	if a.Type != answerMessage || !strings.Contains(a.Text, "/stop") || !a.Ephemeral {
		t.Errorf("the answer is %+v", a)
	}
	to := r.next("/stop").Target
	r.post(to, "Stopped.") // what follows is an ordinary message
	if all := r.Messages(to.Chat); len(all) != 1 || all[0].ReplyTo != "" {
		t.Errorf("the room shows %+v", all)
	}
}

func TestAnAnswerThatTakesLongIsPutOffInTime(t *testing.T) {
	r := newRig(t, channeltest.DiscordConfig{}, Config{})
	r.bot.pace.lateAnswer = time.Millisecond
	r.receive()
	r.must(r.WaitConnected(r.ctx))
	dm := r.DM("71")
	r.SendText(dm, "71", "hello")
	message, err := r.bot.Post(r.ctx, r.next("hello").Target, channels.Outgoing{Markdown: "May I?", Buttons: [][]channels.Button{{{Label: "Yes", Data: "yes"}}}})
	r.must(err)
	r.host.FailAccept(errors.New("the store is away"))
	command := r.Slash(dm, "71", "new", nil)
	click := r.Press(dm, "71", message, "yes")
	a, err := r.WaitAnswer(r.ctx, command, nil)
	r.must(err)
	if a.Type != answerLater || !a.Ephemeral || a.Text != "" {
		t.Errorf("the command was put off with %+v", a)
	}
	a, err = r.WaitAnswer(r.ctx, click, nil)
	r.must(err)
	if a.Type != answerNothing {
		t.Errorf("the click was put off with %+v", a)
	}
	r.host.FailAccept(nil)
	r.next("/new")
	r.next("yes")
	a, err = r.WaitAnswer(r.ctx, command, func(a channeltest.DiscordAnswer) bool { return a.Text != "" })
	r.must(err)
	if !strings.Contains(a.Text, "/new") {
		t.Errorf("in the end the command is answered %+v", a)
	}
}

func TestAClickIsAnsweredAndMayBeAnsweredToOneAlone(t *testing.T) {
	r := start(t)
	thread := r.StartThread(channeltest.DiscordRoom(1), "", "71", "a thread")
	r.SendText(thread, "71", r.at("hello"))
	to := r.next("hello").Target
	message, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "May I?", Buttons: [][]channels.Button{{{Label: strings.Repeat("ü", 90), Data: "yes"}}}})
	r.must(err)
	click := r.Press(thread, "72", message, "yes")
	a, err := r.WaitAnswer(r.ctx, click, nil)
	r.must(err)
	in := r.next("yes")
	if a.Type != answerNothing || in.Kind != channels.Click || in.Target.Conversation != to.Conversation || in.Sender.ID != "72" || in.MessageID != message {
		t.Errorf("the click is answered %+v and read as %+v", a, in)
	}
	id, err := r.bot.Post(r.ctx, in.Target, channels.Outgoing{Markdown: "Only Eve may.", Private: true})
	r.must(err)
	a, err = r.WaitAnswer(r.ctx, click, func(a channeltest.DiscordAnswer) bool { return len(a.FollowUps) > 0 })
	r.must(err)
	if a.FollowUps[0] != "Only Eve may." || id == "" || len(r.Messages(thread)) != 1 {
		t.Errorf("the private answer is %+v", a)
	}
}

func TestAPrivateAnswerCanBeEditedAndWithoutAnInteractionItIsAReply(t *testing.T) {
	r := startAnswering(t, channeltest.DiscordConfig{}, "Idle.")
	room := channeltest.DiscordRoom(1)
	command := r.Slash(room, "71", "status", nil)
	to := r.next("/status").Target
	r.must(r.bot.Edit(r.ctx, to, to.ReplyTo, channels.Outgoing{Markdown: "Busy."}))
	if a, err := r.WaitAnswer(r.ctx, command, func(a channeltest.DiscordAnswer) bool { return a.Text == "Busy." }); err != nil {
		t.Errorf("after the edit it is %+v", a)
	}
	asked := r.SendText(room, "72", r.at("may I?"))
	r.next("may I?")
	if all := r.Messages(room); len(all) != 1 || all[0].ReplyTo != asked {
		t.Errorf("a notice to one person is shown as %+v", all)
	}
	if _, ok := r.HasChannel(asked); ok {
		t.Error("a thread was started for a notice")
	}
	other := rigOn(t, r.Discord, Config{}) // it does not know the interaction
	if _, err := other.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "elsewhere", Private: true}); err != nil {
		t.Error(err)
	}
}

func TestCommandsAreRegisteredWhenTheyChanged(t *testing.T) {
	r := newRig(t, channeltest.DiscordConfig{}, Config{})
	list := []channels.Command{{Name: "/Stop", Description: "Stop it"}, {Name: "no good", Description: "x"}, {Name: "new"}, {Name: "stop"}, {Name: "long", Description: strings.Repeat("ü", 200)}}
	for range 3 {
		r.must(r.bot.RegisterCommands(r.ctx, list))
	}
	if n := r.CommandPuts(); n != 1 {
		t.Errorf("the commands were overwritten %d times", n)
	}
	var names []string
	for _, c := range r.Commands() {
		names = append(names, c.Name)
	}
	if strings.Join(names, " ") != "stop new long" {
		t.Errorf("the commands are %v", names)
	}
	r.must(r.bot.RegisterCommands(r.ctx, list[:1]))
	if n := r.CommandPuts(); n != 2 || len(r.Commands()) != 1 {
		t.Errorf("after a change: %d times, %+v", n, r.Commands())
	}
}
