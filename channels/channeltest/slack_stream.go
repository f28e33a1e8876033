package channeltest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	slackStreamText = 12_000          // characters of one stream
	slackStreamLife = 5 * time.Minute // after which Slack ends a stream by itself
	slackTaskText   = 256             // characters of a task's title
)

// slackStream is the state of a message that is written by appending.
type slackStream struct {
	started time.Time // zero once an update has replaced what was streamed
	touched time.Time
	open    bool
	text    string
	tasks   []slackTask
}

// slackTask is a step of work that a stream shows.
type slackTask struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Title  string `json:"title"`
	Text   string `json:"text"` // of a markdown_text chunk
	Status string `json:"status"`
}

func (st *slackStream) expired(now time.Time) bool {
	return now.Sub(st.started) > slackStreamLife || now.Sub(st.touched) > slackStreamLife
}

// shown is what a person sees: the text, and what is being worked on.
func (st *slackStream) shown() string {
	parts := []string{st.text}
	for _, task := range st.tasks {
		parts = append(parts, task.Title)
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}

// take reads what a call adds: markdown_text or chunks. It returns Slack's
// error code.
func (st *slackStream) take(req *slackCall, needed bool) string {
	text, raw := req.form.Get("markdown_text"), req.form.Get("chunks")
	var chunks []slackTask
	if raw != "" && json.Unmarshal([]byte(raw), &chunks) != nil {
		return "invalid_chunks"
	}
	if text != "" {
		chunks = append(chunks, slackTask{Type: "markdown_text", Text: text})
	}
	if len(chunks) == 0 && needed {
		return "no_text"
	}
	for _, c := range chunks {
		switch {
		case c.Type == "markdown_text" && c.Text != "":
			st.text += c.Text
		case c.Type == "task_update" && c.ID != "" && c.Title != "" && utf8.RuneCountInString(c.Title) <= slackTaskText &&
			slices.Contains([]string{"pending", "in_progress", "complete", "error"}, c.Status):
			if i := slices.IndexFunc(st.tasks, func(t slackTask) bool { return t.ID == c.ID }); i >= 0 {
				st.tasks[i] = c
			} else {
				st.tasks = append(slices.Clip(st.tasks), c)
			}
		default:
			return "invalid_chunks"
		}
	}
	if utf8.RuneCountInString(st.shown()) > slackStreamText {
		return "msg_too_long"
	}
	return ""
}

func (s *Slack) startStream(req *slackCall) (slackObject, string) {
	c, refusal := s.place(req, "channel")
	if refusal != "" {
		return nil, refusal
	}
	now := time.Now()
	stream := slackStream{started: now, touched: now, open: true}
	switch refusal = stream.take(req, true); {
	case s.noStreams.Load():
		return nil, "channel_type_not_supported"
	case req.form.Get("thread_ts") == "":
		return nil, "invalid_arguments"
	case c.kind != "im" && req.form.Get("recipient_user_id") == "":
		return nil, "missing_recipient_user_id"
	case c.kind != "im" && req.form.Get("recipient_team_id") == "":
		return nil, "missing_recipient_team_id"
	case refusal != "":
		return nil, refusal
	}
	c.mu.Lock()
	if refusal = c.thread(req.form.Get("thread_ts")); refusal != "" {
		c.mu.Unlock()
		return nil, refusal
	}
	m := &SlackMessage{TS: s.now(), User: s.cfg.BotUser, bot: true, Thread: req.form.Get("thread_ts"), stream: stream}
	m.Text = m.stream.text
	c.add(m)
	s.record(c, m)
	c.settle(m.Thread)
	wire := s.wire(m)
	c.mu.Unlock()
	s.echo(c, wire)
	return slackObject{"channel": c.id, "ts": m.TS}, ""
}

func (s *Slack) appendStream(req *slackCall) (slackObject, string) { return s.stream(req, false) }
func (s *Slack) stopStream(req *slackCall) (slackObject, string)   { return s.stream(req, true) }

func (s *Slack) stream(req *slackCall, end bool) (slackObject, string) {
	c, refusal := s.place(req, "channel")
	if refusal != "" {
		return nil, refusal
	}
	metadata, refusal := readMetadata(req)
	if refusal != "" {
		return nil, refusal
	}
	c.mu.Lock()
	m, now := c.messages[req.form.Get("ts")], time.Now()
	if refusal = m.streams(now); refusal == "" {
		next := m.stream
		next.tasks = slices.Clone(next.tasks)
		if refusal = next.take(req, !end); refusal == "" {
			next.touched, next.open = now, !end
			m.stream, m.Text = next, next.text
		}
	}
	if refusal != "" {
		c.mu.Unlock()
		return nil, refusal
	}
	before := s.wire(m)
	if end && metadata != nil {
		m.Metadata = metadata
	}
	s.record(c, m)
	after := s.wire(m)
	c.mu.Unlock()
	s.echoChange(c, before, after)
	return slackObject{"channel": c.id, "ts": m.TS}, ""
}

// streams tells why a message can't be added to.
func (m *SlackMessage) streams(now time.Time) string {
	switch {
	case m == nil || m.Deleted:
		return "message_not_found"
	case !m.bot:
		return "message_not_owned_by_app"
	case !m.stream.open || m.stream.expired(now):
		m.stream.open = false
		return "message_not_in_streaming_state"
	}
	return ""
}

// Streaming reports whether the message can still be added to.
func (m *SlackMessage) Streaming() bool { return m.stream.open }

// NoStreams has native streams refused from now on, or taken again.
func (s *Slack) NoStreams(refused bool) { s.noStreams.Store(refused) }

// ExpireStreams ends every open stream, as five minutes do.
func (s *Slack) ExpireStreams() { s.haltStreams("", "") }

// haltStreams ends the open streams of a thread; without a channel, of all. It
// returns their messages.
func (s *Slack) haltStreams(channel, thread string) (halted []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for id, c := range s.chats {
		c.mu.Lock()
		for _, m := range c.sent {
			if m.stream.open && (channel == "" || id == channel && m.Thread == thread) {
				m.stream.open = false
				halted = append(halted, m.TS)
			}
		}
		c.mu.Unlock()
	}
	return halted
}

// PressStop has a person press Slack's own stop button in an agent's thread,
// which ends the streams there.
func (s *Slack) PressStop(channel, user, thread string) {
	halted := s.haltStreams(channel, thread)
	s.Event(slackObject{
		"type": "agent_session_stopped", "channel": channel, "user": user, "thread_ts": thread, "event_ts": s.now(),
		"streaming_message_ts": append([]string{}, halted...),
	})
}
