package web

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"clawbot/channels"
)

// Name is the channel's name, and what its session ids begin with.
const Name = "web"

const prefix = Name + ":"

// sweepEvery is how often idle hubs are looked for.
const sweepEvery = time.Minute

// Channel is the page. Make it with [New].
type Channel struct {
	cfg    Config
	log    *slog.Logger
	mux    *http.ServeMux
	titles titles

	mu       sync.Mutex
	host     channels.Host
	begun    chan struct{} // closed while host is set
	hubs     map[string]*hub
	streams  int
	commands []channels.Command
}

// What the page can do beside the contract.
var (
	_ channels.Channel   = (*Channel)(nil)
	_ channels.Live      = (*Channel)(nil)
	_ channels.Handler   = (*Channel)(nil)
	_ channels.Buttons   = (*Channel)(nil)
	_ channels.Commander = (*Channel)(nil)
)

// New makes the channel. Its handler answers before [Channel.Receive] has
// begun, but takes messages only after.
func New(cfg Config) (*Channel, error) {
	if cfg.Transcripts == nil {
		return nil, errors.New("web: Config.Transcripts is missing")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Channel{cfg: cfg, log: cfg.Logger, begun: make(chan struct{}), hubs: map[string]*hub{}}
	c.mux = c.routes()
	return c, nil
}

// Name returns "web".
func (c *Channel) Name() string { return Name }

// LiveEvents says that the page draws runs itself.
func (c *Channel) LiveEvents() {}

// ButtonLimit is what fits below a notice.
func (c *Channel) ButtonLimit() (rows, perRow int) { return 8, 4 }

// Handler serves everything below "/".
func (c *Channel) Handler() (string, http.Handler) { return "/", c.mux }

// RegisterCommands lets the page offer the commands while a person types.
func (c *Channel) RegisterCommands(_ context.Context, commands []channels.Command) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commands = append([]channels.Command(nil), commands...)
	return nil
}

// Receive takes messages from the page until ctx ends, and then ends its event
// streams.
func (c *Channel) Receive(ctx context.Context, host channels.Host) error {
	c.mu.Lock()
	c.host = host
	close(c.begun)
	c.mu.Unlock()
	defer c.end()

	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-sweep.C:
			c.sweep(now)
		}
	}
}

func (c *Channel) end() {
	c.mu.Lock()
	hubs := c.hubs
	c.hubs = map[string]*hub{}
	c.host = nil
	c.begun = make(chan struct{})
	c.mu.Unlock()
	for _, h := range hubs {
		h.close()
	}
}

// current returns the host, waiting a moment for Receive to begin.
func (c *Channel) current(ctx context.Context) (channels.Host, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for {
		c.mu.Lock()
		host, begun := c.host, c.begun
		c.mu.Unlock()
		if host != nil {
			return host, nil
		}
		select {
		case <-begun:
		case <-ctx.Done():
			return nil, errStarting
		}
	}
}

// sessionOf returns the session of a conversation, false if the id is none.
func sessionOf(conversation string) (string, bool) {
	return prefix + conversation, validID(conversation)
}

// validID takes what a page or program may choose as an id: 1 to 64 letters,
// digits, hyphens and underscores.
func validID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	return strings.IndexFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) < 0
}

// newID returns 26 random letters and digits.
func newID() string { return strings.ToLower(rand.Text()) }
