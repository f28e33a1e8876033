package channeltest

import (
	"slices"
	"strconv"
	"sync"
	"time"
)

// tgChat is one chat. Its lock is held for moments only.
type tgChat struct {
	mu       sync.Mutex
	id       int64
	kind     string // private, group, supergroup
	title    string
	forum    bool
	topics   map[int]bool
	barred   *tgError // the bot was blocked or kicked
	admins   []int64
	lastID   int
	messages map[int]*SentMessage // of people, too
	sent     []*SentMessage       // of the bot, in order
	limit    bucket
	changed  signal

	actions   []ChatAction
	reactions map[int]string
	drafts    map[string]string
}

// ChatAction is a "typing" sign that the bot showed.
type ChatAction struct {
	Action string
	Thread int
	At     time.Time
}

// Entity is a Telegram message entity; offset and length are UTF-16 units.
type Entity struct {
	Type     string  `json:"type"`
	Offset   int     `json:"offset"`
	Length   int     `json:"length"`
	URL      string  `json:"url,omitempty"`
	Language string  `json:"language,omitempty"`
	User     *tgUser `json:"user,omitempty"`
}

// SentMessage is a message in a chat.
type SentMessage struct {
	ID       int
	Chat     int64
	From     int64
	Thread   int // the forum topic; 0 is General or none
	ReplyTo  int
	Text     string // or the caption
	Entities []Entity
	Buttons  [][]SentButton
	Silent   bool
	File     *File
	Kind     string // text, photo, document, voice
	At       time.Time
	Deleted  bool
	// History holds every state of the message, the first one included.
	History []Version
}

// Version is one state of a message.
type Version struct {
	Text     string
	Entities []Entity
	At       time.Time
}

// SentButton is an inline button.
type SentButton struct {
	Text         string `json:"text"`
	CallbackData string `json:"callback_data,omitempty"`
	URL          string `json:"url,omitempty"`
	Style        string `json:"style,omitempty"`
}

// ChatOptions describes a chat that should exist.
type ChatOptions struct {
	// Kind is private, group or supergroup; by default a negative id is a
	// supergroup.
	Kind  string
	Title string
	// Forum gives the supergroup topics; Topics are the ids that exist.
	Forum  bool
	Topics []int
	// Admins are user ids.
	Admins []int64
}

// AddChat creates a chat or changes it.
func (t *Telegram) AddChat(id int64, o ChatOptions) {
	c := t.chat(id, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.Kind != "" {
		c.kind = o.Kind
	}
	if o.Title != "" {
		c.title = o.Title
	}
	c.forum = c.forum || o.Forum
	for _, topic := range o.Topics {
		c.topics[topic] = true
	}
	c.admins = append(c.admins, o.Admins...)
}

// Block makes every write to the chat fail as it does for a bot that was
// blocked by the user or kicked from the group.
func (t *Telegram) Block(id int64) {
	c := t.chat(id, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.barred = refuse(403, "Forbidden: bot was blocked by the user")
	if id < 0 {
		c.barred = refuse(403, "Forbidden: bot was kicked from the %s chat", c.kind)
	}
}

// Unblock takes back Block.
func (t *Telegram) Unblock(id int64) {
	c := t.chat(id, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.barred = nil
}

// chat finds a chat; with create, it comes into being as Telegram makes them.
func (t *Telegram) chat(id int64, create bool) *tgChat {
	t.chatsMu.RLock()
	c := t.chats[id]
	t.chatsMu.RUnlock()
	if c != nil || !create {
		return c
	}
	t.chatsMu.Lock()
	defer t.chatsMu.Unlock()
	if c = t.chats[id]; c != nil {
		return c
	}
	c = &tgChat{
		id: id, kind: "private", lastID: 10, messages: map[int]*SentMessage{},
		topics: map[int]bool{}, reactions: map[int]string{}, drafts: map[string]string{},
		limit: bucket{size: 3, interval: time.Second},
	}
	if id < 0 {
		c.kind, c.title = "supergroup", "room "+strconv.FormatInt(-id, 10)
		c.limit = bucket{size: 20, interval: 3 * time.Second}
	}
	t.chats[id] = c
	return c
}

// admit checks a write to a chat and takes a token of its limits.
func (t *Telegram) admit(c *tgChat) *tgError {
	now := time.Now()
	c.mu.Lock()
	barred := c.barred
	c.mu.Unlock()
	if barred != nil || !t.limited.Load() {
		return barred
	}
	t.globalMu.Lock()
	wait := t.global.take(now)
	t.globalMu.Unlock()
	if wait == 0 {
		c.mu.Lock()
		wait = c.limit.take(now)
		c.mu.Unlock()
	}
	if wait == 0 {
		return nil
	}
	seconds := int((wait + time.Second - 1) / time.Second)
	return &tgError{code: 429, text: "Too Many Requests: retry after " + strconv.Itoa(seconds), retryAfter: seconds}
}

// add stores a message and gives it its id. c.mu is held.
func (c *tgChat) add(m *SentMessage) {
	c.lastID++
	m.ID, m.Chat = c.lastID, c.id
	c.messages[m.ID] = m
	c.changed.wake()
}

// snapshot copies the bot's messages. c.mu is held.
func (c *tgChat) snapshot() []SentMessage {
	out := make([]SentMessage, 0, len(c.sent))
	for _, m := range c.sent {
		if !m.Deleted {
			out = append(out, m.copy())
		}
	}
	return out
}

// copy returns what m is now; a history only grows, so it can be shared.
func (m *SentMessage) copy() SentMessage {
	out := *m
	out.History = slices.Clip(m.History)
	return out
}
