package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/config"
	"clawbot/server"
)

// modelChecks asks every model that may answer.
func (d *doctor) modelChecks() []check {
	var list []check
	for _, ref := range d.cfg.AllModels() {
		list = append(list, check{"model", func(ctx context.Context) []finding { return d.model(ctx, ref) }})
	}
	for _, problem := range unpriced(d.cfg, d.log) {
		list = append(list, check{"budget", func(context.Context) []finding { return []finding{fail("", "%s", problem)} }})
	}
	return list
}

// model makes one cheap call.
func (d *doctor) model(ctx context.Context, ref string) []finding {
	m, err := newProvider(d.cfg, ref, d.log)
	if err != nil {
		return []finding{fail("", "%s: %v", ref, err)}
	}
	began := time.Now()
	req := &agentcore.Request{
		Session: "doctor", MaxTokens: 16,
		Messages: []*agentcore.Message{{
			ID: "doctor", Role: agentcore.RoleUser, Time: began,
			Content: []agentcore.Block{agentcore.Text{Text: "Answer with the word OK."}},
		}},
	}
	for ev, err := range m.Stream(ctx, req) {
		if err != nil {
			return []finding{fail("", "%s: %v", ref, err)}
		}
		if ev.Type == agentcore.StreamDone {
			break
		}
	}
	return []finding{ok("%s answers, in %s", ref, time.Since(began).Round(time.Millisecond))}
}

// channelChecks tries every token.
func (d *doctor) channelChecks() []check {
	var list []check
	for _, p := range platforms() {
		bots, err := p.make(&d.cfg.Channels, d.log)
		if err != nil {
			list = append(list, check{p.name, func(context.Context) []finding { return []finding{fail("", "%v", err)} }})
			continue
		}
		for _, bot := range bots {
			list = append(list, check{bot.Name(), func(ctx context.Context) []finding { return d.channel(ctx, bot) }})
		}
	}
	return list
}

func (d *doctor) channel(ctx context.Context, bot channels.Channel) []finding {
	list := []finding{info("this channel has no check of its own")}
	if c, can := bot.(channels.Checker); can {
		list = []finding{ok("the platform takes its token")}
		if err := c.Check(ctx); err != nil {
			list = []finding{fail("", "%v", err)}
		}
	}
	if d.cfg.Channels.Telegram != nil {
		if a, has := d.cfg.Channels.Telegram.Bots()[bot.Name()]; has && a.Mode == "webhook" {
			list = append(list, telegramWebhook(&a, d.cfg.Server.Listen))
		}
	}
	if d.cfg.Channels.Slack != nil {
		if a, has := d.cfg.Channels.Slack.Bots()[bot.Name()]; has && a.Mode == "http" {
			list = append(list, slackRequests(bot, &d.cfg.Server))
		}
	}
	return list
}

// slackRequests says where Slack must post to.
func slackRequests(bot channels.Channel, s *config.Server) finding {
	h, ok := bot.(channels.Handler)
	if !ok {
		return info("Slack posts nothing to this channel")
	}
	pattern, _ := h.Handler()
	_, path, found := strings.Cut(pattern, " ")
	if !found {
		path = pattern
	}
	const where = "the request URL of events, interactivity and slash commands on the app's page must be https://YOUR-HOST%s"
	if config.Loopback(s.Listen) {
		return info("Slack can't reach %s itself: a proxy with TLS on this machine must pass %s on; "+where, s.Listen, path, path)
	}
	return info("Slack asks for https, so a proxy with TLS must pass %s on to %s; "+where, path, s.Listen, path)
}

// telegramWebhook looks at what Telegram asks of a webhook's address.
func telegramWebhook(a *config.TelegramAccount, listen string) finding {
	u, err := url.Parse(a.WebhookURL)
	if err != nil {
		return fail("write an address like https://bot.example.com/telegram", "webhook_url is no address: %v", err)
	}
	switch ip := net.ParseIP(u.Hostname()); {
	case u.Scheme != "https":
		return fail("put a proxy with TLS before the bot and write its https address", "Telegram posts to https only, and webhook_url is %s", a.WebhookURL)
	case u.Port() != "" && !slices.Contains([]string{"443", "80", "88", "8443"}, u.Port()):
		return fail("have the proxy listen on one of them", "Telegram posts to the ports 443, 80, 88 and 8443 only, not to %s", u.Port())
	case ip != nil && (ip.IsLoopback() || ip.IsPrivate()), u.Hostname() == "localhost":
		return fail("write the address that the internet knows", "Telegram can't reach %s", u.Hostname())
	}
	return ok("Telegram posts to %s; a proxy must pass that on to %s unchanged", a.WebhookURL, listen)
}

