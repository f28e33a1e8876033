package web

import (
	"context"
	"log/slog"
	"time"

	"clawbot/agentcore"
	"clawbot/internal/entryview"
)

// Config of the page. Transcripts is required.
type Config struct {
	Transcripts Transcripts
	// Info is what the page tells of the bot; nil for nothing but a name. It
	// is called per page load and may be called by several goroutines.
	Info   func() Info
	Logger *slog.Logger // default: discard
}

// Transcripts reads sessions, without a lease.
type Transcripts interface {
	// Sessions lists the sessions whose ids begin with prefix, the latest
	// active first, at most limit, those after the cursor; an empty next ends
	// the list.
	Sessions(ctx context.Context, prefix, after string, limit int) (list []Session, next string, err error)
	// Read returns up to limit entries from position from on, in order. An
	// unknown session has none.
	Read(ctx context.Context, session string, from int64, limit int) ([]Entry, error)
}

// Session describes one session.
type Session struct {
	ID string
	// Tail is the next transcript position.
	Tail int64
	// Running is set while somebody works on it.
	Running bool
	// Waiting messages in its inbox.
	Waiting    int
	LastActive time.Time
}

// EntryKind says what an entry of a transcript is.
type EntryKind = entryview.Kind

// The kinds of entries.
const (
	EntryUser       = entryview.User
	EntryAssistant  = entryview.Assistant
	EntryToolResult = entryview.ToolResult
	EntrySummary    = entryview.Summary
	EntryNote       = entryview.Note
)

// Entry is one position of a transcript, decoded.
type Entry struct {
	Position int64
	Kind     EntryKind
	At       time.Time
	// EventID is, of a user's message, the event it arrived as; empty if it is
	// not known any more.
	EventID string
	// Note is, of a note, what it tells: "stopped", "failed", "ended",
	// "resumed" or, for a mere remark, nothing.
	Note string
	// Message is what the entry holds: of a summary or note, its text. It is
	// not changed.
	Message *agentcore.Message
}

// Info describes the bot for the page. It holds no secret.
type Info struct {
	Name    string `json:"name"`
	Model   string `json:"model,omitempty"`
	Store   string `json:"store,omitempty"`
	Version string `json:"version,omitempty"`
	// Demo is set when the built-in demo model answers, so that the page
	// explains itself.
	Demo bool `json:"demo,omitempty"`
	// Labels are the tools' names for people, by name.
	Labels map[string]string `json:"labels,omitempty"`
	// SignedIn offers to sign out.
	SignedIn bool `json:"signed_in,omitempty"`
}
