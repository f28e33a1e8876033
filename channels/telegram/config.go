package telegram

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-telegram/bot"

	"clawbot/channels"
	"clawbot/internal/redact"
)

// The ways to receive updates.
const (
	ModePoll    = "poll"
	ModeWebhook = "webhook"
)

// How messages in groups are answered.
const (
	InThread  = "thread"
	InChannel = "channel"
)

// Config configures a [Channel]. Token is required, everything else has a
// default.
type Config struct {
	// Name in configuration and session commands; "telegram" by default, or
	// "telegram.work" for a named account.
	Name string `toml:"-"`
	// Token that @BotFather gave: "123456:ABC…".
	Token redact.Secret `toml:"token"`
	// APIURL is where the Bot API is; "https://api.telegram.org" by default.
	APIURL string `toml:"api_url"`
	// Proxy is "" (none), "env" (HTTPS_PROXY and friends) or the URL of an
	// HTTP or SOCKS5 proxy.
	Proxy string `toml:"proxy"`
	// Mode is "poll" (default) or "webhook".
	Mode string `toml:"mode"`
	// AllowFrom is the access list that the gateway applies: ids of people.
	AllowFrom []string `toml:"allow_from"`
	// PollTimeout is how long Telegram holds a poll open; 25 s by default,
	// whole seconds from 1 to 50.
	PollTimeout time.Duration `toml:"poll_timeout"`
	// WebhookURL is the public address that Telegram posts updates to. Its path
	// is where Handler expects to be mounted.
	WebhookURL string `toml:"webhook_url"`
	// WebhookSecret is sent by Telegram with each update; derived from the
	// token if empty. Letters, digits, "_" and "-", at most 256.
	WebhookSecret redact.Secret `toml:"webhook_secret"`
	// ReplyIn says how a message in a group is answered: "thread" (default)
	// refers to it, "channel" stands by itself. Telegram has no threads to start.
	ReplyIn string `toml:"reply_in"`
	// ReplyInRooms is ReplyIn of single groups, by id.
	ReplyInRooms map[string]string `toml:"-"`
	// Drafts shows an answer that is being written in a private chat as a draft,
	// which becomes a message when it is complete, instead of editing a message.
	Drafts bool `toml:"drafts"`
	// Logger takes what an operator should know; none by default.
	Logger *slog.Logger `toml:"-"`
}

// Channel is one Telegram bot, with everything that both modes have in common.
type Channel struct {
	cfg    Config
	botID  string
	log    *slog.Logger
	secret *redact.Redactor
	pace   pace

	api   *bot.Bot
	http  *http.Client // calls and downloads
	polls *http.Client // the long poll alone
	route string       // path of the webhook

	me        atomic.Pointer[identity]
	host      atomic.Pointer[hostRef] // set while Receive runs in webhook mode
	health    health
	moved     moved
	admins    adminCache
	drafts    drafts
	floods    floods
	answering sync.WaitGroup // calls made beside receiving
}

// hostRef holds the interface for an atomic pointer.
type hostRef struct{ channels.Host }

var tokenForm = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`)

// New returns a channel. It makes no connection: a wrong token is found out by
// Receive or Check.
//
// A bot that polls is [channels.Exclusive]: Telegram lets one process poll. One
// with a webhook is a [channels.Handler] that works on every replica that
// receives.
func New(cfg Config) (channels.Channel, error) {
	c, err := newChannel(cfg)
	if err != nil {
		return nil, err
	}
	if c.cfg.Mode == ModeWebhook {
		return webhook{c}, nil
	}
	return poller{c}, nil
}

func newChannel(cfg Config) (*Channel, error) {
	if cfg.Name == "" {
		cfg.Name = "telegram"
	}
	if cfg.APIURL == "" {
		cfg.APIURL = "https://api.telegram.org"
	}
	cfg.APIURL = strings.TrimRight(cfg.APIURL, "/")
	if cfg.Mode == "" {
		cfg.Mode = ModePoll
	}
	if cfg.PollTimeout <= 0 {
		cfg.PollTimeout = 25 * time.Second
	}
	cfg.PollTimeout = min(max(cfg.PollTimeout, time.Second), 50*time.Second)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	token := strings.TrimSpace(cfg.Token.Reveal())
	if !tokenForm.MatchString(token) {
		return nil, fmt.Errorf("%s: the token does not look like one; it must be as @BotFather gives it, \"123456:ABC-…\"", cfg.Name)
	}
	id, _, _ := strings.Cut(token, ":")
	c := &Channel{cfg: cfg, botID: id, log: cfg.Logger.With("channel", cfg.Name), secret: redact.New(token), pace: normalPace}
	if err := c.configureWebhook(token); err != nil {
		return nil, err
	}
	if err := c.connect(token); err != nil {
		return nil, err
	}
	return c, nil
}

// connect makes the HTTP clients and the typed client on top.
func (c *Channel) connect(token string) error {
	proxy, err := proxyFunc(c.cfg.Proxy)
	if err != nil {
		return fmt.Errorf("%s: %w", c.cfg.Name, err)
	}
	if u, err := url.Parse(c.cfg.APIURL); err != nil || u.Host == "" {
		return fmt.Errorf("%s: api_url must be an address like https://api.telegram.org", c.cfg.Name)
	}
	c.http = newClient(proxy, 64)
	c.polls = newClient(proxy, 2)
	c.api, err = bot.New(token, bot.WithSkipGetMe(), bot.WithServerURL(c.cfg.APIURL),
		bot.WithHTTPClient(time.Minute, doer{c.http, c.secret}),
		bot.WithErrorsHandler(func(err error) { c.log.Debug("telegram client", "error", c.secret.String(err.Error())) }))
	if err != nil {
		return fmt.Errorf("%s: %w", c.cfg.Name, err)
	}
	return nil
}

// Name is the channel's name in configuration.
func (c *Channel) Name() string { return c.cfg.Name }

// Limits are Telegram's: 4096 UTF-16 units, a write a second in private chats,
// twenty a minute in groups.
func (c *Channel) Limits(to channels.Target) channels.Limits {
	l := channels.Limits{
		Text: maxText, Measure: measure,
		FirstAfter: 700 * time.Millisecond, MinFirst: 24,
		EditEvery: time.Second,
	}
	if c.drafted(to) {
		l.FirstAfter = 300 * time.Millisecond // nothing stays of what comes too early
	}
	if !to.Direct {
		l.EditEvery, l.PerMinute = 3200*time.Millisecond, 20
	}
	return l
}

// maxText is the longest text of a message in UTF-16 units.
const maxText = 4096
