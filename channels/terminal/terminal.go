package terminal

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"unicode/utf8"

	"clawbot/channels"
)

// Name is the channel's name, and what its session ids begin with.
const Name = "terminal"

// User is the id of whoever sits at the terminal.
const User = "local"

// Config configures a [Channel]. The zero value reads nothing and writes
// nowhere.
type Config struct {
	// In is read line by line; nil is an input that has ended.
	In io.Reader
	// Out takes the answers, Err everything else; nil discards.
	Out, Err io.Writer
	// InTTY, OutTTY and ErrTTY say that these are terminals: then there is a
	// prompt, text appears as it grows and is cleared of control characters,
	// and tools are shown at work. Otherwise Out gets the exact text, appended
	// only.
	InTTY, OutTTY, ErrTTY bool
	// Color allows dimmed text on terminals.
	Color bool
	// Session is the conversation's id without the channel's name; default
	// [User]. Letters, digits, _ and -.
	Session string
	// Name is what the bot is called, for the greeting.
	Name string
	// Once, if not empty, is the only message.
	Once string
	// Verbose writes a line per turn to Err.
	Verbose bool
	// Interrupts are the person's Ctrl-Cs: the first stops the run, the second
	// ends the conversation.
	Interrupts <-chan struct{}
}

// Channel is the terminal. Make it with [New]; it receives once.
type Channel struct {
	cfg    Config
	events queue
	done   chan struct{}
	result error
}

var (
	_ channels.Channel = (*Channel)(nil)
	_ channels.Live    = (*Channel)(nil)
)

// ErrInterrupted is the result of a conversation that was ended by Ctrl-C.
var ErrInterrupted = errors.New("interrupted")

// New returns the channel.
func New(cfg Config) *Channel {
	if cfg.Out == nil {
		cfg.Out = io.Discard
	}
	if cfg.Err == nil {
		cfg.Err = io.Discard
	}
	if cfg.Session == "" {
		cfg.Session = User
	}
	if cfg.Name == "" {
		cfg.Name = "clawbot"
	}
	return &Channel{cfg: cfg, events: queue{ready: make(chan struct{}, 1)}, done: make(chan struct{})}
}

// Name returns "terminal".
func (c *Channel) Name() string { return Name }

// LiveEvents says that the terminal draws runs itself.
func (c *Channel) LiveEvents() {}

// Done is closed when the conversation is over: the input has ended and the
// last answer is written, or the person wants to go. Receive goes on until its
// context ends.
func (c *Channel) Done() <-chan struct{} { return c.done }

// Result says, once Done is closed, how it ended: nil, [ErrInterrupted], or why
// the one message of [Config.Once] got no whole answer.
func (c *Channel) Result() error { return c.result }

// Conversation is the session's id.
func (c *Channel) Conversation() string { return Name + ":" + c.cfg.Session }

// Limits has none: runs are drawn from live events.
func (c *Channel) Limits(channels.Target) channels.Limits {
	return channels.Limits{Text: math.MaxInt32, Measure: utf8.RuneCountInString}
}

// Post shows a notice.
func (c *Channel) Post(_ context.Context, _ channels.Target, out channels.Outgoing) (string, error) {
	return c.events.push(item{notice: out.Markdown}), nil
}

// Edit shows the notice again: what is written stays.
func (c *Channel) Edit(_ context.Context, _ channels.Target, _ string, out channels.Outgoing) error {
	c.events.push(item{notice: out.Markdown})
	return nil
}

// item is something to draw: a notice or a live event.
type item struct {
	notice string
	event  *channels.LiveEvent
}

// queue carries items to the goroutine that draws. It is unbounded, because
// neither the bus nor a notice may wait for a terminal.
type queue struct {
	mu     sync.Mutex
	items  []item
	posted int
	ready  chan struct{}
}

// push adds an item and returns an id for it.
func (q *queue) push(it item) string {
	q.mu.Lock()
	q.items = append(q.items, it)
	if it.event == nil {
		q.posted++
	}
	id := q.posted
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
	return idOf(id)
}

// take returns what waits.
func (q *queue) take() []item {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items = nil
	return items
}

// notices counts the notices so far.
func (q *queue) notices() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.posted
}
