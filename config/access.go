package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// ids are how the platforms write a person's id: what stays when a name
// changes hands.
func idPattern(kind string) (pattern *regexp.Regexp, like string) {
	switch kind {
	case "telegram":
		return regexp.MustCompile(`^-?[0-9]{1,20}$`), "12345"
	case "discord":
		return regexp.MustCompile(`^[0-9]{5,20}$`), "80351110224678912"
	case "slack":
		return regexp.MustCompile(`^[A-Z][A-Z0-9]{2,20}$`), "U0123ABCD"
	default:
		return regexp.MustCompile(`^[A-Za-z0-9_.@-]{1,100}$`), "local"
	}
}

func (c *checker) checkAccess() {
	a := &c.cfg.Access
	for i, owner := range a.Owners {
		c.checkPerson([]string{"access", "owners", fmt.Sprint(i)}, owner)
	}
	for room, r := range a.Rooms {
		path := []string{"access", "rooms", room}
		c.checkPerson(path, room)
		channel, _, _ := strings.Cut(room, ":")
		kind, _, _ := strings.Cut(channel, ".")
		for i, id := range r.AllowFrom {
			c.checkID(append(slices.Clone(path), "allow_from", fmt.Sprint(i)), kind, id, id)
		}
	}
	for i, approver := range a.Approvers {
		c.checkPerson([]string{"access", "approvers", fmt.Sprint(i)}, approver)
	}
}

// checkPerson takes "channel:id".
func (c *checker) checkPerson(path []string, person string) {
	channel, id, ok := strings.Cut(person, ":")
	kind, _, _ := strings.Cut(channel, ".")
	if !ok || !slices.Contains(channelKinds(), kind) {
		c.problem(path, `%q must be channel:id, such as "telegram:12345"; channels are %s`, person, strings.Join(channelKinds(), ", "))
		return
	}
	c.checkID(path, kind, id, person)
}

func (c *checker) checkID(path []string, kind, id, shown string) {
	if pattern, like := idPattern(kind); !pattern.MatchString(id) {
		c.problem(path, `%q is no id of %s, which looks like %s. Names are not taken: they change hands. `+
			`The id of whoever writes to the bot is in its log`, shown, kind, like)
	}
}

func (c *checker) checkChannels() {
	any := c.cfg.Channels.Web.Enabled
	for _, ch := range c.channels() {
		any = any || ch.on
		if !ch.on {
			continue
		}
		if !c.has(ch.name) {
			c.problem(ch.path, "this version of clawbot has no channel %s; remove the table, or write enabled = false into it", ch.name)
			continue
		}
		if len(ch.accounts) == 0 {
			c.checkChannel(ch.name, ch)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(ch.accounts)) {
			account := ch.accounts[name]
			if !validName.MatchString(name) {
				c.problem(account.path, "%q is no name for an account; use letters, digits, _ and -", name)
			}
			if account.on {
				c.checkChannel(ch.name, account)
			}
		}
	}
	if !any {
		c.problem([]string{"channels"}, "every channel is off, so nobody can reach the bot; switch one on")
	}
}

func (c *checker) checkChannel(kind string, ch channelTable) {
	for i, id := range ch.access.AllowFrom {
		c.checkID(append(slices.Clone(ch.path), "allow_from", fmt.Sprint(i)), kind, strings.TrimPrefix(id, kind+":"), id)
	}
	if policy := c.dmPolicy(ch); policy == "members" && kind != "slack" {
		c.problem(append(slices.Clone(ch.path), "dm_policy"), `"members" is for Slack alone; take pairing, allowlist or open`)
	} else if policy == "allowlist" && len(ch.access.AllowFrom) == 0 && len(c.cfg.Access.Owners) == 0 {
		p := c.at(append(slices.Clone(ch.path), "allow_from"), "is empty, and so is access.owners: nobody may write to the bot in private")
		c.report.warnings = append(c.report.warnings, p)
	}
	c.checkTokens(kind, ch)
	if a, ok := ch.value.Interface().(TelegramAccount); ok && a.Mode == "webhook" && a.WebhookURL == "" {
		c.problem(append(slices.Clone(ch.path), "webhook_url"), `is missing; mode = "webhook" needs the public https:// address that Telegram posts to`)
	}
}

func (c *checker) dmPolicy(ch channelTable) string {
	if ch.access.DMPolicy != "" {
		return ch.access.DMPolicy
	}
	return c.cfg.Access.DMPolicy
}

// checkTokens asks for the secrets that the channel's mode needs.
func (c *checker) checkTokens(kind string, ch channelTable) {
	for _, f := range fieldsOf(ch.value.Type()) {
		name := f.tag.Get("env")
		path := append(slices.Clone(ch.path), f.name)
		if name == "" || !needed(kind, f.name, ch) || ch.value.FieldByIndex(f.index).Len() > 0 || c.failed(path...) {
			continue
		}
		if strings.Contains(ch.name, ".") {
			c.problem(path, `is missing; write %s = "${NAME}" and set that variable`, f.name)
			continue
		}
		c.problem(path, "is missing; set the environment variable %s, or write %s=… into %s", name, name, c.expand.dotenv)
	}
}

func needed(kind, secret string, ch channelTable) bool {
	if kind != "slack" {
		return true
	}
	mode := ch.value.FieldByName("Mode").String()
	return secret == "bot_token" || secret == "app_token" && mode == "socket" || secret == "signing_secret" && mode == "http"
}
