package discord

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"

	"clawbot/channels"
	"clawbot/internal/redact"
)

// Where answers to messages in a room go.
const (
	InThread  = "thread"
	InChannel = "channel"
)

// Config configures a [Channel]. Token is required, everything else has a
// default.
type Config struct {
	// Name in configuration and session ids; "discord" by default, or
	// "discord.work" for a named account.
	Name string `toml:"-"`
	// Token of the bot, from the developer portal.
	Token redact.Secret `toml:"token"`
	// APIURL is where Discord is; "https://discord.com/" by default.
	APIURL string `toml:"api_url"`
	// Proxy is "" (none), "env" (HTTPS_PROXY and friends) or the URL of an
	// HTTP or SOCKS5 proxy.
	Proxy string `toml:"proxy"`
	// AllowFrom is the access list that the gateway applies: ids of people and
	// channels.
	AllowFrom []string `toml:"allow_from"`
	// ReplyIn says where a message in a room is answered: "thread" (default)
	// starts one from it, "channel" answers below it.
	ReplyIn string `toml:"reply_in"`
	// ReplyInRooms is ReplyIn of single channels, by id.
	ReplyInRooms map[string]string `toml:"-"`
	// Shards is into how many connections the servers are divided; 0 asks
	// Discord, which wants more than one from 2,500 servers on.
	Shards int `toml:"shards"`
	// Logger takes what an operator should know; none by default.
	Logger *slog.Logger `toml:"-"`
}

// Channel is one Discord bot.
type Channel struct {
	cfg    Config
	botID  string // the user id, which the token begins with
	log    *slog.Logger
	secret *redact.Redactor
	pace   pace

	rest   *discordgo.Session // never opened: it is the REST client alone
	http   *http.Client
	base   *url.URL // APIURL
	proxy  func(*http.Request) (*url.URL, error)
	limits limiter

	app          atomic.Pointer[string] // the application's id, once it is known
	health       health
	world        world
	talks        talks
	recent       recent
	nonces       nonces
	threads      threads
	interactions interactions
	identifying  identifying
	beside       sync.WaitGroup // calls made beside receiving
}

var (
	_ channels.Channel     = (*Channel)(nil)
	_ channels.Exclusive   = (*Channel)(nil)
	_ channels.Attachments = (*Channel)(nil)
	_ channels.Checker     = (*Channel)(nil)
)

// New returns a channel. It makes no connection: a wrong token is found out by
// Receive or Check.
//
// The channel is [channels.Exclusive]: one process reads the gateway, and any
// may write.
func New(cfg Config) (*Channel, error) {
	if cfg.Name == "" {
		cfg.Name = "discord"
	}
	if cfg.APIURL == "" {
		cfg.APIURL = "https://discord.com/"
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	token := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(cfg.Token.Reveal()), "Bot "))
	id, err := tokenID(token)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Name, err)
	}
	c := &Channel{cfg: cfg, botID: id, log: cfg.Logger.With("channel", cfg.Name), secret: redact.New(token), pace: normalPace}
	if c.proxy, err = proxyFunc(cfg.Proxy); err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Name, err)
	}
	if c.base, err = url.Parse(cfg.APIURL); err != nil || c.base.Host == "" {
		return nil, fmt.Errorf("%s: api_url must be an address like https://discord.com/", cfg.Name)
	}
	c.http = newClient(c.proxy, c.base, c.secret)
	if c.rest, err = discordgo.New("Bot " + token); err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Name, err)
	}
	c.rest.Client, c.rest.State, c.rest.StateEnabled, c.rest.LogLevel = c.http, nil, false, -1
	return c, nil
}

// tokenID reads the bot's id from its token: the part before the first dot, in
// base64.
func tokenID(token string) (string, error) {
	head, rest, ok := strings.Cut(token, ".")
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(head, "="))
	if !ok || rest == "" || err != nil || len(raw) < 15 || strings.Trim(string(raw), "0123456789") != "" {
		return "", fmt.Errorf("the token does not look like one; take it from https://discord.com/developers/applications, " +
			"page Bot, \"Reset Token\" (neither the application's id nor its public key nor the client secret)")
	}
	return string(raw), nil
}

// Name is the channel's name in configuration.
func (c *Channel) Name() string { return c.cfg.Name }

// maxText is the longest text of a message. Discord counts code points; UTF-16
// units are never fewer.
const maxText = 2000

// Limits are Discord's: 2000 characters, and about five writes in five seconds
// to a channel, which its answers tell and calls keep.
func (c *Channel) Limits(channels.Target) channels.Limits {
	return channels.Limits{
		Text: maxText, Measure: measure,
		FirstAfter: 700 * time.Millisecond, MinFirst: 24,
		EditEvery: 1200 * time.Millisecond,
	}
}
