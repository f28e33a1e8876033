package config

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"clawbot/tools"
)

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// check reports what the values are together.
func (c *checker) check() {
	c.checkAgent()
	c.checkAgents()
	c.checkProviders()
	c.checkStore()
	c.checkRetention()
	c.checkServer()
	c.checkAccess()
	c.checkChannels()
	c.checkTools()
	c.checkPrices()
	c.checkMissing()
	c.checkAbsent()
}

func (c *checker) checkAgent() {
	a := &c.cfg.Agent
	if a.SystemPrompt != "" && a.SystemPromptFile != "" {
		c.problem([]string{"agent", "system_prompt_file"}, "system_prompt is set too; keep one of them")
	}
	if a.Model != "" {
		c.checkModel([]string{"agent", "model"}, a.Model)
	}
	for i, ref := range a.Fallbacks {
		c.checkModel([]string{"agent", "fallbacks", fmt.Sprint(i)}, ref)
	}
	if c.cfg.Audio.Transcribe != "" {
		c.checkModel([]string{"audio", "transcribe"}, c.cfg.Audio.Transcribe)
	}
	for i, ref := range a.Models {
		c.checkModel([]string{"agent", "models", fmt.Sprint(i)}, ref)
	}
}

func (c *checker) checkModel(path []string, ref string) {
	name, model, ok := strings.Cut(ref, "/")
	if !ok || name == "" || model == "" || strings.ContainsAny(ref, " \t\n") {
		c.problem(path, `%q must be provider/model, such as "openai/gpt-5-mini"`, ref)
		return
	}
	if _, ok := c.cfg.Providers[name]; ok {
		return
	}
	known := slices.Collect(maps.Keys(c.cfg.Providers))
	for _, p := range presets() {
		known = append(known, p.name)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	message := fmt.Sprintf("there is no provider %q; write a table [providers.%s], or use one of %s", name, name, strings.Join(known, ", "))
	if near := nearest(name, known); near != "" {
		message = fmt.Sprintf("there is no provider %q; did you mean %s/%s? Else write a table [providers.%s]", name, near, model, name)
	}
	c.problem(path, "%s", message)
}

func (c *checker) checkProviders() {
	formats := c.loader.Formats
	if len(formats) == 0 {
		formats = []string{"anthropic", "openai", "openai-responses", "google", "mistral", "demo"}
	}
	used := c.cfg.usedProviders()
	for _, name := range slices.Sorted(maps.Keys(c.cfg.Providers)) {
		p, path := c.cfg.Providers[name], []string{"providers", name}
		switch {
		case !validName.MatchString(name):
			c.problem(path, "%q is no name for a provider; use letters, digits, _ and -", name)
		case p.Format == "":
			c.problem(append(path, "format"), "is missing; say which protocol the server speaks: one of %s", strings.Join(formats, ", "))
		case !slices.Contains(formats, p.Format):
			c.problem(append(path, "format"), "%s", noneOf(p.Format, formats))
		case p.BaseURL == "" && p.Format != "demo":
			c.problem(append(path, "base_url"), "is missing; write the address of the server")
		case slices.Contains(used, name):
			c.checkKey(name, p)
		}
	}
}

// checkKey asks for a key where the vendor is known to want one.
func (c *checker) checkKey(name string, p Provider) {
	known, ok := presetOf(name)
	if !ok || len(known.env) == 0 || len(p.APIKey) > 0 || p.BaseURL != known.baseURL || c.failed("providers", name, "api_key") {
		return
	}
	c.problem([]string{"providers", name, "api_key"}, "there is no key for %s; set the environment variable %s, or write %s=… into %s",
		name, known.env[0], known.env[0], c.expand.dotenv)
}

// failed reports whether the key, or one of its elements, was given but could
// not be read, which is reported on its own.
func (c *checker) failed(path ...string) bool {
	key := keyPath(path)
	for k := range c.missing {
		if k == key || strings.HasPrefix(k, key+".") {
			return true
		}
	}
	return slices.ContainsFunc(c.report.problems, func(p Problem) bool {
		return p.Key == key || strings.HasPrefix(p.Key, key+".")
	})
}

func (c *checker) checkStore() {
	drivers := c.loader.Drivers
	if len(drivers) == 0 {
		drivers = []string{"sqlite", "redis", "memory"}
	}
	if !slices.Contains(drivers, c.cfg.Store.Driver) {
		c.problem([]string{"store", "driver"}, "%s", noneOf(c.cfg.Store.Driver, drivers))
	}
}

// leastAge keeps a typing error ("90" for 90 days) from deleting everything.
const leastAge = time.Hour

func (c *checker) checkRetention() {
	for key, age := range map[string]time.Duration{"age": c.cfg.Retention.Age, "dead_letters": c.cfg.Retention.DeadLetters} {
		if age > 0 && age < leastAge {
			c.problem([]string{"retention", key}, "%s is too short; the least is %s, and 0 keeps for ever (90 days are \"2160h\")", age, leastAge)
		}
	}
}

func (c *checker) checkServer() {
	s := &c.cfg.Server
	if c.failed("server", "listen") {
		return
	}
	if !Loopback(s.Listen) && len(s.Token) == 0 && !c.failedProblem("server", "token") {
		c.problem([]string{"server", "listen"}, "%s can be reached from other machines, so a token is needed: set the environment variable CLAWBOT_TOKEN"+
			" (for instance to the output of: openssl rand -hex 24), or listen on 127.0.0.1", s.Listen)
	}
	if s.MetricsListen != "" && s.MetricsListen == s.Listen {
		c.problem([]string{"server", "metrics_listen"}, "is the address of the page; leave it empty to have /metrics there, or take another port")
	}
}

func (c *checker) failedProblem(path ...string) bool {
	key := keyPath(path)
	return slices.ContainsFunc(c.report.problems, func(p Problem) bool { return strings.HasPrefix(p.Key, key) })
}

// Loopback reports whether only this machine can reach a listener on the
// address, which is host:port.
func Loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

func (c *checker) checkTools() {
	t := &c.cfg.Tools
	c.checkRules([]string{"tools"}, t.Rules)
	for name, rules := range t.Roles {
		c.checkRules([]string{"tools", "roles", name}, rules)
	}
	for name, rules := range t.Channels {
		path := []string{"tools", "channels", name}
		c.checkChannelName(path, name)
		c.checkRules(path, rules)
	}
	for name := range c.cfg.Queue.Channels {
		c.checkChannelName([]string{"queue", "channels", name}, name)
	}
	for name, m := range t.MCP {
		if (len(m.Command) == 0) == (m.URL == "") {
			c.problem([]string{"tools", "mcp", name}, "wants either command or url")
		}
	}
}

func (c *checker) checkRules(path []string, rules tools.Rules) {
	if err := rules.Validate(); err != nil {
		c.problem(path, "%v; * stands for any text, and a [ must be closed", err)
	}
}

// checkChannelName takes "telegram", "telegram.work", "slack:C1".
func (c *checker) checkChannelName(path []string, name string) {
	kinds := channelKinds()
	kind := name
	if i := strings.IndexAny(name, ".:"); i >= 0 {
		kind = name[:i]
	}
	if !slices.Contains(kinds, kind) {
		c.problem(path, "%s", strings.Replace(noneOf(kind, kinds), "is none of", "is no channel; channels are", 1))
	}
}

func channelKinds() []string { return []string{"telegram", "slack", "discord", "web", "terminal"} }

// checkMissing turns references that could not be resolved into problems, where
// their table is used. The server's token is checked with its address.
func (c *checker) checkMissing() {
	used := c.cfg.usedProviders()
	for key, p := range c.missing {
		if key == "server.token" || strings.HasPrefix(key, "server.token.") {
			continue
		}
		unused := false
		for name := range c.cfg.Providers {
			unused = unused || strings.HasPrefix(key, keyPath([]string{"providers", name})+".") && !slices.Contains(used, name)
		}
		for _, ch := range c.channels() {
			unused = unused || strings.HasPrefix(key, keyPath(ch.path)+".") && !ch.on
		}
		if !unused {
			c.report.problems = append(c.report.problems, p)
		}
	}
}
