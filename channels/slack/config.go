package slack

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"

	"clawbot/channels"
	"clawbot/internal/redact"
)

// The ways to receive events.
const (
	ModeSocket = "socket"
	ModeHTTP   = "http"
)

// Where a mention in a channel is answered.
const (
	ReplyInThread  = "thread"
	ReplyInChannel = "channel"
)

// What people of other organisations may do, whom Slack Connect brings into
// shared channels.
const (
	ConnectOff     = "off"
	ConnectRooms   = "rooms"
	ConnectMembers = "members"
)

// maxPrompts is how many suggestions Slack shows.
const maxPrompts = 4

// Config configures a [Channel]. BotToken is required, and AppToken in Socket
// Mode, or SigningSecret over HTTP; everything else has a default.
type Config struct {
	// Name in configuration; "slack" by default, or "slack.work" for a named
	// account.
	Name string `toml:"-"`
	// BotToken is the "Bot User OAuth Token", "xoxb-…".
	BotToken redact.Secret `toml:"bot_token"`
	// AppToken is an app-level token with the scope connections:write,
	// "xapp-…".
	AppToken redact.Secret `toml:"app_token"`
	// SigningSecret proves that a request comes from Slack.
	SigningSecret redact.Secret `toml:"signing_secret"`
	// Mode is "socket" (default) or "http".
	Mode string `toml:"mode"`
	// APIURL is where the Web API is; "https://slack.com/api/" by default.
	APIURL string `toml:"api_url"`
	// Proxy is "" (none), "env" (HTTPS_PROXY and friends) or the URL of an
	// HTTP or SOCKS5 proxy.
	Proxy string `toml:"proxy"`
	// ReplyIn is "thread" (default): a mention in a channel begins a thread; or
	// "channel": it is answered in the channel, which then is one conversation.
	ReplyIn string `toml:"reply_in"`
	// NoStreams edits answers always, instead of letting them grow natively where
	// Slack can.
	NoStreams bool `toml:"-"`
	// Guests count as members of the workspace.
	Guests bool `toml:"guests"`
	// Connect is "off" (default): people of other organisations are not heard;
	// "rooms": they are, in shared channels; or "members": they count as members.
	Connect string `toml:"connect"`
	// UserGroups, if any, are the ids of the user groups whose members count as
	// members of the workspace, and nobody else.
	UserGroups []string `toml:"user_groups"`
	// DirectThreads answers each direct message in a thread of its own, which is a
	// conversation, as Slack's agent view shows them.
	DirectThreads bool `toml:"direct_threads"`
	// Prompts are suggested to who begins a conversation, at most four.
	// "{channel}" in one is the channel that the person looks at.
	Prompts []string `toml:"suggested_prompts"`
	// ReplyInRooms is ReplyIn of single channels, by id.
	ReplyInRooms map[string]string `toml:"-"`
	// AllowFrom is the access list that the gateway applies: ids of people.
	AllowFrom []string `toml:"allow_from"`
	// Logger takes what an operator should know; none by default.
	Logger *slog.Logger `toml:"-"`
}

// Channel is one Slack app in one workspace, with everything that both modes
// have in common.
type Channel struct {
	cfg    Config
	log    *slog.Logger
	secret *redact.Redactor
	pace   pace

	api    *slack.Client
	http   *http.Client
	dialer *websocket.Dialer
	apiURL *url.URL
	route  string // path of the HTTP endpoint

	me         atomic.Pointer[identity]
	app        atomic.Pointer[string] // the app's id, once it is known
	receiving  atomic.Pointer[reception]
	health     health
	sockets    atomic.Int32 // connections that are open, or being opened
	greetings  atomic.Bool  // there was a connection
	twins      twins
	assistants assistants
	people     people
	talks      talks
	groups     groups
	rooms      rooms
	signs      signs
	streams    streams
	reacted    reacted
	commands   atomic.Pointer[map[string]bool]
	lacking    sync.Map       // scopes that were told to be missing
	beside     sync.WaitGroup // calls made beside receiving
}

// reception is one run of Receive.
type reception struct {
	host channels.Host
	stop context.CancelCauseFunc
	in   *lanes
}

// pace is how long things wait; tests shorten it.
type pace struct {
	error, errorMax   time.Duration // between failed calls
	accept, acceptMax time.Duration // while the host can't take an event
	settle            time.Duration // for an earlier event on the other socket
	lived             time.Duration // a connection that lasted so long was a good one
	answer            time.Duration // to an HTTP request, below Slack's 3 s
}

var normalPace = pace{
	error: 500 * time.Millisecond, errorMax: 30 * time.Second,
	accept: 200 * time.Millisecond, acceptMax: 10 * time.Second,
	settle: 50 * time.Millisecond, lived: 10 * time.Second, answer: 2500 * time.Millisecond,
}

