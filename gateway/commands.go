package gateway

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"clawbot/agentcore"
	"clawbot/channels"
)

// Commands are the commands that every channel has, for menus and /help.
func Commands() []channels.Command {
	return []channels.Command{
		{Name: "stop", Description: "Stop what I am doing"},
		{Name: "new", Description: "Start a new conversation; I forget this one"},
		{Name: "status", Description: "What I am doing, and with which model"},
		{Name: "help", Description: "What I am and which commands there are"},
	}
}

// verb is what a message asks of the bot itself.
type verb uint8

const (
	verbNone verb = iota // not a command: a message for the model
	verbStop
	verbReset
	verbStatus
	verbHelp
)

// parseCommand reads a command at the beginning of a text, after any emoji. A
// word that is no command of ours is left to the model.
func parseCommand(text string) verb {
	text = strings.TrimLeftFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.In(r, unicode.So, unicode.Sk, unicode.Mn, unicode.Me, unicode.Cf)
	})
	if !strings.HasPrefix(text, "/") {
		return verbNone
	}
	name := text[1:]
	if end := strings.IndexFunc(name, unicode.IsSpace); end >= 0 {
		name = name[:end]
	}
	name, _, _ = strings.Cut(name, "@")
	switch strings.ToLower(name) {
	case "stop":
		return verbStop
	case "new", "reset":
		return verbReset
	case "status":
		return verbStatus
	case "help", "start":
		return verbHelp
	}
	return verbNone
}

// answer replies to a reading command. It touches no lane, so that it works
// while everything else is busy.
func (h *host) answer(ctx context.Context, v verb, in channels.Inbound) {
	text := h.g.help(h.channel.Name())
	if v == verbStatus {
		text = h.g.status(ctx, in.Target.Conversation)
	}
	h.notice(ctx, in.Target, in.Sender, text)
}

func (g *Gateway) help(channel string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "I am **%s**. Write to me as to a person. You may write again while I work: ", g.cfg.Agent.Name)
	switch g.cfg.queueMode(channel) {
	case ModeSteer:
		b.WriteString("I take it into account at my next step.\n")
	case ModeInterrupt:
		b.WriteString("I drop what I am doing and turn to it.\n")
	default:
		b.WriteString("I turn to it when I am done.\n")
	}
	for _, c := range Commands() {
		fmt.Fprintf(&b, "\n- `/%s`: %s", c.Name, c.Description)
	}
	return b.String()
}

func (g *Gateway) status(ctx context.Context, session string) string {
	var b strings.Builder
	working := g.dispatch.working(session)
	info, err := g.sessionInfo(ctx, session)
	switch {
	case working > 0:
		fmt.Fprintf(&b, "Working for %s", working.Round(time.Second))
	case err == nil && info.Owner != "":
		b.WriteString("Working")
	default:
		b.WriteString("Idle")
	}
	if info.Waiting > 0 {
		fmt.Fprintf(&b, ", %d waiting", info.Waiting)
	}
	b.WriteString(".")
	if d, ok := g.cfg.Model.(agentcore.Describer); ok {
		model := d.Info()
		fmt.Fprintf(&b, "\nModel: %s", model.Ref)
		if tokens := g.cache.tokens(session); tokens > 0 {
			fmt.Fprintf(&b, "\nContext: %d tokens", tokens)
			if model.Window > 0 {
				fmt.Fprintf(&b, " of %d", model.Window)
			}
		}
	}
	if err == nil {
		fmt.Fprintf(&b, "\nHistory: %d entries", info.Tail)
	}
	return b.String()
}
