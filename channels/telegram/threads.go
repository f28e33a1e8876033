package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"clawbot/channels"
)

// generalTopic is the id of the topic that every forum has. It is named when
// typing and left out when sending.
const generalTopic = "1"

// sendThread is message_thread_id of a send.
func sendThread(to channels.Target) int {
	if to.Thread == generalTopic {
		return 0
	}
	return typingThread(to)
}

// typingThread is message_thread_id of a chat action.
func typingThread(to channels.Target) int {
	n, _ := strconv.Atoi(to.Thread)
	return n
}

// thread returns the topic that a message is in. Replies carry a thread id that
// is no topic, so the id alone says nothing.
func (c *Channel) thread(m *message) string {
	switch {
	case m.IsTopicMessage && m.ThreadID != 0 && (m.Chat.IsForum || m.Chat.Type != "private" || c.topicsInPrivate()):
		return strconv.Itoa(m.ThreadID)
	case m.Chat.IsForum && m.Chat.Type != "private":
		return generalTopic
	}
	return ""
}

func (c *Channel) topicsInPrivate() bool {
	me := c.me.Load()
	return me != nil && me.Topics
}

// target is where an answer to m goes. The session's name keeps the id that the
// chat had when the conversation began.
func (c *Channel) target(m *message) channels.Target {
	to := channels.Target{
		Chat:   strconv.FormatInt(m.Chat.ID, 10),
		Thread: c.thread(m),
		Direct: m.Chat.Type == "private",
	}
	to.Conversation = "telegram:" + c.botID + ":" + strconv.FormatInt(c.moved.first(m.Chat.ID), 10)
	if to.Thread != "" && to.Thread != generalTopic {
		to.Conversation += ":" + to.Thread
	}
	if !to.Direct && c.replyIn(m.Chat.ID) != InChannel {
		to.ReplyTo = strconv.Itoa(m.ID)
	}
	return to
}

// replyIn says how a message in a group is answered, which may be configured by
// the id that the group had before.
func (c *Channel) replyIn(chat int64) string {
	for _, id := range []int64{chat, c.moved.first(chat)} {
		if own := c.cfg.ReplyInRooms[strconv.FormatInt(id, 10)]; own != "" {
			return own
		}
	}
	return c.cfg.ReplyIn
}

// moved knows the groups that became supergroups and so got a new id.
type moved struct {
	mu   sync.RWMutex
	to   map[int64]int64 // old id → new
	from map[int64]int64 // new id → old
}

// The key and the topic under which migrations are kept and told.
const movedKey = "migrated"

func (m *moved) add(old, fresh int64) (news bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old == 0 || fresh == 0 || old == fresh || m.to[old] == fresh {
		return false
	}
	if m.to == nil {
		m.to, m.from = map[int64]int64{}, map[int64]int64{}
	}
	m.to[old], m.from[fresh] = fresh, old
	return true
}

// now returns the id that a chat has today.
func (m *moved) now(id int64) int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for range 4 { // a chain can't be longer, a ring must not hang
		next, ok := m.to[id]
		if !ok {
			break
		}
		id = next
	}
	return id
}

// first returns the id under which the bot knew the chat first.
func (m *moved) first(id int64) int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for range 4 {
		before, ok := m.from[id]
		if !ok {
			break
		}
		id = before
	}
	return id
}

func (m *moved) encode() ([]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return json.Marshal(m.to)
}

func (m *moved) decode(data []byte) error {
	var all map[int64]int64
	if len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	for old, fresh := range all {
		m.add(old, fresh)
	}
	return nil
}

// keepMoved stores the known migrations and tells the other replicas.
func (c *Channel) keepMoved(ctx context.Context, host channels.Host) error {
	data, err := c.moved.encode()
	if err != nil {
		return fmt.Errorf("telegram: encode the moved chats: %w", err)
	}
	if err := host.Put(ctx, movedKey, data); err != nil {
		return fmt.Errorf("telegram: keep the moved chats: %w", err)
	}
	// A hint: replicas read the state when they start.
	if err := host.Publish(ctx, movedKey, data); err != nil {
		c.log.Debug("tell the other replicas of a moved chat", "error", err)
	}
	return nil
}

// watchMoved learns of migrations from the state and from other replicas.
func (c *Channel) watchMoved(ctx context.Context, host channels.Host) (stop func(), err error) {
	var data []byte
	err = c.insist(ctx, "read the moved chats", func() (err error) {
		data, err = host.Get(ctx, movedKey)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := c.moved.decode(data); err != nil {
		c.log.Warn("the list of moved chats is damaged and is begun anew", "error", err)
	}
	return host.Subscribe(movedKey, func(_ string, data []byte) {
		if err := c.moved.decode(data); err != nil {
			c.log.Debug("a damaged hint about moved chats", "error", err)
		}
	})
}
