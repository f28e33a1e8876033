package channeltest

import (
	"strconv"
	"strings"
	"time"
)

func (t *Telegram) getMe(*tgRequest) (any, *tgError) {
	return struct {
		tgUser
		CanJoin bool `json:"can_join_groups"`
		ReadAll bool `json:"can_read_all_group_messages"`
		Topics  bool `json:"has_topics_enabled"`
	}{t.person(t.botID), true, true, t.cfg.DMTopics}, nil
}

func (t *Telegram) getChat(req *tgRequest) (any, *tgError) {
	c := t.chat(req.int("chat_id"), false)
	if c == nil {
		return nil, refuse(400, "Bad Request: chat not found")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.info(), nil
}

func (t *Telegram) getChatAdministrators(req *tgRequest) (any, *tgError) {
	c := t.chat(req.int("chat_id"), false)
	if c == nil {
		return nil, refuse(400, "Bad Request: chat not found")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kind == "private" {
		return nil, refuse(400, "Bad Request: there are no administrators in the private chat")
	}
	type member struct {
		Status string `json:"status"`
		User   tgUser `json:"user"`
	}
	out := []member{}
	for _, id := range c.admins {
		out = append(out, member{"administrator", t.person(id)})
	}
	return out, nil
}

func (t *Telegram) sendChatAction(req *tgRequest) (any, *tgError) {
	c := t.chat(req.int("chat_id"), false)
	if c == nil {
		return nil, refuse(400, "Bad Request: chat not found")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.barred != nil {
		return nil, c.barred
	}
	thread := int(req.int("message_thread_id"))
	if thread > 1 && !c.topics[thread] || thread == 1 && !c.forum {
		return nil, refuse(400, "Bad Request: message thread not found")
	}
	switch req.params["action"] {
	case "typing", "upload_document", "upload_photo", "record_voice", "upload_voice":
	default:
		return nil, refuse(400, "Bad Request: wrong parameter action in request")
	}
	c.actions = append(c.actions, ChatAction{req.params["action"], thread, time.Now()})
	c.changed.wake()
	return true, nil
}

// reactionList is what bots may react with.
const reactionList = "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡"

func (t *Telegram) setMessageReaction(req *tgRequest) (any, *tgError) {
	c := t.chat(req.int("chat_id"), false)
	if c == nil {
		return nil, refuse(400, "Bad Request: chat not found")
	}
	var list []struct {
		Type  string `json:"type"`
		Emoji string `json:"emoji"`
	}
	if err := req.json("reaction", &list); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	id := int(req.int("message_id"))
	if m := c.messages[id]; m == nil || m.Deleted {
		return nil, refuse(400, "Bad Request: message to react not found")
	}
	if len(list) > 1 {
		return nil, refuse(400, "Bad Request: REACTIONS_TOO_MANY")
	}
	delete(c.reactions, id)
	for _, r := range list {
		if r.Type != "emoji" || !strings.Contains(" "+reactionList+" ", " "+r.Emoji+" ") {
			return nil, refuse(400, "Bad Request: REACTION_INVALID")
		}
		c.reactions[id] = r.Emoji
	}
	c.changed.wake()
	return true, nil
}

func (t *Telegram) sendDraft(req *tgRequest) (any, *tgError) {
	c, err := t.target(req)
	if err != nil {
		return nil, err
	}
	if n, _ := strconv.Atoi(req.params["draft_id"]); n == 0 {
		return nil, refuse(400, "Bad Request: draft_id must be non-zero")
	}
	text, _, err := req.text("text", "entities", maxText)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kind != "private" {
		return nil, refuse(400, "Bad Request: TEXTDRAFT_PEER_INVALID")
	}
	c.drafts[req.params["draft_id"]] = text
	c.changed.wake()
	return true, nil
}

func (t *Telegram) answerCallbackQuery(req *tgRequest) (any, *tgError) {
	t.answersMu.Lock()
	defer t.answersMu.Unlock()
	a, ok := t.answers[req.params["callback_query_id"]]
	if !ok || a != nil {
		return nil, refuse(400, "Bad Request: query is too old and response timeout expired or query ID is invalid")
	}
	t.answers[req.params["callback_query_id"]] = &CallbackAnswer{req.params["text"], req.bool("show_alert"), time.Now()}
	t.answered.wake()
	return true, nil
}

func (t *Telegram) setMyCommands(req *tgRequest) (any, *tgError) {
	var list []BotCommand
	if err := req.json("commands", &list); err != nil {
		return nil, err
	}
	if len(list) > 100 {
		return nil, refuse(400, "Bad Request: BOT_COMMANDS_TOO_MUCH")
	}
	for _, c := range list {
		if c.Command == "" || len(c.Command) > 32 || strings.Trim(c.Command, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return nil, refuse(400, "Bad Request: BOT_COMMAND_INVALID")
		}
		if c.Description == "" || len([]rune(c.Description)) > 256 {
			return nil, refuse(400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID")
		}
	}
	t.commandsMu.Lock()
	defer t.commandsMu.Unlock()
	t.commands = list
	return true, nil
}

func (t *Telegram) getMyCommands(*tgRequest) (any, *tgError) {
	return append([]BotCommand{}, t.Commands()...), nil
}
