package channels

import (
	"context"
	"time"
)

// Channel is one bot account on one platform. All methods are safe for
// concurrent use.
type Channel interface {
	// Name is the channel's name in configuration and session ids: "telegram",
	// or "telegram.work" for a named account.
	Name() string
	// Receive delivers events to host until ctx ends, reconnecting as needed.
	// It returns nil when ctx ended and an error only for what no retry mends,
	// with the remedy in it (a revoked token, say).
	Receive(ctx context.Context, host Host) error
	// Post sends a new message and returns its id. Errors are *[SendError].
	Post(ctx context.Context, to Target, out Outgoing) (string, error)
	// Edit replaces the message's content. A message that already reads so is
	// a success.
	Edit(ctx context.Context, to Target, id string, out Outgoing) error
	// Limits tells what the platform takes in that conversation.
	Limits(to Target) Limits
}

// Host is what a channel may ask of the bot.
type Host interface {
	// Accept takes an event. When it returns nil the event is durable, or was
	// refused on purpose; the adapter acknowledges it to the platform. On an
	// error it must not acknowledge, so that the platform delivers again.
	Accept(ctx context.Context, in Inbound) error
	// Get and Put keep the adapter's own state: a poll offset, resume data. In
	// an [Exclusive] channel they are fenced: Put fails once another process
	// has taken over. Get returns nil, nil for a key never put.
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte) error
	// Publish and Subscribe reach the same channel on every replica. Both are
	// hints: a message may be lost. fn is called in order, from one goroutine,
	// and must not block; cancel waits for a running fn.
	Publish(ctx context.Context, topic string, data []byte) error
	Subscribe(topic string, fn func(topic string, data []byte)) (cancel func(), err error)
}

// Target is where to send: the platform's own ids, as the adapter made them.
type Target struct {
	// Conversation is the session id, for logs and limits.
	Conversation string `json:"conversation"`
	// Chat is the platform's chat, channel or room.
	Chat string `json:"chat"`
	// Thread within the chat; empty if none.
	Thread string `json:"thread,omitempty"`
	// ReplyTo is a message to refer to; empty if none.
	ReplyTo string `json:"reply_to,omitempty"`
	// Direct conversations are between one person and the bot.
	Direct bool `json:"direct,omitempty"`
	// User is who the message is for, where a platform can show it to them
	// alone or needs to know; empty otherwise.
	User string `json:"user,omitempty"`
}

// Outgoing is what to show. Markdown is CommonMark with GFM tables; the adapter
// renders it.
type Outgoing struct {
	Markdown string
	// Draft marks a state that will be edited again: it may be dropped under
	// rate limits, and unfinished Markdown in it is repaired.
	Draft bool
	// Status is a line about work in progress, shown below the text.
	Status string
	// Private asks to show the message to Target.User alone where the platform
	// can.
	Private bool
	// Silent asks not to notify.
	Silent bool
	// Buttons are rows of actions, for platforms with [Buttons].
	Buttons [][]Button
	// Nonce, if set, is the same for every attempt to send this message and for
	// its edits: platforms refuse doubles by it, or let it be looked up. It comes
	// from [NewNonce].
	Nonce string
}

// Button is an action that a person can take with one click. A click arrives
// as an [Inbound] of kind Click with Data.
type Button struct {
	Label string
	Data  string // at most 64 bytes
	Style string // "", "primary", "danger"
}

// Limits of a platform in one conversation.
type Limits struct {
	// Text is the longest text, in the unit of Measure.
	Text int
	// Measure returns the length of the rendered Markdown in the platform's
	// unit, decoration included.
	Measure func(markdown string) int
	// FirstAfter is how long to gather text before the first draft is posted,
	// unless MinFirst characters came earlier.
	FirstAfter time.Duration
	MinFirst   int
	// EditEvery is the least time between two writes to one message.
	EditEvery time.Duration
	// PerMinute bounds all writes to the conversation; 0 is no bound.
	PerMinute int
	// NoDrafts says that only finished text may be posted here.
	NoDrafts bool
}

// Kind says what an [Inbound] is.
type Kind uint8

// The kinds of inbound events.
const (
	Message Kind = iota + 1
	Edit         // a person changed an earlier message
	Delete       // a person removed an earlier message
	Context      // overheard in a room, not addressed to the bot
	Click        // a button was pressed; Text is its data
)

// Inbound is one platform event, normalised.
type Inbound struct {
	Kind Kind
	// EventID is unique per event and equal for its redeliveries. An edit has
	// its own.
	EventID string
	// MessageID identifies the message: equal for twins of it and for its
	// edits.
	MessageID string
	// Target is where an answer goes; Target.Conversation is the session id, a
	// pure function of platform ids: "telegram:4711:-100123:7".
	Target Target
	Sender Sender
	// Addressed is set when the bot was meant: a direct message, a mention, a
	// reply to the bot, a command.
	Addressed bool
	// Continues is set in a thread that is one discussion, when the message is
	// not plainly for somebody else: it is meant for the bot if the bot takes
	// part in the thread.
	Continues bool
	// Text with any mention of the bot removed, Unicode kept as it came.
	Text        string
	Attachments []Attachment
	// Group is the same for messages that the platform shows as one, such as the
	// pictures of an album; empty for one that stands alone.
	Group string
	// Unfinished is set for a text that the platform probably cut: the rest
	// follows in a message of its own.
	Unfinished bool
	// Quote is the text of the message that this one replies to.
	Quote string
	// Guild is the server or workspace that the room belongs to; empty if the
	// platform has none.
	Guild string
	// RoomName is for people and prompts.
	RoomName string
	At       time.Time
}

// Sender is who wrote.
type Sender struct {
	ID   string `json:"id"`   // the platform's stable id, never a name
	Name string `json:"name"` // display name: untrusted text
	// Roles on the platform: "admin", "moderator", "member", role ids.
	Roles []string `json:"roles,omitempty"`
	Bot   bool     `json:"bot,omitempty"`
	// Since is when the account was made; zero where the platform does not tell.
	Since time.Time `json:"since,omitzero"`
}

// Attachment refers to a file that the holder of the session fetches through
// [Attachments].
type Attachment struct {
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
	MIMEType string `json:"mime,omitempty"`
	Size     int64  `json:"size,omitempty"` // bytes; 0 unknown
	Kind     string `json:"kind,omitempty"` // image, audio, voice, video, file
}
