package telegram

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"clawbot/channels"
	"clawbot/channels/channeltest"
	"clawbot/internal/redact"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a bot on a fake Telegram with a recording host.
type rig struct {
	*channeltest.Telegram
	t    *testing.T
	ctx  context.Context
	bot  *Channel
	host *channeltest.Host
	stop func() error // ends Receive and returns its error
	end  func() error // waits for it
}

// quick makes the tests' waits short; what they wait for stays an event.
var quick = pace{
	error: time.Millisecond, errorMax: 5 * time.Millisecond,
	conflict: time.Millisecond, conflictMax: 5 * time.Millisecond,
	accept: time.Millisecond, acceptMax: 5 * time.Millisecond,
	grace: 20 * time.Second,
}

func newRig(t *testing.T, fake channeltest.TelegramConfig, cfg Config) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	r := &rig{Telegram: channeltest.NewTelegram(fake), t: t, ctx: ctx, host: channeltest.NewHost()}
	t.Cleanup(func() {
		if r.stop != nil {
			_ = r.stop()
		}
		if r.bot != nil {
			r.bot.http.CloseIdleConnections()
		}
		r.Close()
		cancel()
	})
	cfg.Token, cfg.APIURL = redact.Secret(r.Token()), r.URL()
	bot, err := newChannel(cfg)
	if err != nil {
		t.Fatal(err)
	}
	bot.pace = quick
	r.bot = bot
	return r
}

// receive starts Receive. stop ends it, end waits until it ends by itself.
func (r *rig) receive() *rig {
	ctx, cancel := context.WithCancel(r.ctx)
	done := make(chan error, 1)
	go func() { done <- r.bot.Receive(ctx, r.host) }()
	r.end = sync.OnceValue(func() error { return <-done })
	r.stop = func() error { cancel(); return r.end() }
	return r
}

// start is a polling bot.
func start(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, channeltest.TelegramConfig{}, Config{}).receive()
	if err := r.WaitPoll(r.ctx); err != nil {
		t.Fatal("the bot does not poll:", err)
	}
	return r
}

func (r *rig) next(text string) channels.Inbound {
	r.t.Helper()
	in, err := r.host.WaitText(r.ctx, text)
	if err != nil {
		r.t.Fatalf("waiting for %q: %v; got %+v", text, err, r.host.Events())
	}
	return in
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) post(to channels.Target, text string) string {
	r.t.Helper()
	id, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: text})
	if err != nil {
		r.t.Fatal("post:", err)
	}
	return id
}

func TestAMessageIsReceivedAnsweredAndEdited(t *testing.T) {
	r := start(t)
	sent := r.SendText(42, 42, "hello")
	in := r.next("hello")
	if in.Kind != channels.Message || !in.Addressed || !in.Target.Direct || in.Target.Conversation != "telegram:4711:42" || in.Sender.ID != "42" {
		t.Errorf("read as %+v", in)
	}
	id := r.post(in.Target, "one **two**")
	r.must(r.bot.Edit(r.ctx, in.Target, id, channels.Outgoing{Markdown: "one two three"}))
	all := r.Messages(42)
	if len(all) != 1 || all[0].Text != "one two three" || len(all[0].History) != 2 || all[0].History[0].Entities[0].Type != "bold" {
		t.Errorf("the chat shows %+v", all)
	}
	r.must(r.WaitConfirmed(r.ctx, sent.UpdateID))
	if err := r.stop(); err != nil {
		t.Error("Receive returned", err)
	}
}
