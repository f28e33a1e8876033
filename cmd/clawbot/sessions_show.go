package main

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"clawbot/agentcore"
	"clawbot/config"
	"clawbot/gateway"
	"clawbot/gateway/budget"
	"clawbot/store"
)

// readPage is how many entries are read at once, so that a long transcript is
// never in memory whole.
const readPage = 200

func newSessionsShow(io streams, loader func() *config.Loader) *cobra.Command {
	var last int64
	var full bool
	var wire string
	cmd := &cobra.Command{
		Use:   "show SESSION",
		Short: "Show a conversation: who said what, tool calls, times and tokens",
		Long: "Show a conversation: who said what, with tool calls, times and tokens. SESSION may be the beginning of a name\n" +
			"that only one has. Long results are cut; --full shows them whole. --wire shows the requests that led to one of the\n" +
			"model's messages, and the raw answers, without secrets; they are kept while log.wire is true.",
		Example: "  clawbot sessions show telegram:4711:1 --last 20\n  clawbot sessions show telegram:4711:1 --wire 12",
		Args:    one("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return beside(cmd.Context(), io, loader(), func(cfg *config.Config, s store.Store) error {
				info, err := find(cmd.Context(), s, args[0])
				if err != nil {
					return err
				}
				if wire != "" {
					return showWire(cmd.Context(), &writeAll{w: io.out}, cfg, s, info.Session, wire)
				}
				v := &view{writeAll: writeAll{w: io.out}, full: full}
				v.printf("%s  %d entries, %s, last active %s\n", info.Session, info.Tail, stateOf(info), info.LastActive.Local().Format(time.DateTime))
				from := int64(0)
				if last > 0 {
					from = max(info.Tail-last, 0)
				}
				for h, err := range history(cmd.Context(), s, info.Session, from) {
					if err != nil {
						return err
					}
					v.entry(h)
				}
				v.printf("\n%d model calls, input %d, cached %d, output %d tokens%s\n", v.turns, v.usage.Input+v.usage.CacheWrite, v.usage.CacheRead, v.usage.Output, costs(v.usage, ", "))
				return v.err
			})
		},
	}
	cmd.Flags().Int64Var(&last, "last", 0, "show the last `N` entries only")
	cmd.Flags().StringVar(&wire, "wire", "", "show the requests and raw answers of the model's message number `TURN`, or of the last")
	cmd.Flags().BoolVar(&full, "full", false, "show arguments and results whole")
	return cmd
}

// history ranges over a session's entries from a position on.
func history(ctx context.Context, s store.Store, session string, from int64) iter.Seq2[gateway.History, error] {
	return func(yield func(gateway.History, error) bool) {
		for {
			page, err := gateway.ReadTranscript(ctx, s, session, from, readPage)
			if err != nil {
				yield(gateway.History{}, err)
				return
			}
			for _, h := range page {
				if !yield(h, nil) {
					return
				}
				from = h.Position + 1
			}
			if len(page) == 0 {
				return
			}
		}
	}
}

// view renders a transcript for a terminal.
type view struct {
	writeAll
	full  bool
	turns int
	usage agentcore.Usage
	at    time.Time // of the entry before
}

func (v *view) entry(h gateway.History) {
	m := h.Message
	v.printf("\n#%d  %s  %s%s\n", h.Position, h.At.Local().Format(time.DateTime), speaker(h), v.facts(h))
	v.at = h.At
	if h.Kind == store.KindAssistant {
		v.turns++
		v.usage = v.usage.Add(m.Usage)
	}
	for _, block := range m.Content {
		switch b := block.(type) {
		case agentcore.Text:
			v.text(b.Text, h.Kind == store.KindToolResult)
		case agentcore.Thinking:
			v.text("(thinking) "+b.Text, true)
		case agentcore.ToolCall:
			v.printf("    → %s %s\n", b.Name, v.cut(oneLine(string(b.Arguments))))
		default:
			v.printf("    [%s]\n", strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", b), "agentcore.")))
		}
	}
	if m.Error != nil {
		v.text("error: "+m.Error.Error(), false)
	}
}

// speaker says whose entry it is.
func speaker(h gateway.History) string {
	switch h.Kind {
	case store.KindUser:
		id := h.Sender.ID
		if !strings.Contains(id, ":") {
			id = h.Channel + ":" + id
		}
		return cmp.Or(oneLine(h.Sender.Name), "user") + " (" + id + ")"
	case store.KindAssistant:
		return cmp.Or(h.Message.Model.String(), "assistant")
	case store.KindToolResult:
		if h.Message.IsError {
			return h.Message.ToolName + " failed"
		}
		return h.Message.ToolName + " returned"
	case store.KindSummary:
		return "summary"
	default:
		return "note"
	}
}

// facts are the time that an entry took and what it cost.
func (v *view) facts(h gateway.History) string {
	out := ""
	if h.Kind == store.KindAssistant || h.Kind == store.KindToolResult {
		if took := h.At.Sub(v.at); !v.at.IsZero() && took >= 0 {
			out += fmt.Sprintf("  %.1fs", took.Seconds())
		}
	}
	if h.Kind == store.KindAssistant {
		u := h.Message.Usage
		out += fmt.Sprintf("  stop=%s in=%d cached=%d out=%d%s", h.Message.Stop, u.Input+u.CacheWrite, u.CacheRead, u.Output, costs(u, "  "))
	}
	return out
}

// costs is what a usage cost, after a separator; nothing where that was not
// counted.
func costs(u agentcore.Usage, separator string) string {
	if u.Cost == 0 {
		return ""
	}
	return separator + budget.Dollars(u.Cost)
}

// text prints an indented text, whole unless it may be cut.
func (v *view) text(text string, mayCut bool) {
	if mayCut {
		text = v.cut(text)
	}
	for line := range strings.Lines(printable(strings.TrimRight(text, "\n"))) {
		v.printf("    %s\n", strings.TrimRight(line, "\n"))
	}
}

const viewLimit = 600

func (v *view) cut(text string) string {
	if v.full || len(text) <= viewLimit {
		return text
	}
	return strings.ToValidUTF8(text[:viewLimit], "") + fmt.Sprintf("… (%d bytes more, see --full)", len(text)-viewLimit)
}

func oneLine(s string) string { return strings.Join(strings.Fields(printable(s)), " ") }

// printable takes out what would control the terminal: messages are other
// people's texts.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, s)
}
