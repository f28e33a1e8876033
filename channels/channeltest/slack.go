package channeltest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// SlackConfig configures a fake of Slack. The zero value is one workspace with
// one installed app, without rate limits, on a free port.
type SlackConfig struct {
	// Addr to listen on; "127.0.0.1:0" by default.
	Addr string
	// Listener is served instead of one on Addr, such as [Pipes].
	Listener net.Listener
	// BotToken, AppToken and SigningSecret are the app's.
	BotToken, AppToken, SigningSecret string
	// Team, App, BotUser and BotID are the ids of the workspace, the app, the
	// bot's user and the bot.
	Team, App, BotUser, BotID string
	// Scopes that were granted to the bot; all that the fake knows by default.
	Scopes []string
	// RateLimits switches on Slack's limits: per method and workspace, and one
	// new message a second in a channel, with short bursts.
	RateLimits bool
	// Latency holds back the answer to every call.
	Latency time.Duration
	// AckTimeout is when an envelope or event without an acknowledgement is
	// delivered again; 3 s by default, as Slack's.
	AckTimeout time.Duration
	// EventsURL has events posted there, signed, instead of sent to sockets.
	EventsURL string
	// NoEcho keeps the events about the bot's own messages back.
	NoEcho bool
	// Mute delivers no events at all.
	Mute bool
	// Lean keeps no calls and no edit histories, for load runs.
	Lean bool
}

// Slack is a fake of Slack's Web API, Socket Mode and Events API. People act
// through Send, Edit, Press and the like; what the bot did is read through
// Messages, Wait and Calls.
type Slack struct {
	cfg SlackConfig

	listener net.Listener
	server   *http.Server
	client   *http.Client
	ctx      context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup
	closeMu  sync.Mutex

	methods map[string]slackMethod
	faults  faults
	calls   callLog
	events  slackEvents

	limited   atomic.Bool
	revoked   atomic.Bool
	noStreams atomic.Bool
	latency   atomic.Int64
	refused   atomic.Int64 // calls answered with 429
	lastTS    atomic.Int64 // microseconds
	serial    atomic.Int64

	mu      sync.RWMutex
	chats   map[string]*slackChannel
	people  map[string]SlackPerson
	files   map[string]*slackFile
	groups  map[string][]string
	views   slackViews
	buckets map[string]*bucket
	scopes  string
}

// slackScopes are the scopes that the fake's methods ask for.
var slackScopes = []string{
	"app_mentions:read", "assistant:write", "channels:history", "channels:read", "chat:write", "commands", "files:read", "files:write",
	"groups:history", "groups:read", "im:history", "im:read", "im:write", "metadata.message:read", "mpim:history",
	"mpim:read", "reactions:write", "usergroups:read", "users:read",
}

// NewSlack starts a fake. It panics when it can't listen.
func NewSlack(cfg SlackConfig) *Slack {
	for value, fallback := range map[*string]string{
		&cfg.Addr: "127.0.0.1:0", &cfg.BotToken: "xoxb-4711-fake-bot-token", &cfg.AppToken: "xapp-1-A0CLAW-fake-app-token",
		&cfg.SigningSecret: "8f742231b10e8888abcd99yyyzzz85a5", &cfg.Team: "T0TEAM", &cfg.App: "A0CLAW", &cfg.BotUser: "U0CLAW", &cfg.BotID: "B0CLAW",
	} {
		if *value == "" {
			*value = fallback
		}
	}
	if cfg.AckTimeout <= 0 {
		cfg.AckTimeout = 3 * time.Second
	}
	if cfg.Scopes == nil {
		cfg.Scopes = slackScopes
	}
	listener := cfg.Listener
	if listener == nil {
		var err error
		if listener, err = net.Listen("tcp", cfg.Addr); err != nil {
			panic("channeltest: listen: " + err.Error())
		}
	}
	s := &Slack{
		cfg: cfg, listener: listener, methods: slackMethods(), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}},
		chats: map[string]*slackChannel{}, people: map[string]SlackPerson{}, files: map[string]*slackFile{}, buckets: map[string]*bucket{},
		scopes: strings.Join(cfg.Scopes, ","),
	}
	s.events.open = map[string]*slackDelivery{}
	s.events.url = cfg.EventsURL
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.limited.Store(cfg.RateLimits)
	s.latency.Store(int64(cfg.Latency))
	s.people[cfg.BotUser] = SlackPerson{Name: "clawbot", Bot: true}
	s.server = &http.Server{
		Handler: s, ReadHeaderTimeout: 30 * time.Second,
		BaseContext: func(net.Listener) context.Context { return s.ctx },
	}
	s.running.Go(func() { _ = s.server.Serve(listener) })
	return s
}

