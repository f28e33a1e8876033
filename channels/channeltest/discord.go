package channeltest

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// DiscordConfig configures a fake of Discord. The zero value is a bot named
// clawbot in one server, without rate limits, on a free port.
type DiscordConfig struct {
	// Addr to listen on; "127.0.0.1:0" by default.
	Addr string
	// InProcess listens nowhere: calls come through ServeHTTP alone, which works
	// in a testing/synctest bubble.
	InProcess bool
	// BotID is the bot's user id, and the application's; the token begins with
	// it.
	BotID string
	// Username of the bot.
	Username string
	// RateLimits switches on limits as Discord has them: 5 messages and 5 edits
	// in 5 s a channel, 50 calls a second altogether.
	RateLimits bool
	// Latency holds back the answer to every call.
	Latency time.Duration
	// Lean keeps no calls and no edit histories, for load runs.
	Lean bool
	// Heartbeat is the interval that hello asks for; 41.25 s by default.
	Heartbeat time.Duration
	// NoMessageContent says that the privileged intent is off in the developer
	// portal: who asks for it is refused with close code 4014.
	NoMessageContent bool
	// Shards is what the fake recommends; 1 by default.
	Shards int
	// InteractionTimeout is how long a click or command waits for a first
	// answer; 3 s by default, as Discord's.
	InteractionTimeout time.Duration
}

// Discord is a fake of Discord: the REST API (v9), the gateway and the CDN.
// People act through Send, Edit, Press, Slash and the like; what the bot did is
// read through Messages, Wait and Calls.
type Discord struct {
	cfg   DiscordConfig
	token string

	listener net.Listener
	server   *http.Server
	ctx      context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup
	closeMu  sync.Mutex

	faults  faults
	calls   callLog
	limits  discordLimits
	limited atomic.Bool
	revoked atomic.Bool
	latency atomic.Int64
	refused atomic.Int64 // calls answered with 429

	mu           sync.Mutex
	lastID       uint64
	guilds       map[string]*discordGuild
	channels     map[string]*discordChannel
	people       map[string]DiscordPerson
	dms          map[string]string // user → channel
	sessions     map[string]*discordSession
	interactions map[string]*discordInteraction
	trouble      []GatewayFault
	commands     []DiscordCommand
	commandPuts  int
	identified   int
	resumed      int
	opened       int
	changed      signal
}

// The server that every fake has.
const (
	DiscordGuild   = "900000000000000001"
	DiscordBotRole = "900000000000000009" // the bot's managed role there
)

// NewDiscord starts a fake. It panics when it can't listen.
func NewDiscord(cfg DiscordConfig) *Discord {
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	if cfg.BotID == "" {
		cfg.BotID = "800000000000000001"
	}
	if cfg.Username == "" {
		cfg.Username = "clawbot"
	}
	if cfg.Heartbeat <= 0 {
		cfg.Heartbeat = 41250 * time.Millisecond
	}
	if cfg.InteractionTimeout <= 0 {
		cfg.InteractionTimeout = 3 * time.Second
	}
	cfg.Shards = max(cfg.Shards, 1)
	listener := listen(cfg.Addr, cfg.InProcess)
	d := &Discord{
		cfg: cfg, listener: listener,
		token:  base64.RawStdEncoding.EncodeToString([]byte(cfg.BotID)) + ".FakeOf.a-token-for-the-fake-of-discord",
		guilds: map[string]*discordGuild{}, channels: map[string]*discordChannel{}, people: map[string]DiscordPerson{},
		dms: map[string]string{}, sessions: map[string]*discordSession{}, interactions: map[string]*discordInteraction{},
	}
	d.ctx, d.stop = context.WithCancel(context.Background())
	d.limited.Store(cfg.RateLimits)
	d.latency.Store(int64(cfg.Latency))
	d.people[cfg.BotID] = DiscordPerson{Name: cfg.Username, Bot: true, Roles: []string{DiscordBotRole}}
	d.addGuild(DiscordGuild, "Crew")
	d.server = &http.Server{
		Handler: d, ReadHeaderTimeout: 30 * time.Second,
		BaseContext: func(net.Listener) context.Context { return d.ctx },
	}
	if listener != nil {
		d.running.Go(func() { _ = d.server.Serve(listener) })
	}
	return d
}

// Close stops the fake and waits for its goroutines.
func (d *Discord) Close() {
	d.closeMu.Lock()
	d.stop()
	d.closeMu.Unlock()
	_ = d.server.Close()
	d.mu.Lock()
	for _, s := range d.sessions {
		s.drop()
	}
	d.mu.Unlock()
	d.running.Wait()
}

// URL is what a bot uses as Discord's address.
func (d *Discord) URL() string { return addressOf(d.listener) }

// Token is the bot's token.
func (d *Discord) Token() string { return d.token }

// BotID is the bot's user id.
func (d *Discord) BotID() string { return d.cfg.BotID }

// Fail plans a fault for the nth call of a route from now; the next call is 1.
// Routes have names, as in Calls: "createMessage", "editMessage",
// "deleteMessage", "getMessages", "getMessage", "typing", "startThread",
// "addReaction", "callback" and so on.
func (d *Discord) Fail(route string, nth int, f Fault) { d.faults.add(route, nth, f) }

// SetRateLimits switches the rate limits.
func (d *Discord) SetRateLimits(on bool) { d.limited.Store(on) }

// SetLatency changes how long answers are held back.
func (d *Discord) SetLatency(l time.Duration) { d.latency.Store(int64(l)) }

// Refused counts the calls that were answered with 429.
func (d *Discord) Refused() int64 { return d.refused.Load() }

// RevokeToken makes every call fail with 401 from now on and closes the
// gateway with 4004.
func (d *Discord) RevokeToken() {
	d.revoked.Store(true)
	d.Disconnect(4004)
}

// newID returns the next snowflake. d.mu is held.
func (d *Discord) newID() string {
	const epoch = 1420070400000
	id := uint64(time.Now().UnixMilli()-epoch) << 22
	d.lastID = max(d.lastID+1, id)
	return strconv.FormatUint(d.lastID, 10)
}

// Calls returns the calls so far in the order in which they were answered; with
// routes, only those.
func (d *Discord) Calls(routes ...string) []Call {
	d.calls.mu.Lock()
	defer d.calls.mu.Unlock()
	var out []Call
	for _, c := range d.calls.all {
		wanted := len(routes) == 0
		for _, r := range routes {
			wanted = wanted || c.Method == r
		}
		if wanted {
			out = append(out, c)
		}
	}
	return out
}

// CallCount returns how many calls of a route were answered; it counts in Lean
// mode too.
func (d *Discord) CallCount(route string) int {
	d.calls.mu.Lock()
	defer d.calls.mu.Unlock()
	return d.calls.count[route]
}

// WaitCalls waits until a route was answered n times.
func (d *Discord) WaitCalls(ctx context.Context, route string, n int) error {
	return await(ctx, func() (bool, <-chan struct{}) {
		d.calls.mu.Lock()
		defer d.calls.mu.Unlock()
		return d.calls.count[route] >= n, d.calls.changed.wait()
	})
}
