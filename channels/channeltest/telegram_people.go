package channeltest

import (
	"encoding/json"
	"strconv"
	"time"
)

// Incoming is a message that a person sends.
type Incoming struct {
	Chat, User int64
	// Text, or the caption when there is a file.
	Text string
	// Entities as given; nil has mentions and commands found as Telegram does.
	Entities []Entity
	// Topic the message is in.
	Topic int
	// ReplyTo is a message id in the chat. In a topic, a message that replies to
	// none still carries the topic's first message, as Telegram's do.
	ReplyTo int
	// File is attached; FileKind is photo, document (default) or voice.
	File     *File
	FileKind string
	// FileSize is declared instead of the real size, if larger.
	FileSize int64
	// Album is a media group id.
	Album string
	// PseudoThread puts a message_thread_id that is no topic on the message,
	// as Telegram does for reply threads.
	PseudoThread int
	// AsChat sends in the name of a chat, as anonymous administrators do.
	AsChat int64
}

// Delivered tells the ids of an event.
type Delivered struct {
	UpdateID  int64
	MessageID int
}

// SendText is Send of a plain text.
func (t *Telegram) SendText(chat, user int64, text string) Delivered {
	return t.Send(Incoming{Chat: chat, User: user, Text: text})
}

// Send has a person send a message. The chat comes into being if need be.
func (t *Telegram) Send(in Incoming) Delivered {
	c := t.chat(in.Chat, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &SentMessage{
		From: in.User, At: time.Now(), Thread: in.Topic, ReplyTo: in.ReplyTo, Kind: "text",
		Text: in.Text, Entities: in.Entities, File: in.File,
	}
	if m.Entities == nil {
		m.Entities = findEntities(in.Text)
	}
	if in.Topic != 0 {
		c.topics[in.Topic] = true
	}
	if in.File != nil {
		m.Kind = "document"
		if in.FileKind != "" {
			m.Kind = in.FileKind
		}
	}
	c.add(m)
	out := t.wire(c, m)
	t.dress(c, in, out)
	return Delivered{t.pushMessage("message", out), m.ID}
}

// dress adds what wire does not know of. c.mu is held.
func (t *Telegram) dress(c *tgChat, in Incoming, out *tgMessage) {
	out.MediaGroupID = in.Album
	if in.PseudoThread != 0 {
		out.ThreadID = in.PseudoThread
	}
	if in.AsChat != 0 {
		out.From = &tgUser{ID: 1087968824, IsBot: true, FirstName: "Group", Username: "GroupAnonymousBot"}
		out.SenderChat = &tgChatInfo{ID: in.AsChat, Type: "supergroup", Title: c.title}
	}
	if in.Topic != 0 && out.ReplyTo == nil {
		creator := t.person(t.botID)
		out.ReplyTo = &tgMessage{
			MessageID: in.Topic, ThreadID: in.Topic, From: &creator, Chat: c.info(), Date: out.Date,
			IsTopicMessage: true, TopicCreated: map[string]any{"name": "topic", "icon_color": 7322096},
		}
	}
	if in.File == nil {
		return
	}
	f := tgFile{FileID: t.files.add(*in.File, in.FileSize), FileSize: max(in.FileSize, int64(len(in.File.Data)))}
	f.FileUniqueID = "U" + f.FileID
	switch in.FileKind {
	case "photo":
		f.Width, f.Height = 800, 600
		small := tgFile{FileID: f.FileID + "s", FileUniqueID: "s", Width: 90, Height: 67, FileSize: 100}
		out.Photo = []tgFile{small, f}
	case "voice":
		f.MIMEType, f.Duration = in.File.MIME, 3
		out.Voice = &f
	default:
		f.FileName, f.MIMEType = in.File.Name, in.File.MIME
		out.Document = &f
	}
}

// Edit has a person change the text of a message of theirs.
func (t *Telegram) Edit(chat int64, id int, text string) Delivered {
	c := t.chat(chat, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.messages[id]
	if m == nil {
		return Delivered{}
	}
	m.Text, m.Entities = text, findEntities(text)
	out := t.wire(c, m)
	out.EditDate = time.Now().Unix()
	return Delivered{t.pushMessage("edited_message", out), id}
}

// Press has a person press a button of a message of the bot; it returns the
// update's id and the callback's.
func (t *Telegram) Press(chat, user int64, id int, data string) (updateID int64, callbackID string) {
	callbackID = strconv.FormatInt(t.callback.Add(1), 10)
	t.answersMu.Lock()
	t.answers[callbackID] = nil
	t.answersMu.Unlock()
	cb := tgCallback{ID: callbackID, From: t.person(user), ChatInstance: "1", Data: data}
	c := t.chat(chat, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.messages[id]; m != nil {
		cb.Message = t.wire(c, m)
	}
	return t.pushUpdate("callback_query", func(id int64) any {
		return map[string]any{"update_id": id, "callback_query": cb}
	}), callbackID
}

// Migrate turns a group into a supergroup with a new id, as Telegram does when
// a group grows: both chats tell, and the old one takes no more messages.
func (t *Telegram) Migrate(from, to int64) {
	old, fresh := t.chat(from, true), t.chat(to, true)
	old.mu.Lock()
	left := t.wire(old, &SentMessage{ID: old.lastID + 1, From: t.botID, At: time.Now()})
	left.MigrateTo = to
	old.barred = &tgError{code: 400, text: "Bad Request: group chat was upgraded to a supergroup chat", migrateTo: to}
	old.mu.Unlock()
	t.pushMessage("message", left)
	fresh.mu.Lock()
	came := t.wire(fresh, &SentMessage{ID: fresh.lastID + 1, From: t.botID, At: time.Now()})
	came.MigrateFrom = from
	fresh.mu.Unlock()
	t.pushMessage("message", came)
}

// SendRaw queues an update as given, whatever the bot asked for; body is the
// update's JSON object without update_id.
func (t *Telegram) SendRaw(body string) int64 {
	return t.pushUpdate("", func(id int64) any {
		return json.RawMessage(`{"update_id":` + strconv.FormatInt(id, 10) + "," + body[1:])
	})
}

func (t *Telegram) pushMessage(kind string, m *tgMessage) int64 {
	return t.pushUpdate(kind, func(id int64) any {
		return map[string]any{"update_id": id, kind: m}
	})
}

// Redeliver has the given updates delivered once more with the next poll, even
// if the bot had confirmed them: what a bot sees that died before it could.
func (t *Telegram) Redeliver(updates ...int64) {
	q := &t.updates
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range updates {
		for _, u := range q.confirmed {
			if u.id == id {
				q.again = append(q.again, u)
			}
		}
	}
	q.changed.wake()
}
