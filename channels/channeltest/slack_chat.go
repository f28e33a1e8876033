package channeltest

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
)

// SlackMessage is a message in a channel.
type SlackMessage struct {
	TS      string
	Channel string
	User    string
	// Thread is the root's ts of a reply; empty for others.
	Thread string
	// Text is the text argument: for the bot's messages the fallback.
	Text   string
	Blocks []SlackBlock
	// Metadata as posted.
	Metadata json.RawMessage
	// OnlyFor is who alone sees an ephemeral message.
	OnlyFor string
	File    *File
	At      time.Time
	Deleted bool
	// History holds every state of the message, the first one included.
	History []SlackVersion

	bot       bool
	edited    string
	stream    slackStream
	reactions map[string]bool // of the bot
	files     []slackObject
}

// SlackVersion is one state of a message.
type SlackVersion struct {
	Shown string
	At    time.Time
}

// Shown is what a person sees: the blocks if there are any, else the text.
func (m *SlackMessage) Shown() string {
	if m.stream.started != (time.Time{}) {
		return m.stream.shown()
	}
	if len(m.Blocks) == 0 {
		return m.Text
	}
	var parts []string
	for _, b := range m.Blocks {
		if text := b.shown(); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// Buttons returns the message's buttons.
func (m *SlackMessage) Buttons() []SlackElement {
	var out []SlackElement
	for _, b := range m.Blocks {
		if b.Type == "actions" {
			out = append(out, b.Elements...)
		}
	}
	return out
}

// slackChannel is one conversation. Its lock is held for moments only.
type slackChannel struct {
	mu        sync.Mutex
	id        string
	name      string
	kind      string // channel, group, mpim, im
	barred    string // the error of every write
	messages  map[string]*SlackMessage
	sent      []*SlackMessage // all, in order
	hidden    []*SlackMessage // ephemeral
	statuses  []SlackStatus
	assistant slackAssistant
	changed   signal
}

// SlackStatus is a sign of work that the bot showed in a thread; an empty text
// took it away.
type SlackStatus struct {
	Thread, Text string
	At           time.Time
}

// channel finds a conversation by its id; with create it comes into being. D is
// direct, G a group conversation, others are public channels.
func (s *Slack) channel(id string, create bool) *slackChannel {
	s.mu.RLock()
	c := s.chats[id]
	s.mu.RUnlock()
	if c != nil || !create || id == "" {
		return c
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c = s.chats[id]; c != nil {
		return c
	}
	c = &slackChannel{id: id, kind: "channel", name: strings.ToLower(id), messages: map[string]*SlackMessage{}}
	switch id[0] {
	case 'D':
		c.kind = "im"
	case 'G':
		c.kind = "mpim"
	}
	s.chats[id] = c
	return c
}

// Bar makes every write to the channel fail with Slack's error code:
// not_in_channel, is_archived, channel_not_found. Empty takes it back.
func (s *Slack) Bar(channel, code string) {
	c := s.channel(channel, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.barred = code
}

// place finds the channel of a write and checks what holds for all.
func (s *Slack) place(req *slackCall, name string) (*slackChannel, string) {
	c := s.channel(req.form.Get(name), false)
	if c == nil {
		return nil, "channel_not_found"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c, c.barred
}

// add stores a message. c.mu is held.
func (c *slackChannel) add(m *SlackMessage) {
	m.Channel, m.At = c.id, time.Now()
	if m.OnlyFor != "" {
		c.hidden = append(c.hidden, m)
	} else {
		c.messages[m.TS] = m
		c.sent = append(c.sent, m)
	}
	c.changed.wake()
}

// thread checks a thread_ts. A reply's own ts is refused: threads have one
// level. c.mu is held.
func (c *slackChannel) thread(ts string) string {
	if ts == "" {
		return ""
	}
	root := c.messages[ts]
	switch {
	case root == nil || root.Deleted && !slices.ContainsFunc(c.sent, func(m *SlackMessage) bool { return m.Thread == ts }):
		return "thread_not_found"
	case root.Thread != "" && root.Thread != ts:
		return "cannot_reply_to_message"
	}
	return ""
}

// record adds the message's state to its history. c.mu is held.
func (s *Slack) record(c *slackChannel, m *SlackMessage) {
	if !s.cfg.Lean {
		m.History = append(m.History, SlackVersion{m.Shown(), time.Now()})
	}
	c.changed.wake()
}

func (s *Slack) postMessage(req *slackCall) (slackObject, string) {
	c, refusal := s.place(req, "channel")
	if refusal != "" {
		return nil, refusal
	}
	m, extra, refusal := s.compose(req, 40_000)
	if refusal != "" {
		return extra, refusal
	}
	c.mu.Lock()
	if refusal = c.thread(m.Thread); refusal != "" {
		c.mu.Unlock()
		return nil, refusal
	}
	m.TS = s.now()
	c.add(m)
	s.record(c, m)
	c.settle(m.Thread)
	wire := s.wire(m)
	c.mu.Unlock()
	s.echo(c, wire)
	return slackObject{"channel": c.id, "ts": m.TS, "message": wire}, ""
}

// settle takes the status of a thread away, as a reply does. c.mu is held.
func (c *slackChannel) settle(thread string) {
	if thread != "" && c.status(thread) != "" {
		c.statuses = append(c.statuses, SlackStatus{Thread: thread, At: time.Now()})
	}
}

func (c *slackChannel) status(thread string) string {
	for _, st := range slices.Backward(c.statuses) {
		if st.Thread == thread {
			return st.Text
		}
	}
	return ""
}

func (s *Slack) postEphemeral(req *slackCall) (slackObject, string) {
	c, refusal := s.place(req, "channel")
	if refusal != "" {
		return nil, refusal
	}
	user := req.form.Get("user")
	if user == "" {
		return nil, "user_not_found"
	}
	if s.person(user).Away {
		return nil, "user_not_in_channel"
	}
	m, extra, refusal := s.compose(req, 4000)
	if refusal != "" {
		return extra, refusal
	}
	m.OnlyFor, m.TS = user, s.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if refusal = c.thread(m.Thread); refusal != "" {
		return nil, refusal
	}
	c.add(m)
	return slackObject{"message_ts": m.TS}, ""
}

// compose reads and checks a message of the bot. Text over 40,000 characters is
// cut; over a lower limit it is refused.
func (s *Slack) compose(req *slackCall, limit int) (*SlackMessage, slackObject, string) {
	m := &SlackMessage{User: s.cfg.BotUser, bot: true, Text: req.form.Get("text"), Thread: req.form.Get("thread_ts")}
	if runes := []rune(m.Text); len(runes) > limit {
		if limit < 40_000 {
			return nil, nil, "msg_too_long"
		}
		m.Text = string(runes[:limit])
	}
	var why, refusal string
	if m.Blocks, why, refusal = checkBlocks(req.form.Get("blocks")); refusal != "" {
		return nil, slackObject{"response_metadata": slackObject{"messages": []string{why}}}, refusal
	}
	if m.Text == "" && len(m.Blocks) == 0 {
		return nil, nil, "no_text"
	}
	if m.Metadata, refusal = readMetadata(req); refusal != "" {
		return nil, nil, refusal
	}
	return m, nil, ""
}

// readMetadata reads and checks the metadata argument.
func readMetadata(req *slackCall) (json.RawMessage, string) {
	raw := req.form.Get("metadata")
	if raw == "" {
		return nil, ""
	}
	var meta struct {
		Type    string         `json:"event_type"`
		Payload map[string]any `json:"event_payload"`
	}
	if json.Unmarshal([]byte(raw), &meta) != nil || meta.Type == "" || meta.Payload == nil {
		return nil, "invalid_metadata_format"
	}
	return json.RawMessage(raw), ""
}

func (s *Slack) updateMessage(req *slackCall) (slackObject, string) {
	c, refusal := s.place(req, "channel")
	if refusal != "" {
		return nil, refusal
	}
	fresh, extra, refusal := s.compose(req, 4000)
	if refusal != "" {
		return extra, refusal
	}
	c.mu.Lock()
	m := c.messages[req.form.Get("ts")]
	switch {
	case m == nil || m.Deleted:
		c.mu.Unlock()
		return nil, "message_not_found"
	case !m.bot:
		c.mu.Unlock()
		return nil, "cant_update_message"
	case m.stream.open:
		c.mu.Unlock()
		return nil, "streaming_state_conflict"
	}
	before := s.wire(m)
	m.Text, m.stream = fresh.Text, slackStream{}
	if m.Blocks = fresh.Blocks; len(m.Blocks) == 0 {
		m.edited = s.now()
	}
	if fresh.Metadata != nil {
		m.Metadata = fresh.Metadata
	}
	s.record(c, m)
	after := s.wire(m)
	c.mu.Unlock()
	s.echoChange(c, before, after)
	return slackObject{"channel": c.id, "ts": m.TS, "text": fresh.Text, "message": after}, ""
}

func (s *Slack) deleteMessage(req *slackCall) (slackObject, string) {
	c, refusal := s.place(req, "channel")
	if refusal != "" {
		return nil, refusal
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.messages[req.form.Get("ts")]
	switch {
	case m == nil || m.Deleted:
		return nil, "message_not_found"
	case !m.bot, m.stream.open:
		return nil, "cant_delete_message"
	}
	m.Deleted = true
	c.changed.wake()
	return slackObject{"channel": c.id, "ts": m.TS}, ""
}

// wire is the message as events and history carry it. c.mu is held.
func (s *Slack) wire(m *SlackMessage) slackObject {
	out := slackObject{"type": "message", "user": m.User, "text": m.Text, "ts": m.TS, "team": s.personTeam(m.User)}
	if m.bot {
		out["bot_id"], out["app_id"] = s.cfg.BotID, s.cfg.App
		out["bot_profile"] = slackObject{"id": s.cfg.BotID, "name": "clawbot", "app_id": s.cfg.App}
	}
	if m.Thread != "" {
		out["thread_ts"] = m.Thread
	}
	if len(m.Blocks) > 0 {
		out["blocks"] = m.Blocks
	}
	if m.edited != "" {
		out["edited"] = slackObject{"user": m.User, "ts": m.edited}
	}
	if len(m.files) > 0 {
		out["files"] = m.files
	}
	return out
}
