package channeltest

import (
	"context"
	"strconv"
	"strings"

	"clawbot/channels"
)

// Platform drives the fake as [Run] does. Person n is user n with a private
// chat; room n is the forum -100…n.
func (t *Telegram) Platform() Platform { return telegramPlatform{t} }

type telegramPlatform struct{ t *Telegram }

func tgRoom(room int) int64 { return -1_000_000_000_000 - int64(room) }

func (p telegramPlatform) Direct(person int, text string) string {
	return strconv.Itoa(p.t.SendText(int64(1000+person), int64(1000+person), text).MessageID)
}

func (p telegramPlatform) Room(room, person int, text string, mention bool) string {
	if mention {
		text = "@" + p.t.cfg.Username + " " + text
	}
	return strconv.Itoa(p.t.SendText(tgRoom(room), int64(1000+person), text).MessageID)
}

func (p telegramPlatform) Thread(room, thread, person int, text string) string {
	p.t.AddChat(tgRoom(room), ChatOptions{Forum: true})
	return strconv.Itoa(p.t.Send(Incoming{
		Chat: tgRoom(room), User: int64(1000 + person), Text: "@" + p.t.cfg.Username + " " + text, Topic: 500 + thread,
	}).MessageID)
}

func (p telegramPlatform) EditDirect(person int, id, text string) {
	n, _ := strconv.Atoi(id)
	p.t.Edit(int64(1000+person), n, text)
}

func (p telegramPlatform) Press(to channels.Target, person int, id, data string) {
	n, _ := strconv.Atoi(id)
	p.t.Press(tgChatID(to), int64(1000+person), n, data)
}

func tgChatID(to channels.Target) int64 {
	id, _ := strconv.ParseInt(to.Chat, 10, 64)
	return id
}

func (p telegramPlatform) RedeliverAll() {
	p.t.updates.mu.Lock()
	var ids []int64
	for _, u := range p.t.updates.confirmed {
		ids = append(ids, u.id)
	}
	p.t.updates.mu.Unlock()
	p.t.Redeliver(ids...)
}

func (p telegramPlatform) Shown(to channels.Target) []Shown {
	thread, _ := strconv.Atoi(to.Thread)
	if thread == 1 {
		thread = 0 // General
	}
	var out []Shown
	for _, m := range p.t.Messages(tgChatID(to)) {
		if m.Thread != thread {
			continue
		}
		n := 0
		for _, row := range m.Buttons {
			n += len(row)
		}
		out = append(out, Shown{strconv.Itoa(m.ID), m.Text, n, len(m.History) - 1})
	}
	return out
}

func (p telegramPlatform) Remove(to channels.Target, id string) {
	c := p.t.chat(tgChatID(to), true)
	c.mu.Lock()
	defer c.mu.Unlock()
	n, _ := strconv.Atoi(id)
	if m := c.messages[n]; m != nil {
		m.Deleted = true
	}
}

func (p telegramPlatform) Expel(to channels.Target) { p.t.Block(tgChatID(to)) }
func (p telegramPlatform) FailPost(f Fault)         { p.t.Fail("sendMessage", 1, f) }
func (p telegramPlatform) FailEdit(f Fault)         { p.t.Fail("editMessageText", 1, f) }

func (p telegramPlatform) WaitReady(ctx context.Context) error { return p.t.WaitPoll(ctx) }

func (p telegramPlatform) WaitConfirmed(ctx context.Context) error {
	p.t.updates.mu.Lock()
	last := p.t.updates.next - 1
	p.t.updates.mu.Unlock()
	return p.t.WaitConfirmed(ctx, last)
}

func (p telegramPlatform) Refusals() []string {
	var out []string
	for _, c := range p.t.Calls() {
		if c.Status >= 400 && !strings.Contains(c.Error, "is not modified") {
			out = append(out, c.Method+": "+c.Error)
		}
	}
	return out
}