// Close stops the fake and waits for its goroutines.
func (s *Slack) Close() {
	s.closeMu.Lock()
	s.stop()
	s.closeMu.Unlock()
	s.events.shut()
	_ = s.server.Close()
	s.running.Wait()
	s.client.CloseIdleConnections()
}

// enter counts a goroutine in, unless the fake is being closed.
func (s *Slack) enter() bool {
	s.closeMu.Lock()
	defer s.closeMu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.running.Add(1)
	return true
}

// spawn runs fn in a goroutine of the fake.
func (s *Slack) spawn(fn func()) {
	if s.enter() {
		go func() {
			defer s.running.Done()
			fn()
		}()
	}
}

// URL is what a bot uses as the API's address; it ends with a slash.
func (s *Slack) URL() string { return "http://" + s.listener.Addr().String() + "/api/" }

// BotToken is the token of the Web API.
func (s *Slack) BotToken() string { return s.cfg.BotToken }

// AppToken is the token of Socket Mode.
func (s *Slack) AppToken() string { return s.cfg.AppToken }

// SigningSecret signs what is posted to the events address.
func (s *Slack) SigningSecret() string { return s.cfg.SigningSecret }

// Team is the workspace's id.
func (s *Slack) Team() string { return s.cfg.Team }

// BotUser is the bot's user id.
func (s *Slack) BotUser() string { return s.cfg.BotUser }

// Mention is how people's messages mention the bot.
func (s *Slack) Mention() string { return "<@" + s.cfg.BotUser + ">" }

// Fail plans a fault for the nth call of an API method from now; the next call
// is 1. Method names are Slack's: "chat.postMessage". A fault with Status 200
// and a Description is answered as a refusal with that error code.
func (s *Slack) Fail(method string, nth int, f Fault) { s.faults.add(method, nth, f) }

// SetRateLimits switches the rate limits.
func (s *Slack) SetRateLimits(on bool) { s.limited.Store(on) }

// SetLatency changes how long answers are held back.
func (s *Slack) SetLatency(d time.Duration) { s.latency.Store(int64(d)) }

// SetScopes changes what was granted to the bot.
func (s *Slack) SetScopes(scopes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scopes = strings.Join(scopes, ",")
}

// RevokeTokens makes every call fail with token_revoked from now on, and closes
// the sockets.
func (s *Slack) RevokeTokens() {
	s.revoked.Store(true)
	s.events.drop()
}

// Refused counts the calls that were answered with 429.
func (s *Slack) Refused() int64 { return s.refused.Load() }

// now returns the next message timestamp; each is greater than the one before.
func (s *Slack) now() string {
	for {
		last := s.lastTS.Load()
		next := max(time.Now().UnixMicro(), last+1)
		if s.lastTS.CompareAndSwap(last, next) {
			return fmt.Sprintf("%d.%06d", next/1_000_000, next%1_000_000)
		}
	}
}

// id makes an id with a prefix.
func (s *Slack) id(prefix string) string { return fmt.Sprintf("%s%06d", prefix, s.serial.Add(1)) }
