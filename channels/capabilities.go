package channels

import (
	"context"
	"io"
	"net/http"
	"time"
)

// Exclusive channels are received by one process at a time: the host calls
// Receive while it holds the term named by Term, and ends its context when the
// term is lost.
type Exclusive interface {
	Term(ctx context.Context) (string, error)
}

// Typer shows that the bot is writing. The sign fades by itself; the caller
// repeats it every few seconds, as returned.
type Typer interface {
	Typing(ctx context.Context, to Target) (again int, err error)
}

// Reactor puts one reaction on a person's message; an empty emoji removes the
// bot's reactions.
type Reactor interface {
	React(ctx context.Context, to Target, messageID, emoji string) error
}

// Deleter removes a message of the bot.
type Deleter interface {
	Delete(ctx context.Context, to Target, id string) error
}

// Buttons is implemented by channels that render [Outgoing.Buttons].
type Buttons interface{ ButtonLimit() (rows, perRow int) }

// Threads starts a thread for a conversation that has none yet and returns the
// target to use from then on. It is idempotent per message.
type Threads interface {
	StartThread(ctx context.Context, to Target, title string) (Target, error)
}

// Prober finds out whether a message that was sent with this nonce arrived
// although the answer was lost; an empty id means that it did not.
type Prober interface {
	Probe(ctx context.Context, to Target, nonce string) (id string, err error)
}

// Streamer tells which messages of [Channel.Post] the platform itself lets grow:
// their drafts are appended to instead of edited. Whoever writes need not know,
// for Post and Edit take the same states as ever; it may keep another pace, and
// had better go on in a new message after a while.
type Streamer interface {
	// Stream reports false for a message that is edited as usual.
	Stream(to Target, id string) (Stream, bool)
}

// Stream is a message that grows natively.
type Stream struct {
	// Every is the least time between two writes to it.
	Every time.Duration
	// Until is when its growing comes to an end: text that comes later is better
	// shown in a message below.
	Until time.Time
}

// Opener finds the direct conversation with a person, so that the bot can write
// first. user is the platform's id. That it is found does not mean that the
// person takes messages: Post tells.
type Opener interface {
	OpenDirect(ctx context.Context, user string) (Target, error)
}

// Uploader sends a file.
type Uploader interface {
	Upload(ctx context.Context, to Target, name, mimeType string, r io.Reader) (id string, err error)
}

// Attachments fetches what an [Attachment] refers to. The caller closes.
type Attachments interface {
	Fetch(ctx context.Context, a Attachment) (io.ReadCloser, error)
}

// Commander registers the bot's commands with the platform.
type Commander interface {
	RegisterCommands(ctx context.Context, commands []Command) error
}

// Command is a command as people see it.
type Command struct{ Name, Description string }

// Handler is a channel with HTTP endpoints (a page, webhooks); the server
// mounts it under Pattern.
type Handler interface {
	Handler() (pattern string, handler http.Handler)
}

// Live channels draw the run's events themselves (see [LiveEvent]) and need no
// posted and edited replies; Post serves them only for notices.
type Live interface{ LiveEvents() }

// Health tells the last known trouble of receiving, nil if there is none, without
// asking the platform.
type Health interface {
	Health() error
}

// Checker reports the channel's health with a remedy, for readiness and doctor.
type Checker interface {
	Check(ctx context.Context) error
}
