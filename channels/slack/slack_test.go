package slack

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"clawbot/channels"
	"clawbot/channels/channeltest"
	"clawbot/internal/redact"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a bot on a fake Slack with a recording host.
type rig struct {
	*channeltest.Slack
	t    *testing.T
	ctx  context.Context
	bot  *Channel
	host *channeltest.Host
	log  *logBook
	stop func() error // ends Receive and returns its error
	end  func() error // waits for it
}

// quick makes the tests' waits short, but for the one that order depends on:
// the machine may be busy.
var quick = pace{
	error: time.Millisecond, errorMax: 5 * time.Millisecond, accept: time.Millisecond, acceptMax: 5 * time.Millisecond,
	settle: 150 * time.Millisecond, lived: 10 * time.Second, answer: 2500 * time.Millisecond,
}

// The people, and where they talk.
const (
	ana, ben = "U0ANA", "U0BEN"
	anaDM    = "D0ANA"
	general  = "C0GENERAL"
)

func newRig(t *testing.T, fake channeltest.SlackConfig, cfg Config) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	r := &rig{Slack: channeltest.NewSlack(fake), t: t, ctx: ctx, host: channeltest.NewHost(), log: &logBook{}}
	var web *httptest.Server
	t.Cleanup(func() {
		if r.stop != nil {
			_ = r.stop()
		}
		if r.bot != nil {
			r.bot.http.CloseIdleConnections()
		}
		r.Close()
		if web != nil {
			web.Close()
		}
		cancel()
	})
	cfg.BotToken, cfg.AppToken, cfg.SigningSecret = redact.Secret(r.BotToken()), redact.Secret(r.AppToken()), redact.Secret(r.SigningSecret())
	cfg.APIURL = r.URL()
	cfg.Logger = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	bot, err := newChannel(cfg)
	if err != nil {
		t.Fatal(err)
	}
	bot.pace = quick
	r.bot = bot
	if cfg.Mode == ModeHTTP {
		_, handler := posted{bot}.Handler()
		web = httptest.NewServer(handler)
		r.SetEventsURL(web.URL)
	}
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

// start is a bot with both its sockets open.
func start(t *testing.T) *rig { return startWith(t, channeltest.SlackConfig{}, Config{}) }

func startWith(t *testing.T, fake channeltest.SlackConfig, cfg Config) *rig {
	t.Helper()
	r := newRig(t, fake, cfg).receive()
	if cfg.Mode == ModeHTTP {
		r.must(r.Platform().WaitReady(r.ctx))
		return r
	}
	if err := r.WaitSockets(r.ctx, connections); err != nil {
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

// settled returns all that was accepted once everything is acknowledged.
func (r *rig) settled() []channels.Inbound {
	r.t.Helper()
	if err := r.WaitAcked(r.ctx); err != nil {
		r.t.Fatal("something is not acknowledged:", err)
	}
	return r.host.Events()
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

// thread has ana mention the bot and returns where to answer.
func (r *rig) thread() channels.Target {
	r.t.Helper()
	r.SendText(general, ana, r.Mention()+" good day")
	return r.next("good day").Target
}

// direct has ana write in private and returns where to answer.
func (r *rig) direct() channels.Target {
	r.t.Helper()
	r.SendText(anaDM, ana, "hello there")
	return r.next("hello there").Target
}

// logBook keeps what is logged.
type logBook struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write keeps a line.
func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
