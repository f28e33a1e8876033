package slack

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"clawbot/agentcore"
	"clawbot/channels"
)

const (
	// streamEvery is the pace of appending, and appendEvery that of all streams
	// together: chat.appendStream takes a hundred calls a minute in a workspace.
	streamEvery = 700 * time.Millisecond
	appendEvery = 650 * time.Millisecond
	// Slack ends a stream five minutes after it began. From streamUntil on, text
	// had better begin a new one; at streamMost this one is ended.
	streamUntil = 4 * time.Minute
	streamMost  = 4*time.Minute + 40*time.Second
	// streamIdle is when a stream that nothing is added to is ended, before Slack
	// does so and marks the message as failed.
	streamIdle = 25 * time.Second
	// streamText is how much a stream takes in UTF-16 units, steps included;
	// teams measured 12,000 characters.
	streamText = 11_500
	// maxStep is the longest title of a step.
	maxStep = 250
)

var _ channels.Streamer = (*Channel)(nil)

// stream is a message that Slack lets grow. Slack calls it so from
// chat.startStream to chat.stopStream, see
// https://docs.slack.dev/reference/methods/chat.startStream; meanwhile
// chat.update refuses it. What is sent can't be taken back: a state that does
// not continue the one before ends the stream and goes on by chat.update, and so
// does everything that Slack refuses.
type stream struct {
	key   string // in streams
	ts    string
	nonce string
	begun time.Time

	busy    chan struct{} // holds one while a call is under way
	sent    string        // what Slack has of the text
	steps   int           // of work that were shown; the last one is step
	step    string        // the title of what goes on; empty if nothing does
	extra   int           // UTF-16 units of the steps
	unsure  bool          // an answer was lost: it may show more than sent
	touched time.Time     // of the last call
}

// Stream reports whether a message grows natively.
func (c *Channel) Stream(to channels.Target, id string) (channels.Stream, bool) {
	s, open := c.streams.share(to, id)
	if s == nil {
		return channels.Stream{}, false
	}
	return channels.Stream{Every: max(streamEvery, time.Duration(open)*appendEvery), Until: s.begun.Add(streamUntil)}, true
}

// begin posts a draft as a stream. It reports false if the message is to be
// posted as usual: there is nothing to show yet, or Slack does not take it.
func (c *Channel) begin(ctx context.Context, to channels.Target, out channels.Outgoing, m *content) (string, bool, error) {
	if !c.streamable(to, out) {
		return "", false, nil
	}
	s := &stream{nonce: out.Nonce, busy: make(chan struct{}, 1)}
	text, step := growing(out.Markdown, m.body), statusLine(out.Status)
	if text == "" && step == "" || !c.streams.reserve(to, time.Now()) {
		return "", false, nil
	}
	defer c.streams.release(to)
	err := c.call(ctx, draftTimeout, "chat.startStream", func(ctx context.Context) (err error) {
		more := append(s.more(text, step), slack.MsgOptionTS(to.Thread), slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl())
		if !to.Direct {
			more = append(more, slack.MsgOptionRecipientUserID(to.User), slack.MsgOptionRecipientTeamID(c.team(to.User)))
		}
		_, s.ts, err = c.api.StartStreamContext(ctx, to.Chat, more...)
		return err
	})
	switch {
	case err == nil:
		s.note(text, step)
		s.begun = s.touched
		c.streams.add(to, s)
		c.signs.gone(to)
		return s.ts, true, nil
	case channels.OutcomeOf(err) == channels.Unknown, reason(err) == channels.ReasonAuth:
		return "", true, err
	case channels.OutcomeOf(err) == channels.RateLimited:
		c.streams.pauseFor(err)
		return "", false, nil
	case is(err, "unknown_method", "missing_scope", "feature_not_enabled", "not_allowed_token_type", "invalid_chunks"):
		c.streams.bar("")
		agentcore.LoggerOf(ctx, c.log).Info("slack has no native streams here; answers are edited instead", "error", err)
	default:
		c.streams.bar(to.Chat)
		agentcore.LoggerOf(ctx, c.log).Debug("no native stream in this channel for a while", "conversation", to.Conversation, "error", err)
	}
	return "", false, nil
}

// streamable tells whether a message may be a stream: a draft in a thread, for a
// known person, that nobody has to press buttons in.
func (c *Channel) streamable(to channels.Target, out channels.Outgoing) bool {
	return !c.cfg.NoStreams && out.Draft && !out.Private && len(out.Buttons) == 0 && out.Nonce != "" &&
		to.Thread != "" && (to.Direct || to.User != "") && c.me.Load() != nil
}

// grow shows the next state in a stream. It reports false when the stream has
// ended and the state is still to be shown by an update.
func (c *Channel) grow(ctx context.Context, to channels.Target, s *stream, out channels.Outgoing, m *content) (bool, error) {
	if err := s.acquire(ctx); err != nil {
		return true, err
	}
	defer s.release()
	if !out.Draft {
		return c.finish(ctx, to, s, out, m)
	}
	text, step := growing(out.Markdown, m.body), statusLine(out.Status)
	rest, fits := strings.CutPrefix(text, s.sent)
	if strings.HasPrefix(s.sent, text) {
		rest, fits = "", true // not all of what is shown is certain to stay, but no more is
	}
	if s.unsure || !fits || len(out.Buttons) > 0 || time.Since(s.begun) > streamMost || m.length+s.extra+2*maxStep > streamText {
		return false, c.seal(ctx, to, s)
	}
	if rest == "" && step == s.step {
		return true, nil
	}
	err := c.call(ctx, draftTimeout, "chat.appendStream", func(ctx context.Context) error {
		_, _, err := c.api.AppendStreamContext(ctx, to.Chat, s.ts, s.more(rest, step)...)
		return err
	})
	switch {
	case err == nil:
		s.note(rest, step)
		return true, nil
	case channels.OutcomeOf(err) == channels.Unknown:
		s.unsure = true
		return true, err
	case passedOn(err):
		return true, err
	case is(err, "message_not_in_streaming_state"):
		c.streams.drop(s)
		return false, nil
	}
	return false, c.seal(ctx, to, s)
}

