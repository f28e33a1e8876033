package channeltest

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// TelegramConfig configures a fake of Telegram's Bot API. The zero value is a
// bot named clawbot_bot without rate limits on a free port.
type TelegramConfig struct {
	// Addr to listen on; "127.0.0.1:0" by default.
	Addr string
	// InProcess listens nowhere: calls come through ServeHTTP alone, which works
	// in a testing/synctest bubble.
	InProcess bool
	// Token of the bot, "<id>:<secret>".
	Token string
	// Username of the bot, without "@".
	Username string
	// RateLimits switches on Telegram's limits: 1 write a second in a private
	// chat, 20 a minute in a group, 30 a second altogether, with short bursts.
	RateLimits bool
	// Latency holds back the answer to every call but getUpdates.
	Latency time.Duration
	// Lean keeps no calls and no edit histories, for load runs.
	Lean bool
	// DMTopics says that private chats with the bot have topics.
	DMTopics bool
	// PhotoLimits refuses photos whose bytes are not an image.
	PhotoLimits bool
}

// Telegram is a fake of Telegram's Bot API over HTTP. People act through Send,
// Edit, Press and the like; what the bot did is read through Messages, Wait and
// Calls.
type Telegram struct {
	cfg   TelegramConfig
	botID int64

	listener net.Listener
	server   *http.Server
	ctx      context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup
	closeMu  sync.Mutex

	methods map[string]func(*Telegram, *tgRequest) (any, *tgError)
	faults  faults
	calls   callLog
	updates updateQueue
	files   fileStore

	limited  atomic.Bool
	revoked  atomic.Bool
	latency  atomic.Int64
	refused  atomic.Int64 // calls answered with 429
	callback atomic.Int64

	globalMu sync.Mutex
	global   bucket

	chatsMu sync.RWMutex
	chats   map[int64]*tgChat
	people  map[int64]Person

	commandsMu sync.Mutex
	commands   []BotCommand

	answersMu sync.Mutex
	answers   map[string]*CallbackAnswer
	answered  signal
}

// NewTelegram starts a fake. It panics when it can't listen.
func NewTelegram(cfg TelegramConfig) *Telegram {
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	if cfg.Token == "" {
		cfg.Token = "4711:AAFakeTokenForTheTelegramFake-000000"
	}
	if cfg.Username == "" {
		cfg.Username = "clawbot_bot"
	}
	listener := listen(cfg.Addr, cfg.InProcess)
	id, _, _ := strings.Cut(cfg.Token, ":")
	botID, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		panic("channeltest: the token must be \"<id>:<secret>\"")
	}
	t := &Telegram{
		cfg: cfg, botID: botID, listener: listener, methods: telegramMethods(),
		chats: map[int64]*tgChat{}, people: map[int64]Person{}, answers: map[string]*CallbackAnswer{},
		global: bucket{size: 30, interval: time.Second / 30},
	}
	t.ctx, t.stop = context.WithCancel(context.Background())
	t.limited.Store(cfg.RateLimits)
	t.latency.Store(int64(cfg.Latency))
	t.updates.next = 100_000
	t.server = &http.Server{
		Handler: t, ReadHeaderTimeout: 30 * time.Second,
		BaseContext: func(net.Listener) context.Context { return t.ctx },
	}
	if listener != nil {
		t.running.Go(func() { _ = t.server.Serve(listener) })
	}
	return t
}

// Close stops the fake and waits for its goroutines.
func (t *Telegram) Close() {
	t.closeMu.Lock()
	t.stop()
	t.closeMu.Unlock()
	_ = t.server.Close()
	t.running.Wait()
}

// URL is what a bot uses as the API's address.
func (t *Telegram) URL() string { return addressOf(t.listener) }

// Token is the bot's token.
func (t *Telegram) Token() string { return t.cfg.Token }

// BotID is the bot's user id.
func (t *Telegram) BotID() int64 { return t.botID }

// Username is the bot's user name, without "@".
func (t *Telegram) Username() string { return t.cfg.Username }

// Fail plans a fault for the nth call of an API method from now; the next call
// is 1. Method names are Telegram's: "sendMessage".
func (t *Telegram) Fail(method string, nth int, f Fault) {
	t.faults.add(strings.ToLower(method), nth, f)
}

// SetRateLimits switches the rate limits.
func (t *Telegram) SetRateLimits(on bool) { t.limited.Store(on) }

// SetLatency changes how long answers are held back.
func (t *Telegram) SetLatency(d time.Duration) { t.latency.Store(int64(d)) }

// RevokeToken makes every call fail with 401 from now on.
func (t *Telegram) RevokeToken() { t.revoked.Store(true); t.updates.terminate() }

// Refused counts the calls that were answered with 429.
func (t *Telegram) Refused() int64 { return t.refused.Load() }

// Commands returns what the bot registered with setMyCommands.
func (t *Telegram) Commands() []BotCommand {
	t.commandsMu.Lock()
	defer t.commandsMu.Unlock()
	return append([]BotCommand(nil), t.commands...)
}

// BotCommand is a registered command.
type BotCommand struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

// CallbackAnswer is what the bot answered to a pressed button.
type CallbackAnswer struct {
	Text  string
	Alert bool
	At    time.Time
}
