package channeltest

import (
	"reflect"
	"slices"
	"strconv"
	"time"
)

// apply executes a call.
func (t *Telegram) apply(req *tgRequest) (any, *tgError) {
	handler := t.methods[lower(req.method)]
	if handler == nil {
		return nil, refuse(404, "Not Found: method %s not found", req.method)
	}
	return handler(t, req)
}

// telegramMethods is the API by lower-case name.
func telegramMethods() map[string]func(*Telegram, *tgRequest) (any, *tgError) {
	return map[string]func(*Telegram, *tgRequest) (any, *tgError){
		"getme":                 (*Telegram).getMe,
		"getupdates":            (*Telegram).getUpdates,
		"setwebhook":            (*Telegram).setWebhook,
		"deletewebhook":         (*Telegram).deleteWebhook,
		"getwebhookinfo":        (*Telegram).getWebhookInfo,
		"sendmessage":           (*Telegram).sendMessage,
		"editmessagetext":       (*Telegram).editMessageText,
		"deletemessage":         (*Telegram).deleteMessage,
		"senddocument":          (*Telegram).sendFile,
		"sendphoto":             (*Telegram).sendFile,
		"sendvoice":             (*Telegram).sendFile,
		"sendmessagedraft":      (*Telegram).sendDraft,
		"sendchataction":        (*Telegram).sendChatAction,
		"setmessagereaction":    (*Telegram).setMessageReaction,
		"answercallbackquery":   (*Telegram).answerCallbackQuery,
		"getfile":               (*Telegram).getFile,
		"setmycommands":         (*Telegram).setMyCommands,
		"getmycommands":         (*Telegram).getMyCommands,
		"getchat":               (*Telegram).getChat,
		"getchatadministrators": (*Telegram).getChatAdministrators,
	}
}

// target finds the chat that a write goes to and checks what holds for all.
func (t *Telegram) target(req *tgRequest) (*tgChat, *tgError) {
	id, err := strconv.ParseInt(req.params["chat_id"], 10, 64)
	if err != nil {
		return nil, refuse(400, "Bad Request: chat_id is empty")
	}
	c := t.chat(id, false)
	if c == nil {
		return nil, refuse(400, "Bad Request: chat not found")
	}
	return c, t.admit(c)
}

// thread checks message_thread_id of a send. c.mu is held.
func (c *tgChat) thread(req *tgRequest, dmTopics bool) (int, *tgError) {
	thread := int(req.int("message_thread_id"))
	known := c.forum || c.kind == "private" && dmTopics
	if thread != 0 && (!known || !c.topics[thread]) {
		return 0, refuse(400, "Bad Request: message thread not found")
	}
	return thread, nil
}

// replyTo checks reply_parameters. c.mu is held.
func (c *tgChat) replyTo(req *tgRequest) (int, *tgError) {
	var reply struct {
		ID      int  `json:"message_id"`
		Without bool `json:"allow_sending_without_reply"`
	}
	if err := req.json("reply_parameters", &reply); err != nil || reply.ID == 0 {
		return 0, err
	}
	if m := c.messages[reply.ID]; m == nil || m.Deleted {
		if reply.Without {
			return 0, nil
		}
		return 0, refuse(400, "Bad Request: message to be replied not found")
	}
	return reply.ID, nil
}

func (t *Telegram) sendMessage(req *tgRequest) (any, *tgError) {
	c, err := t.target(req)
	if err != nil {
		return nil, err
	}
	if req.params["text"] == "" {
		return nil, refuse(400, "Bad Request: message text is empty")
	}
	text, entities, err := req.text("text", "entities", maxText)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, refuse(400, "Bad Request: text must be non-empty")
	}
	buttons, err := req.buttons()
	if err != nil {
		return nil, err
	}
	return t.post(c, req, &SentMessage{Kind: "text", Text: text, Entities: entities, Buttons: buttons})
}

// post adds a message of the bot to a chat.
func (t *Telegram) post(c *tgChat, req *tgRequest, m *SentMessage) (any, *tgError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err *tgError
	if m.Thread, err = c.thread(req, t.cfg.DMTopics); err != nil {
		return nil, err
	}
	if m.ReplyTo, err = c.replyTo(req); err != nil {
		return nil, err
	}
	m.From, m.At, m.Silent = t.botID, time.Now(), req.bool("disable_notification")
	m.History = []Version{{m.Text, m.Entities, m.At}}
	c.add(m)
	c.sent = append(c.sent, m)
	return t.wire(c, m), nil
}

func (t *Telegram) editMessageText(req *tgRequest) (any, *tgError) {
	c, err := t.target(req)
	if err != nil {
		return nil, err
	}
	text, entities, err := req.text("text", "entities", maxText)
	if err != nil {
		if err.text == "Bad Request: message is too long" {
			err = refuse(400, "Bad Request: MESSAGE_TOO_LONG")
		}
		return nil, err
	}
	if text == "" {
		return nil, refuse(400, "Bad Request: message text is empty")
	}
	buttons, err := req.buttons()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.messages[int(req.int("message_id"))]
	switch {
	case m == nil || m.Deleted:
		return nil, refuse(400, "Bad Request: message to edit not found")
	case m.From != t.botID:
		return nil, refuse(400, "Bad Request: message can't be edited")
	case m.Kind != "text":
		return nil, refuse(400, "Bad Request: there is no text in the message to edit")
	case m.Text == text && slices.Equal(m.Entities, entities) && reflect.DeepEqual(m.Buttons, buttons):
		return nil, refuse(400, "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	m.Text, m.Entities, m.Buttons = text, entities, buttons
	if !t.cfg.Lean {
		m.History = append(m.History, Version{text, entities, time.Now()})
	}
	c.changed.wake()
	return t.wire(c, m), nil
}

func (t *Telegram) deleteMessage(req *tgRequest) (any, *tgError) {
	c, err := t.target(req)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.messages[int(req.int("message_id"))]
	if m == nil || m.Deleted {
		return nil, refuse(400, "Bad Request: message to delete not found")
	}
	if m.From != t.botID && c.kind != "private" && !slices.Contains(c.admins, t.botID) {
		return nil, refuse(400, "Bad Request: message can't be deleted")
	}
	m.Deleted = true
	c.changed.wake()
	return true, nil
}

// text reads and checks a text with its entities.
func (req *tgRequest) text(name, entitiesName string, limit int) (string, []Entity, *tgError) {
	var entities []Entity
	if err := req.json(entitiesName, &entities); err != nil {
		return "", nil, err
	}
	return checkText(req.params[name], entities, limit)
}

func (req *tgRequest) buttons() ([][]SentButton, *tgError) {
	var markup struct {
		Rows [][]SentButton `json:"inline_keyboard"`
	}
	if err := req.json("reply_markup", &markup); err != nil {
		return nil, err
	}
	return markup.Rows, checkButtons(markup.Rows)
}
