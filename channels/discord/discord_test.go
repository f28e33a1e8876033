package discord

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

// rig is a bot on a fake Discord with a recording host.
type rig struct {
	*channeltest.Discord
	t    *testing.T
	ctx  context.Context
	bot  *Channel
	host *channeltest.Host
	stop func() error // ends Receive and returns its error
	end  func() error // waits for it
}

// quick makes the tests' waits short; what they wait for stays an event.
var quick = pace{
	again: time.Millisecond, againMax: 5 * time.Millisecond,
	invalid: 5 * time.Millisecond, identify: time.Millisecond, hello: 20 * time.Second,
	accept: time.Millisecond, acceptMax: 5 * time.Millisecond,
	keep: time.Millisecond, lateAnswer: 2 * time.Second,
}

func newRig(t *testing.T, fake channeltest.DiscordConfig, cfg Config) *rig {
	t.Helper()
	d := channeltest.NewDiscord(fake)
	r := rigOn(t, d, cfg)
	t.Cleanup(d.Close)
	return r
}

// rigOn is a bot on a fake that is there already.
func rigOn(t *testing.T, d *channeltest.Discord, cfg Config) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	r := &rig{Discord: d, t: t, ctx: ctx, host: channeltest.NewHost()}
	cfg.Token, cfg.APIURL = redact.Secret(d.Token()), d.URL()
	bot, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	bot.pace = quick
	r.bot = bot
	t.Cleanup(func() {
		if r.stop != nil {
			_ = r.stop()
		}
		bot.http.CloseIdleConnections()
		cancel()
	})
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

// start is a bot that is connected.
func start(t *testing.T) *rig {
	t.Helper()
	return startWith(t, channeltest.DiscordConfig{}, Config{})
}

func startWith(t *testing.T, fake channeltest.DiscordConfig, cfg Config) *rig {
	t.Helper()
	r := newRig(t, fake, cfg).receive()
	if err := r.WaitConnected(r.ctx); err != nil {
		t.Fatal("the bot does not connect:", err)
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

// at mentions the bot.
func (r *rig) at(text string) string { return "<@" + r.BotID() + "> " + text }

func secret(s string) redact.Secret { return redact.Secret(s) }
