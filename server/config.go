package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"clawbot/channels"
)

// DefaultListen is where the page is without a configuration.
const DefaultListen = "127.0.0.1:8080"

// Config of the listener: the table [server], and what the program mounts. The
// zero value serves the health probes on [DefaultListen].
type Config struct {
	// Listen is "host:port"; port 0 takes a free one, see [Server.Addr].
	Listen string
	// MetricsListen serves /metrics and the probes, without a token, on an
	// address of their own. If empty, /metrics is beside the page and needs
	// the token.
	MetricsListen string
	// Tokens open the page, each of them, so that one can be replaced while
	// the other still works. One is needed unless Listen is a loopback
	// address. Blank ones do not count.
	Tokens []string

	// Name of the bot, for the login form.
	Name string
	// Pages are served to whoever is signed in.
	Pages []channels.Handler
	// Webhooks are served to anybody and authenticate their callers
	// themselves.
	Webhooks []channels.Handler
	// Checks decide whether the bot is ready.
	Checks []Check
	// Metrics, if set, is served at /metrics.
	Metrics http.Handler
	Logger  *slog.Logger // default: discard
}

// Check is one condition of readiness. Its error names the remedy and holds no
// secret: anybody may read it.
type Check struct {
	Name string
	// Check must return soon after ctx ends. It is never called twice at once.
	Check func(ctx context.Context) error
}

// withDefaults fills in what was left out.
func (c Config) withDefaults() Config {
	if c.Listen == "" {
		c.Listen = DefaultListen
	}
	if c.Name == "" {
		c.Name = "clawbot"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	var tokens []string
	for _, t := range c.Tokens {
		if t = strings.TrimSpace(t); t != "" { // a file's last newline is not part of it
			tokens = append(tokens, t)
		}
	}
	c.Tokens = tokens
	return c
}

// validate refuses what would open a door by mistake.
func (c Config) validate() error {
	host, err := splitListen("server.listen", c.Listen)
	if err != nil {
		return err
	}
	if len(c.Tokens) == 0 && isIP(host) && !isLoopbackName(host) {
		return errNeedsToken(c.Listen)
	}
	if c.MetricsListen != "" {
		_, err = splitListen("server.metrics_listen", c.MetricsListen)
	}
	return err
}

func splitListen(key, listen string) (host string, err error) {
	host, port, err := net.SplitHostPort(listen)
	if err == nil && port == "" {
		err = fmt.Errorf("the port is missing")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %q is not an address (%w): write it as \"127.0.0.1:8080\"", key, listen, err)
	}
	return host, nil
}

func errNeedsToken(listen string) error {
	return fmt.Errorf("server.listen: %s can be reached from other machines, and server.token is not set, "+
		"so anybody could use the bot: set server.token (CLAWBOT_TOKEN) to a long random text, for example from "+
		"`openssl rand -hex 24`, or listen on 127.0.0.1", listen)
}

// isIP reports whether host needs no lookup to be judged. The empty host is
// every address.
func isIP(host string) bool {
	_, err := netip.ParseAddr(host)
	return host == "" || err == nil
}

// isLoopbackName reports whether host can only mean this machine.
func isLoopbackName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
