package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/config"
	"clawbot/gateway"
	"clawbot/store"
)

func newSessionsExport(io streams, loader func() *config.Loader) *cobra.Command {
	var format, file string
	cmd := &cobra.Command{
		Use:   "export SESSION",
		Short: "Export a conversation as JSON Lines or Markdown",
		Long: "Export a conversation as JSON Lines, an entry a line with everything that is kept of it, or as Markdown for people.\n" +
			"It goes to stdout, or with --output to a new file that its owner alone can read.",
		Example: "  clawbot sessions export telegram:4711:1 > talk.jsonl\n  clawbot sessions export telegram:4711:1 --format markdown --output talk.md",
		Args:    one("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := map[string]exporter{"jsonl": exportJSONL, "markdown": exportMarkdown}[format]
			if !ok {
				return fmt.Errorf("--format %q is none of jsonl, markdown", format)
			}
			return beside(cmd.Context(), io, loader(), func(_ *config.Config, s store.Store) error {
				info, err := find(cmd.Context(), s, args[0])
				if err != nil {
					return err
				}
				if file == "" {
					return write(cmd.Context(), io.out, s, info.Session)
				}
				return toNewFile(file, func(f *os.File) error { return write(cmd.Context(), f, s, info.Session) })
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "jsonl", "`jsonl` or markdown")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this new `FILE`")
	return cmd
}

type exporter func(ctx context.Context, w io.Writer, s store.Store, session string) error

// toNewFile writes a file that must not exist yet, and leaves none behind if
// that fails.
func toNewFile(path string, write func(*os.File) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already and stays as it is; name another file", path)
	}
	if err != nil {
		return fmt.Errorf("write the export: %w; name a file that can be made", err)
	}
	if err = errors.Join(write(f), f.Close()); err != nil {
		_ = os.Remove(path) // half an export would pass for a whole one
		return fmt.Errorf("write the export: %w", err)
	}
	return nil
}

// exported is one line of an export.
type exported struct {
	Session  string             `json:"session"`
	Position int64              `json:"position"`
	Kind     string             `json:"kind"` // user, assistant, toolResult, summary, note
	At       time.Time          `json:"at"`
	Event    string             `json:"event,omitempty"`
	Channel  string             `json:"channel,omitempty"`
	Sender   *channels.Sender   `json:"sender,omitempty"`
	Message  *agentcore.Message `json:"message"`
}

func exportJSONL(ctx context.Context, w io.Writer, s store.Store, session string) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for h, err := range history(ctx, s, session, 0) {
		if err != nil {
			return err
		}
		line := exported{Session: session, Position: h.Position, Kind: string(entryKind(h.Kind)), At: h.At, Event: h.EventID, Channel: h.Channel, Message: h.Message}
		if h.Kind == store.KindUser {
			line.Sender = &h.Sender
		}
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func exportMarkdown(ctx context.Context, out io.Writer, s store.Store, session string) error {
	w := &writeAll{w: out}
	w.printf("# %s\n", session)
	for h, err := range history(ctx, s, session, 0) {
		if err != nil {
			return err
		}
		markdownEntry(w, h)
	}
	return w.err
}

func markdownEntry(w *writeAll, h gateway.History) {
	m := h.Message
	w.printf("\n## %s, %s\n", markdownName(speaker(h)), h.At.UTC().Format(time.DateTime+" MST"))
	for _, block := range m.Content {
		switch b := block.(type) {
		case agentcore.Text:
			if h.Kind == store.KindToolResult {
				w.printf("\n%s\n", fenced("", b.Text))
			} else if text := strings.TrimSpace(b.Text); text != "" {
				w.printf("\n%s\n", text)
			}
		case agentcore.ToolCall:
			w.printf("\n`%s`\n\n%s\n", b.Name, fenced("json", string(b.Arguments)))
		}
	}
	if m.Error != nil {
		w.printf("\n**Error:** %s\n", oneLine(m.Error.Error()))
	}
}

// markdownName keeps a display name from being anything but text.
func markdownName(s string) string {
	return strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "<", "\\<", "#", "\\#").Replace(s)
}

// fenced is a code block whose fence is longer than any in it.
func fenced(language, text string) string {
	longest := 0
	for run := 0; ; {
		i := strings.IndexByte(text[run:], '`')
		if i < 0 {
			break
		}
		run += i
		n := len(text[run:]) - len(strings.TrimLeft(text[run:], "`"))
		longest, run = max(longest, n), run+n
	}
	fence := strings.Repeat("`", max(3, longest+1))
	return fence + language + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}