// server looks at the page's address: free, or ours.
func (d *doctor) server(ctx context.Context) []finding {
	cfg := &d.cfg.Server
	if _, err := server.New(server.Config{Listen: cfg.Listen, MetricsListen: cfg.MetricsListen, Tokens: cfg.Token.Reveal()}); err != nil {
		return []finding{fail("", "%v", err)}
	}
	list := d.listens(ctx, "server.listen", cfg.Listen)
	if cfg.MetricsListen != "" {
		list = append(list, d.listens(ctx, "server.metrics_listen", cfg.MetricsListen)...)
	}
	for _, t := range cfg.Token.Reveal() {
		if len(t) < 16 {
			list = append(list, warn("take at least 16 random characters, for example from openssl rand -hex 24", "server.token is short"))
		}
	}
	return list
}

func (d *doctor) listens(ctx context.Context, key, address string) []finding {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err == nil {
		_ = l.Close() // it was only tried
		return []finding{ok("%s: %s is free", key, address)}
	}
	if healthy(ctx, address) == nil {
		return append([]finding{ok("%s: a bot is running on %s", key, address)}, readiness(ctx, address)...)
	}
	return []finding{fail("set "+key+" to a free address of this machine, or stop the other program", "%s: %v", key, err)}
}

// readiness tells what a running bot says of itself.
func readiness(ctx context.Context, listen string) []finding {
	address, err := reachable(listen)
	if err != nil {
		return nil
	}
	var answer server.Readiness
	if err := getJSON(ctx, "http://"+address+"/readyz", &answer); err != nil {
		return []finding{fail("", "the running bot does not tell whether it is ready: %v", err)}
	}
	var list []finding
	for _, c := range answer.Checks {
		if !c.OK {
			list = append(list, fail("", "the running bot is not ready: %s: %s", c.Name, c.Error))
		}
	}
	return list
}

func getJSON(ctx context.Context, address string, v any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(v)
}

const (
	clockWarn = 10 * time.Second
	clockFail = 2 * time.Minute // signatures, tokens and certificates are refused
)

// clock compares this machine's clock with that of a server which is asked
// anyway.
func (d *doctor) clock(ctx context.Context) []finding {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, address := range d.addresses() {
		off, err := offset(ctx, address)
		if err != nil {
			continue
		}
		const remedy = "have the machine follow a time server: timedatectl set-ntp true"
		switch shown := off.Abs().Round(time.Second); {
		case shown >= clockFail:
			return []finding{fail(remedy, "this machine's clock is %s off the clock of %s", shown, address)}
		case shown >= clockWarn:
			return []finding{warn(remedy, "this machine's clock is %s off the clock of %s", shown, address)}
		default:
			return []finding{ok("right to the second")}
		}
	}
	if unsynchronised() {
		return []finding{info("there was nobody to ask, and the kernel follows no time server (timedatectl set-ntp true)")}
	}
	return []finding{info("there was nobody to ask")}
}

// addresses are those of the models' servers and of Telegram.
func (d *doctor) addresses() []string {
	var list []string
	for _, ref := range d.cfg.AllModels() {
		if p := d.cfg.Providers[providerOf(ref)]; p.BaseURL != "" && p.Proxy == "" {
			list = append(list, p.BaseURL)
		}
	}
	if t := d.cfg.Channels.Telegram; t != nil {
		for _, a := range slices.Sorted(maps.Keys(t.Bots())) {
			list = append(list, t.Bots()[a].APIURL)
		}
	}
	return list
}

// offset is how far this clock is ahead of a server's, which tells whole seconds.
func offset(ctx context.Context, address string) (time.Duration, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, u.Scheme+"://"+u.Host+"/", nil)
	if err != nil {
		return 0, err
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	before := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	after := time.Now()
	theirs, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return 0, fmt.Errorf("no clock: %w", err)
	}
	// It was some moment of that second, while we waited.
	theirs = theirs.Add(time.Second / 2)
	switch {
	case theirs.Before(before.Add(-time.Second / 2)):
		return before.Sub(theirs), nil
	case theirs.After(after.Add(time.Second / 2)):
		return after.Sub(theirs), nil
	}
	return 0, nil
}
