package admin

import (
	"context"
	"io"
	"log/slog"
	"time"

	"clawbot/config"
	"clawbot/gateway"
	"clawbot/internal/logring"
	"clawbot/store"
)

// Config of the page. Store and Gateway are required; what is nil among the
// others has no view.
type Config struct {
	Store   store.Store
	Gateway *gateway.Gateway
	// Channel is the channel that operators act as; default "web".
	Channel string
	// Tools lists the tools as somebody sees them.
	Tools func(ctx context.Context, who Audience) ([]Tool, error)
	// Settings are the configuration as it holds, without secrets.
	Settings func() []config.Setting
	// Log has the latest lines of this process's log.
	Log *logring.Ring
	// Exports write a session, by format: "jsonl", "markdown".
	Exports map[string]Export
	// Spend reads what models cost; Caps are the limits that hold.
	Spend Spending
	Caps  func() Caps
	// Info is what the page tells of the bot.
	Info Info
	// Answers tells the bot's name and its model where they may change while it
	// runs; nil: they are Info's.
	Answers func() (name, model string)
	// Shared is set when other processes may share the store; then they are
	// asked how they are.
	Shared bool
	Logger *slog.Logger // default: discard
}

// Info describes the bot. It holds no secret.
type Info struct {
	Name    string `json:"name"`
	Model   string `json:"model,omitempty"`
	Store   string `json:"store,omitempty"`
	Version string `json:"version,omitempty"`
	// SignedIn offers to sign out.
	SignedIn bool `json:"signed_in,omitempty"`
	// Started is when this process began.
	Started time.Time `json:"started"`
}

// Export writes a session whole.
type Export func(ctx context.Context, w io.Writer, s store.Store, session string) error

// Audience is whom the tools are listed for.
type Audience struct {
	Guest   bool   // somebody who is no owner
	Role    string // a role of [tools.roles]
	Room    bool   // in a room, not in a direct conversation
	Channel string // "channel" or "channel:chat"
}

// Tool is one tool as it is listed.
type Tool struct {
	Name      string   `json:"name"`
	Visible   bool     `json:"visible"`
	Source    string   `json:"source"`
	Overrides []string `json:"overrides,omitempty"`
	Approval  string   `json:"approval,omitempty"`
	Hidden    []string `json:"hidden,omitempty"`
	// Deferred tools are not declared to the model, which finds them.
	Deferred bool `json:"deferred,omitempty"`
}
