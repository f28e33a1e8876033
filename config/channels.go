package config

import (
	"time"

	"clawbot/internal/redact"
)

// Channels are the places where people talk to the bot. A nil channel is not
// configured.
type Channels struct {
	Telegram *Telegram `toml:"telegram"`
	Slack    *Slack    `toml:"slack"`
	Discord  *Discord  `toml:"discord"`
	Web      Web       `toml:"web"`
}

// ChannelAccess is what every channel may say for itself; an empty value is the
// one of [Access].
type ChannelAccess struct {
	Enabled     bool     `toml:"enabled"`
	DMPolicy    string   `toml:"dm_policy" enum:"pairing|allowlist|members|open"`
	GroupPolicy string   `toml:"group_policy" enum:"mention|allowlist|open|off"`
	ReplyIn     string   `toml:"reply_in" enum:"thread|channel"`
	AllowFrom   []string `toml:"allow_from" rule:"ids"`
	// ReplyInRooms is ReplyIn of single rooms, by id, from [access.rooms].
	ReplyInRooms map[string]string `toml:"-"`
}

// RoomAccess is what one room has differently; an empty value is the channel's.
type RoomAccess struct {
	GroupPolicy string   `toml:"group_policy" enum:"mention|allowlist|open|off"`
	ReplyIn     string   `toml:"reply_in" enum:"thread|channel"`
	AllowFrom   []string `toml:"allow_from"`
}

// Telegram is the Telegram channel: one bot, or several by name. An account
// begins as what the channel says, but for its secrets and address.
type Telegram struct {
	TelegramAccount
	Accounts map[string]TelegramAccount `toml:"accounts"`
}

// TelegramAccount is one Telegram bot.
type TelegramAccount struct {
	ChannelAccess
	Token  redact.Secret `toml:"token" env:"TELEGRAM_BOT_TOKEN"`
	APIURL string        `toml:"api_url" rule:"nonempty,url:http,https"`
	Proxy  string        `toml:"proxy" rule:"proxy"`
	Mode   string        `toml:"mode" enum:"poll|webhook"`
	// PollTimeout is how long Telegram holds a poll open.
	PollTimeout time.Duration `toml:"poll_timeout" min:"1s" max:"50s"`
	// WebhookURL is the public address that Telegram posts updates to.
	WebhookURL string `toml:"webhook_url" rule:"url:https,http"`
	// WebhookSecret is sent with each update; empty derives it from the token.
	WebhookSecret redact.Secret `toml:"webhook_secret"`
	// Drafts shows answers in private as drafts while they are written, instead
	// of editing a message.
	Drafts bool `toml:"drafts"`
}

// Slack is the Slack channel: one workspace, or several by name.
type Slack struct {
	SlackAccount
	Accounts map[string]SlackAccount `toml:"accounts"`
}

// SlackAccount is one Slack app in one workspace.
type SlackAccount struct {
	ChannelAccess
	BotToken      redact.Secret `toml:"bot_token" env:"SLACK_BOT_TOKEN"`
	AppToken      redact.Secret `toml:"app_token" env:"SLACK_APP_TOKEN"`
	SigningSecret redact.Secret `toml:"signing_secret" env:"SLACK_SIGNING_SECRET"`
	Mode          string        `toml:"mode" enum:"socket|http"`
	APIURL        string        `toml:"api_url" rule:"nonempty,url:http,https"`
	Proxy         string        `toml:"proxy" rule:"proxy"`
	// Streams lets answers in threads grow as Slack's native streams; without,
	// messages are edited.
	Streams bool `toml:"streams"`
	// Guests count as members of the workspace for dm_policy = "members".
	Guests bool `toml:"guests"`
	// Connect says whether people of other organisations in shared channels are
	// heard, and whether they count as members.
	Connect string `toml:"connect" enum:"off|rooms|members"`
	// UserGroups are ids; if there are any, only who is in one is a member.
	UserGroups []string `toml:"user_groups"`
	// DirectThreads answers each direct message in a thread of its own.
	DirectThreads bool `toml:"direct_threads"`
	// SuggestedPrompts are shown to who begins a conversation; four at most.
	SuggestedPrompts []string `toml:"suggested_prompts"`
}

// Discord is the Discord channel: one bot, or several by name.
type Discord struct {
	DiscordAccount
	Accounts map[string]DiscordAccount `toml:"accounts"`
}

// DiscordAccount is one Discord bot.
type DiscordAccount struct {
	ChannelAccess
	Token  redact.Secret `toml:"token" env:"DISCORD_BOT_TOKEN"`
	APIURL string        `toml:"api_url" rule:"nonempty,url:http,https"`
	Proxy  string        `toml:"proxy" rule:"proxy"`
	// Shards is into how many connections the servers are divided; 0 asks
	// Discord.
	Shards int `toml:"shards" min:"0"`
}

// Web is the built-in chat page.
type Web struct {
	Enabled bool `toml:"enabled"`
}

func (c *Telegram) setDefaults() {
	c.Enabled = true
	c.APIURL = "https://api.telegram.org"
	c.Mode = "poll"
	c.PollTimeout = 25 * time.Second
}

func (c *Slack) setDefaults() {
	c.Enabled = true
	c.APIURL = "https://slack.com/api/"
	c.Mode = "socket"
	c.Streams = true
	c.Connect = "off"
}

func (c *Discord) setDefaults() {
	c.Enabled = true
	c.APIURL = "https://discord.com/"
}

// account returns what a named account begins as.
func (c *Telegram) account() any {
	a := c.TelegramAccount
	a.Token, a.WebhookURL, a.WebhookSecret = "", "", ""
	return a
}

func (c *Slack) account() any {
	a := c.SlackAccount
	a.BotToken, a.AppToken, a.SigningSecret = "", "", ""
	return a
}

func (c *Discord) account() any {
	a := c.DiscordAccount
	a.Token = ""
	return a
}

// Bots returns the accounts that are on, by their channel's name: "telegram",
// or "telegram.NAME" for each of several.
func (c *Telegram) Bots() map[string]TelegramAccount {
	return bots("telegram", c.TelegramAccount, c.Accounts, func(a TelegramAccount) bool { return a.Enabled })
}

// Bots returns the apps that are on, by their channel's name.
func (c *Slack) Bots() map[string]SlackAccount {
	return bots("slack", c.SlackAccount, c.Accounts, func(a SlackAccount) bool { return a.Enabled })
}

// Bots returns the bots that are on, by their channel's name.
func (c *Discord) Bots() map[string]DiscordAccount {
	return bots("discord", c.DiscordAccount, c.Accounts, func(a DiscordAccount) bool { return a.Enabled })
}

func bots[A any](channel string, only A, accounts map[string]A, on func(A) bool) map[string]A {
	list := map[string]A{}
	switch {
	case !on(only):
	case len(accounts) == 0:
		list[channel] = only
	default:
		for name, a := range accounts {
			if on(a) {
				list[channel+"."+name] = a
			}
		}
	}
	return list
}
