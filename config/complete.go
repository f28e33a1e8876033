package config

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"clawbot/internal/redact"
)

// checker fills in what follows from the rest and checks what no single value
// shows.
type checker struct {
	*decoder
	cfg    *Config
	loader *Loader
	lookup func(name string) (string, bool)
}

// variable returns the value of an environment variable, empty if it is unset
// or blank.
func (c *checker) variable(name string) string {
	value, _ := c.lookup(name)
	return strings.TrimSpace(value)
}

// complete fills in the channels whose token is in the environment, what is
// known of providers by their names, and secrets by the names of their
// variables.
func (c *checker) complete() {
	if c.cfg.Origin.File == "" {
		c.channelsFromEnv()
	}
	c.cfg.inherit()
	c.providers()
	c.secretsFromEnv(reflect.ValueOf(&c.cfg.Server).Elem(), []string{"server"})
	for _, ch := range c.channels() {
		if ch.on && len(ch.accounts) == 0 {
			c.secretsFromEnv(ch.value, ch.path)
		}
	}
}

// channelsFromEnv switches on the channels whose tokens are set, when there is
// no file that could.
func (c *checker) channelsFromEnv() {
	ch := &c.cfg.Channels
	if c.has("telegram") && c.variable("TELEGRAM_BOT_TOKEN") != "" {
		ch.Telegram = &Telegram{}
		ch.Telegram.setDefaults()
	}
	if c.has("slack") && c.variable("SLACK_BOT_TOKEN") != "" && c.variable("SLACK_APP_TOKEN") != "" {
		ch.Slack = &Slack{}
		ch.Slack.setDefaults()
	}
	if c.has("discord") && c.variable("DISCORD_BOT_TOKEN") != "" {
		ch.Discord = &Discord{}
		ch.Discord.setDefaults()
	}
}

// has reports whether the program has the channel.
func (c *checker) has(channel string) bool {
	return len(c.loader.Channels) == 0 || slices.Contains(c.loader.Channels, channel)
}

// providers completes the configured providers and adds those that a model
// names without a table of their own.
func (c *checker) providers() {
	if c.cfg.Providers == nil {
		c.cfg.Providers = map[string]Provider{}
	}
	for _, name := range c.cfg.usedProviders() {
		if _, ok := presetOf(name); ok {
			if _, configured := c.cfg.Providers[name]; !configured {
				c.cfg.Providers[name] = Provider{}
			}
		}
	}
	for name, p := range c.cfg.Providers {
		if known, ok := presetOf(name); ok {
			c.cfg.Providers[name] = known.complete(p, c.variable)
		}
	}
}

// complete fills in what p leaves open. The key from the environment is only
// for the vendor's own address, unless the file names it for another.
func (known preset) complete(p Provider, variable func(string) string) Provider {
	if p.Format == "" {
		p.Format = known.format
	}
	own := p.BaseURL == "" || p.BaseURL == known.baseURL
	if p.BaseURL == "" && p.Format == known.format {
		p.BaseURL = known.baseURL
	}
	if len(p.APIKey) == 0 && own {
		for _, name := range known.env {
			if key := variable(name); key != "" {
				p.APIKey = redact.Secrets{redact.Secret(key)}
				break
			}
		}
	}
	return p
}

// usedProviders names the providers of the model and the fallbacks.
func (c *Config) usedProviders() []string {
	var names []string
	for _, ref := range slices.Concat([]string{c.Audio.Transcribe}, c.AllModels(), c.Agent.Models) {
		if name, _, ok := strings.Cut(ref, "/"); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// secretsFromEnv sets the empty secrets of a table from the variables that
// their env tags name.
func (c *checker) secretsFromEnv(table reflect.Value, path []string) {
	for _, f := range fieldsOf(table.Type()) {
		name := f.tag.Get("env")
		if name == "" {
			continue
		}
		value := c.variable(name)
		if _, failed := c.missing[keyPath(append(slices.Clone(path), f.name))]; failed || value == "" {
			continue
		}
		switch field := table.FieldByIndex(f.index); field.Type() {
		case secretType:
			if field.Len() == 0 {
				field.SetString(value)
			}
		case secretsType:
			if field.Len() == 0 {
				field.Set(reflect.ValueOf(redact.Secrets{redact.Secret(value)}))
			}
		}
	}
}

// readable warns of secrets in a file that everybody may read.
func (c *checker) readable() {
	if len(c.literal) == 0 || c.cfg.Origin.File == "" {
		return
	}
	if info, err := os.Stat(c.cfg.Origin.File); err == nil && info.Mode().Perm()&0o004 != 0 {
		c.report.warnings = append(c.report.warnings, Problem{File: c.cfg.Origin.File, Key: slices.Sorted(slices.Values(c.literal))[0],
			Message: fmt.Sprintf("a secret stands in a file that everybody on this machine can read; run: chmod 600 %s", c.cfg.Origin.File)})
	}
}

// channelTable is a configured channel, whatever its type.
type channelTable struct {
	name     string
	path     []string
	on       bool
	access   *ChannelAccess
	value    reflect.Value
	accounts map[string]channelTable
}

// channels lists the configured channels with tokens, in a fixed order.
func (c *checker) channels() []channelTable {
	var list []channelTable
	add := func(name string, access *ChannelAccess, account any, accounts map[string]channelTable) {
		list = append(list, channelTable{name, []string{"channels", name}, access.Enabled, access, reflect.ValueOf(account).Elem(), accounts})
	}
	ch := &c.cfg.Channels
	if t := ch.Telegram; t != nil {
		add("telegram", &t.ChannelAccess, &t.TelegramAccount, accountTables("telegram", t.Accounts,
			func(a *TelegramAccount) *ChannelAccess { return &a.ChannelAccess }))
	}
	if s := ch.Slack; s != nil {
		add("slack", &s.ChannelAccess, &s.SlackAccount, accountTables("slack", s.Accounts,
			func(a *SlackAccount) *ChannelAccess { return &a.ChannelAccess }))
	}
	if d := ch.Discord; d != nil {
		add("discord", &d.ChannelAccess, &d.DiscordAccount, accountTables("discord", d.Accounts,
			func(a *DiscordAccount) *ChannelAccess { return &a.ChannelAccess }))
	}
	return list
}

func accountTables[A any](channel string, accounts map[string]A, access func(*A) *ChannelAccess) map[string]channelTable {
	tables := make(map[string]channelTable, len(accounts))
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		a := accounts[name]
		tables[name] = channelTable{
			name: channel + "." + name, path: []string{"channels", channel, "accounts", name},
			on: access(&a).Enabled, access: access(&a), value: reflect.ValueOf(&a).Elem(),
		}
	}
	return tables
}
