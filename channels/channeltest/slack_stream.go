package channeltest

import (
	"time"
	"unicode/utf8"
)

const (
	slackStreamText = 12_000          // characters of one stream
	slackStreamLife = 5 * time.Minute // after which Slack ends a stream by itself
)

// slackStream is the state of a message that is written by appending.
type slackStream struct {
	started time.Time
	touched time.Time
	open    bool
	text    string
}

func (st *slackStream) expired(now time.Time) bool {
	return now.Sub(st.started) > slackStreamLife || now.Sub(st.touched) > slackStreamLife
}

func (s *Slack) startStream(req *slackCall) (slackObject, string) {
	c, refusal := s.place(req, "channel")
	if refusal != "" {
		return nil, refusal
	}
	text := req.form.Get("markdown_text")
	switch {
	case req.form.Get("thread_ts") == "":
		return nil, "invalid_arguments"
	case c.kind != "im" && req.form.Get("recipient_user_id") == "":
		return nil, "missing_recipient_user_id"
	case c.kind != "im" && req.form.Get("recipient_team_id") == "":
		return nil, "missing_recipient_team_id"
	case utf8.RuneCountInString(text) > slackStreamText:
		return nil, "msg_too_long"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if refusal = c.thread(req.form.Get("thread_ts")); refusal != "" {
		return nil, refusal
	}
	now := time.Now()
	m := &SlackMessage{
		TS: s.now(), User: s.cfg.BotUser, bot: true, Thread: req.form.Get("thread_ts"),
		stream: slackStream{started: now, touched: now, open: true, text: text},
	}
	c.add(m)
	s.record(c, m)
	return slackObject{"channel": c.id, "ts": m.TS}, ""
}

func (s *Slack) appendStream(req *slackCall) (slackObject, string) { return s.stream(req, false) }
func (s *Slack) stopStream(req *slackCall) (slackObject, string)   { return s.stream(req, true) }

func (s *Slack) stream(req *slackCall, end bool) (slackObject, string) {
	c, refusal := s.place(req, "channel")
	if refusal != "" {
		return nil, refusal
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m, now := c.messages[req.form.Get("ts")], time.Now()
	switch {
	case m == nil || m.Deleted:
		return nil, "message_not_found"
	case !m.bot:
		return nil, "message_not_owned_by_app"
	case !m.stream.open || m.stream.expired(now):
		m.stream.open = false
		return nil, "message_not_in_streaming_state"
	case utf8.RuneCountInString(m.stream.text)+utf8.RuneCountInString(req.form.Get("markdown_text")) > slackStreamText:
		return nil, "msg_too_long"
	}
	m.stream.text += req.form.Get("markdown_text")
	m.stream.touched, m.stream.open = now, !end
	s.record(c, m)
	return slackObject{"channel": c.id, "ts": m.TS}, ""
}

// ExpireStreams ends every open stream, as five minutes do.
func (s *Slack) ExpireStreams() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, c := range s.chats {
		c.mu.Lock()
		for _, m := range c.sent {
			m.stream.open = false
		}
		c.mu.Unlock()
	}
}
