package channeltest

import (
	"strings"
)

// The parts of Telegram's objects that the fake sends.

type tgUser struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	Username  string `json:"username,omitempty"`
}

type tgChatInfo struct {
	ID       int64  `json:"id"`
	Type     string `json:"type"`
	Title    string `json:"title,omitempty"`
	Username string `json:"username,omitempty"`
	First    string `json:"first_name,omitempty"`
	IsForum  bool   `json:"is_forum,omitempty"`
}

type tgFile struct {
	FileID       string `json:"file_id"`
	FileUniqueID string `json:"file_unique_id"`
	FileName     string `json:"file_name,omitempty"`
	MIMEType     string `json:"mime_type,omitempty"`
	FileSize     int64  `json:"file_size,omitempty"`
	FilePath     string `json:"file_path,omitempty"`
	Duration     int    `json:"duration,omitempty"`
	Width        int    `json:"width,omitempty"`
	Height       int    `json:"height,omitempty"`
}

type tgMessage struct {
	MessageID       int         `json:"message_id"`
	ThreadID        int         `json:"message_thread_id,omitempty"`
	From            *tgUser     `json:"from,omitempty"`
	SenderChat      *tgChatInfo `json:"sender_chat,omitempty"`
	Date            int64       `json:"date"`
	EditDate        int64       `json:"edit_date,omitempty"`
	Chat            tgChatInfo  `json:"chat"`
	IsTopicMessage  bool        `json:"is_topic_message,omitempty"`
	ReplyTo         *tgMessage  `json:"reply_to_message,omitempty"`
	MediaGroupID    string      `json:"media_group_id,omitempty"`
	Text            string      `json:"text,omitempty"`
	Entities        []Entity    `json:"entities,omitempty"`
	Caption         string      `json:"caption,omitempty"`
	CaptionEntities []Entity    `json:"caption_entities,omitempty"`
	Photo           []tgFile    `json:"photo,omitempty"`
	Document        *tgFile     `json:"document,omitempty"`
	Voice           *tgFile     `json:"voice,omitempty"`
	MigrateTo       int64       `json:"migrate_to_chat_id,omitempty"`
	MigrateFrom     int64       `json:"migrate_from_chat_id,omitempty"`
	TopicCreated    any         `json:"forum_topic_created,omitempty"`
}

type tgCallback struct {
	ID           string     `json:"id"`
	From         tgUser     `json:"from"`
	Message      *tgMessage `json:"message,omitempty"`
	ChatInstance string     `json:"chat_instance"`
	Data         string     `json:"data"`
}

// wire builds the message object for m. c.mu is held.
func (t *Telegram) wire(c *tgChat, m *SentMessage) *tgMessage {
	user := t.person(m.From)
	out := &tgMessage{
		MessageID: m.ID, From: &user, Date: m.At.Unix(), Chat: c.info(),
		ThreadID: m.Thread, IsTopicMessage: m.Thread != 0,
	}
	if len(m.History) > 1 {
		out.EditDate = m.History[len(m.History)-1].At.Unix()
	}
	if m.Kind == "text" {
		out.Text, out.Entities = m.Text, m.Entities
	} else {
		out.Caption, out.CaptionEntities = m.Text, m.Entities
	}
	if r := c.messages[m.ReplyTo]; r != nil {
		out.ReplyTo = t.wire(c, &SentMessage{
			ID: r.ID, From: r.From, At: r.At, Thread: r.Thread, Kind: r.Kind, Text: r.Text, Entities: r.Entities,
		})
	}
	return out
}

// info is the chat object. c.mu is held.
func (c *tgChat) info() tgChatInfo {
	info := tgChatInfo{ID: c.id, Type: c.kind, Title: c.title, IsForum: c.forum}
	if c.kind == "private" {
		info.First = "Person"
	}
	return info
}

// Person is a user as others see them.
type Person struct {
	Name     string
	Username string
	Bot      bool
}

// SetPerson gives a user id a name.
func (t *Telegram) SetPerson(id int64, p Person) {
	t.chatsMu.Lock()
	defer t.chatsMu.Unlock()
	t.people[id] = p
}

func (t *Telegram) person(id int64) tgUser {
	if id == t.botID {
		return tgUser{ID: id, IsBot: true, FirstName: "clawbot", Username: t.cfg.Username}
	}
	t.chatsMu.RLock()
	p, ok := t.people[id]
	t.chatsMu.RUnlock()
	if !ok {
		p.Name = "Person"
	}
	return tgUser{ID: id, IsBot: p.Bot, FirstName: p.Name, Username: p.Username}
}

func lower(s string) string { return strings.ToLower(s) }
