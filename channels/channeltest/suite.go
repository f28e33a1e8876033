package channeltest

import (
	"context"
	"testing"
	"time"

	"clawbot/channels"
)

// Platform is a fake as the suite drives it: the same acts on every platform.
// Places are numbers; the same number is the same conversation.
type Platform interface {
	// Direct has a person write to the bot alone and returns the message's id.
	Direct(person int, text string) string
	// Room has a person write in a room. If mention is set, the message begins
	// with a mention of the bot in the platform's own form.
	Room(room, person int, text string, mention bool) string
	// Thread has a person mention the bot in a thread of a room.
	Thread(room, thread, person int, text string) string
	// EditDirect has a person change a message of theirs.
	EditDirect(person int, id, text string)
	// Press has a person press a button of a message of the bot.
	Press(to channels.Target, person int, id, data string)
	// RedeliverAll delivers everything once more that the bot has confirmed.
	RedeliverAll()
	// Shown returns the bot's messages in the target, thread by thread as a
	// person sees them.
	Shown(to channels.Target) []Shown
	// Remove deletes a message of the bot behind its back.
	Remove(to channels.Target, id string)
	// Expel removes the bot from the target.
	Expel(to channels.Target)
	// FailPost and FailEdit plan a fault for the next call of that sort.
	FailPost(f Fault)
	FailEdit(f Fault)
	// WaitReady waits until the bot receives; WaitConfirmed until it has
	// confirmed everything that was delivered.
	WaitReady(ctx context.Context) error
	WaitConfirmed(ctx context.Context) error
	// Refusals are the errors that the platform answered with, in its words.
	Refusals() []string
}

// Shown is a message of the bot as a person sees it.
type Shown struct {
	ID      string
	Text    string // without markup
	Buttons int
	Edits   int
}

// Options tells the suite how to start an adapter, and how its platform
// differs.
type Options struct {
	// New starts a fake and an adapter on it. Both live until the test ends.
	New func(t *testing.T) (channels.Channel, Platform)
	// NoThreads: the platform has no threads in rooms.
	NoThreads bool
	// NoButtons: messages have no buttons.
	NoButtons bool
	// TooLongIsCut: the platform cuts over-long text instead of refusing it.
	TooLongIsCut bool
	// EditsSilently: editing a message to what it says already is not told
	// apart from a change, so Edits may grow.
	EditsSilently bool
}

// patience bounds every wait of the suite. It decides nothing unless something
// is broken.
const patience = 30 * time.Second

// bench is one adapter on one fake.
type bench struct {
	Platform
	t       *testing.T
	ctx     context.Context
	channel channels.Channel
	host    *Host
	stop    func() error
}

// Run runs the suite. Every adapter passes it.
func Run(t *testing.T, o Options) {
	t.Run("receiving", func(t *testing.T) { runReceiving(t, o) })
	t.Run("sending", func(t *testing.T) { runSending(t, o) })
	t.Run("failing", func(t *testing.T) { runFailing(t, o) })
}

func (o Options) idle(t *testing.T) *bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	channel, platform := o.New(t)
	return &bench{Platform: platform, t: t, ctx: ctx, channel: channel, host: NewHost()}
}

// start is an adapter that receives.
func (o Options) start(t *testing.T) *bench {
	t.Helper()
	b := o.idle(t)
	b.receive()
	return b
}

func (b *bench) receive() {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	go func() { done <- b.channel.Receive(ctx, b.host) }()
	stopped := false
	b.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-done
	}
	b.t.Cleanup(func() { _ = b.stop() })
	if err := b.WaitReady(b.ctx); err != nil {
		b.t.Fatal("the adapter does not receive:", err)
	}
}

// next waits for the event with this text.
func (b *bench) next(text string) channels.Inbound {
	b.t.Helper()
	in, err := b.host.WaitText(b.ctx, text)
	if err != nil {
		b.t.Fatalf("no event with %q arrived: %v; there are %+v", text, err, b.host.Events())
	}
	return in
}

// direct opens a conversation and returns where to answer.
func (b *bench) direct() channels.Target {
	b.t.Helper()
	b.Direct(1, "good day")
	return b.next("good day").Target
}

func (b *bench) post(to channels.Target, markdown string) string {
	b.t.Helper()
	id, err := b.channel.Post(b.ctx, to, channels.Outgoing{Markdown: markdown})
	if err != nil || id == "" {
		b.t.Fatalf("post %.80q: id %q, %v", markdown, id, err)
	}
	return id
}

// shown returns the one message of the target.
func (b *bench) shown(to channels.Target) Shown {
	b.t.Helper()
	all := b.Shown(to)
	if len(all) != 1 {
		b.t.Fatalf("there are %d messages, want 1: %+v", len(all), all)
	}
	return all[0]
}