// finish ends a stream with the final text. Where that is not what would come
// of appending, the text is still to be shown by an update.
func (c *Channel) finish(ctx context.Context, to channels.Target, s *stream, out channels.Outgoing, m *content) (bool, error) {
	rest, fits := strings.CutPrefix(m.body, s.sent)
	if s.unsure || !fits || s.steps > 0 || out.Status != "" || len(out.Buttons) > 0 || m.length > streamText || m.body == "" {
		return false, c.seal(ctx, to, s)
	}
	err := c.stop(ctx, to, s.ts, s.nonce, rest)
	switch {
	case err == nil:
		c.streams.drop(s)
		return true, nil
	case channels.OutcomeOf(err) == channels.Unknown:
		s.unsure = true
		return true, err
	case is(err, "message_not_in_streaming_state"):
		c.streams.drop(s)
		return false, nil
	case passedOn(err):
		return true, err
	}
	return false, c.seal(ctx, to, s)
}

// passedOn tells failures that an update would have as well, or that wait.
func passedOn(err error) bool {
	why := reason(err)
	return channels.OutcomeOf(err) == channels.RateLimited || is(err, "message_not_found") || why == channels.ReasonForbidden || why == channels.ReasonAuth
}

// seal ends a stream as it is, so that an update is taken. It fails only if that
// may still come to pass.
func (c *Channel) seal(ctx context.Context, to channels.Target, s *stream) error {
	err := c.stop(ctx, to, s.ts, s.nonce, "")
	if err == nil || channels.OutcomeOf(err) == channels.Rejected {
		c.streams.drop(s)
		return nil
	}
	s.unsure = true
	return err
}

// stop calls chat.stopStream, which gives the message its nonce: nothing else
// about streams takes metadata.
func (c *Channel) stop(ctx context.Context, to channels.Target, ts, nonce, rest string) error {
	var more []slack.MsgOption
	if rest != "" {
		more = append(more, slack.MsgOptionMarkdownText(rest))
	}
	more = append(more, marked(nonce))
	return c.call(ctx, finalTimeout, "chat.stopStream", func(ctx context.Context) error {
		_, _, err := c.api.StopStreamContext(ctx, to.Chat, ts, more...)
		return err
	})
}

// restStreams ends the streams of a thread that nothing was added to for long.
// It reports whether one is open.
func (c *Channel) restStreams(ctx context.Context, to channels.Target) (open bool) {
	open = c.streams.beginning(to)
	for _, s := range c.streams.in(to) {
		if !s.idle() {
			open = true
			continue
		}
		if err := c.seal(ctx, to, s); err != nil {
			open = true
			c.log.Debug("an idle stream stays open", "conversation", to.Conversation, "error", err)
		}
		s.release()
	}
	return open
}

// acquire waits for its turn to make a call; release ends it.
func (s *stream) acquire(ctx context.Context) error {
	select {
	case s.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &channels.SendError{Outcome: channels.RateLimited, RetryAfter: connectAgain, Err: ctx.Err()}
	}
}

func (s *stream) release() { <-s.busy }

// idle reports whether nothing was added for long, and then has acquired the
// stream.
func (s *stream) idle() bool {
	select {
	case s.busy <- struct{}{}:
	default:
		return false
	}
	if time.Since(s.touched) >= streamIdle {
		return true
	}
	s.release()
	return false
}

// more is the arguments that add text, and what is being worked on as a step.
// The final takes the steps away.
func (s *stream) more(text, step string) []slack.MsgOption {
	var chunks []slack.StreamChunk
	if s.step != "" && step != s.step {
		chunks = append(chunks, s.chunk(s.steps, s.step, slack.TaskCardStatusComplete))
	}
	if text != "" {
		chunks = append(chunks, slack.NewMarkdownTextChunk(text))
	}
	if step != "" && step != s.step {
		chunks = append(chunks, s.chunk(s.steps+1, step, slack.TaskCardStatusInProgress))
	}
	if len(chunks) == 1 && text != "" {
		return []slack.MsgOption{slack.MsgOptionMarkdownText(text)}
	}
	return []slack.MsgOption{slack.MsgOptionChunks(chunks...)}
}

// chunk is the nth step.
func (s *stream) chunk(n int, title string, status slack.TaskCardStatus) slack.StreamChunk {
	chunk := slack.NewTaskUpdateChunk(fmt.Sprint("step-", n), clip(title, maxStep))
	chunk.Status = status
	return chunk
}

// note records what Slack was given.
func (s *stream) note(text, step string) {
	s.sent += text
	if step != "" && step != s.step {
		s.steps++
		s.extra += maxStep
	}
	s.step, s.touched = step, time.Now()
}
