package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"clawbot/config"
	"clawbot/internal/version"
)

// announce tells what is on, what is off and why, and where the page is.
func (b *bot) announce(w io.Writer) {
	var out strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&out, "  %-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&out, "%s %s\n", b.cfg.Agent.Name, version.Get().Version)
	if file := b.cfg.Origin.File; file != "" {
		line("config", "%s", file)
	} else {
		line("config", "none, so defaults and the environment (clawbot config init writes one)")
	}
	line("model", "%s", b.modelLine())
	line("store", "%s", storeLine(&b.cfg.Store))
	line("workspace", "%s", b.cfg.Tools.Workspace)
	if b.cfg.Channels.Web.Enabled {
		line("web", "on   %s", b.server.URL())
	} else {
		line("web", "off  channels.web.enabled is false (probes are on %s)", b.server.URL())
	}
	for _, p := range platforms() {
		line(p.name, "%s", platformLine(b.cfg, p))
	}
	_, _ = io.WriteString(w, out.String())
}

func (b *bot) modelLine() string {
	s := b.cfg.Agent.Model
	if len(b.cfg.Agent.Fallbacks) > 0 {
		s += ", then " + strings.Join(b.cfg.Agent.Fallbacks, ", ")
	}
	if b.found.Why != "" {
		s += " (" + b.found.Why + ")"
	}
	return s
}

func storeLine(cfg *config.Store) string {
	switch cfg.Driver {
	case "sqlite":
		return "sqlite " + cfg.Path
	case "memory":
		return "memory: everything is forgotten at the end"
	default:
		return cfg.Driver
	}
}

// platformLine says that a platform is on, or why it is off.
func platformLine(cfg *config.Config, p platform) string {
	accounts, configured := p.accounts(&cfg.Channels)
	switch {
	case len(accounts) > 0:
		return "on   " + strings.Join(accounts, ", ")
	case configured:
		return fmt.Sprintf("off  channels.%s.enabled is false", p.name)
	case cfg.Origin.File == "":
		return fmt.Sprintf("off  %s is not set", p.env)
	case os.Getenv(p.env) != "":
		return fmt.Sprintf("off  %s is set, but %s has no table [channels.%s]", p.env, cfg.Origin.File, p.name)
	default:
		return fmt.Sprintf("off  %s has no table [channels.%s]", cfg.Origin.File, p.name)
	}
}