// New returns a channel. It makes no connection: a wrong token is found out by
// Receive or Check. Several processes may receive for one app, at most five in
// Socket Mode: Slack gives each event to one of them. An HTTP bot is a
// [channels.Handler] that works on every replica that receives.
func New(cfg Config) (channels.Channel, error) {
	c, err := newChannel(cfg)
	if err != nil {
		return nil, err
	}
	if c.cfg.Mode == ModeHTTP {
		return posted{c}, nil
	}
	return c, nil
}

func newChannel(cfg Config) (*Channel, error) {
	if cfg.Name == "" {
		cfg.Name = "slack"
	}
	if cfg.APIURL == "" {
		cfg.APIURL = slack.APIURL
	}
	cfg.APIURL = strings.TrimRight(cfg.APIURL, "/") + "/" // slack-go appends the method
	if cfg.Mode == "" {
		cfg.Mode = ModeSocket
	}
	if cfg.ReplyIn == "" {
		cfg.ReplyIn = ReplyInThread
	}
	if cfg.Connect == "" {
		cfg.Connect = ConnectOff
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Name, err)
	}
	c := &Channel{
		cfg: cfg, log: cfg.Logger.With("channel", cfg.Name), pace: normalPace, route: routeOf(cfg.Name),
		secret: redact.New(cfg.bot(), strings.TrimSpace(cfg.AppToken.Reveal()), strings.TrimSpace(cfg.SigningSecret.Reveal())),
	}
	if err := c.connect(); err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Name, err)
	}
	return c, nil
}

func (cfg *Config) bot() string { return strings.TrimSpace(cfg.BotToken.Reveal()) }

// check finds what can't work, and says where the right value is.
func (cfg *Config) check() error {
	app := strings.TrimSpace(cfg.AppToken.Reveal())
	switch {
	case !strings.HasPrefix(cfg.bot(), "xoxb-") && !strings.HasPrefix(cfg.bot(), "xoxe.xoxb-"):
		return fmt.Errorf("bot_token must be the \"Bot User OAuth Token\", which begins with xoxb-; it is on the app's page under OAuth & Permissions")
	case cfg.Mode != ModeSocket && cfg.Mode != ModeHTTP:
		return fmt.Errorf("mode must be \"socket\" or \"http\", not %q", cfg.Mode)
	case cfg.Mode == ModeSocket && !strings.HasPrefix(app, "xapp-"):
		return fmt.Errorf("mode \"socket\" needs app_token, an app-level token that begins with xapp-; make one with the scope connections:write on the app's page under Basic Information, App-Level Tokens")
	case cfg.Mode == ModeHTTP && strings.TrimSpace(cfg.SigningSecret.Reveal()) == "":
		return fmt.Errorf("mode \"http\" needs signing_secret, which is on the app's page under Basic Information, App Credentials")
	case cfg.ReplyIn != ReplyInThread && cfg.ReplyIn != ReplyInChannel:
		return fmt.Errorf("reply_in must be \"thread\" or \"channel\", not %q", cfg.ReplyIn)
	case cfg.Connect != ConnectOff && cfg.Connect != ConnectRooms && cfg.Connect != ConnectMembers:
		return fmt.Errorf("connect must be \"off\", \"rooms\" or \"members\", not %q", cfg.Connect)
	case len(cfg.Prompts) > maxPrompts:
		return fmt.Errorf("suggested_prompts has %d entries, and Slack shows %d; leave some out", len(cfg.Prompts), maxPrompts)
	}
	for _, id := range cfg.UserGroups {
		if !strings.HasPrefix(id, "S") || strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
			return fmt.Errorf("user_groups holds %q, which is no id of a user group; in Slack open the group under People, User groups: its address ends with the id, S…", id)
		}
	}
	return nil
}

// connect makes the HTTP client and the typed client on top.
func (c *Channel) connect() error {
	proxy, err := proxyFunc(c.cfg.Proxy)
	if err != nil {
		return err
	}
	c.apiURL, err = url.Parse(c.cfg.APIURL)
	if err != nil || c.apiURL.Host == "" {
		return fmt.Errorf("api_url must be an address like https://slack.com/api/")
	}
	c.http = newClient(proxy)
	c.dialer = &websocket.Dialer{Proxy: proxy, HandshakeTimeout: 15 * time.Second, WriteBufferSize: 4096}
	c.api = slack.New(c.cfg.bot(),
		slack.OptionAPIURL(c.cfg.APIURL), slack.OptionAppLevelToken(strings.TrimSpace(c.cfg.AppToken.Reveal())),
		slack.OptionHTTPClient(doer{c.http, c.secret}), slack.OptionLog(quiet{}))
	return nil
}

// quiet takes what slack-go would print on stderr.
type quiet struct{}

// Output drops a line.
func (quiet) Output(int, string) error { return nil }

// Name is the channel's name in configuration.
func (c *Channel) Name() string { return c.cfg.Name }

// Limits are Slack's: one markdown block a message, and as many updates as a
// minute of the method's limit has for one reply.
func (c *Channel) Limits(channels.Target) channels.Limits {
	return channels.Limits{
		Text: maxText, Measure: measure,
		FirstAfter: 700 * time.Millisecond, MinFirst: 24,
		EditEvery: 1300 * time.Millisecond,
	}
}
