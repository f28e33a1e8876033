package channeltest

import (
	"context"
	"fmt"
	"strings"

	"clawbot/channels"
)

// Platform drives the fake as [Run] does. Person n has a private channel; room n
// is a text channel.
func (d *Discord) Platform() Platform { return discordPlatform{d} }

type discordPlatform struct{ d *Discord }

// DiscordUser is the id of person n.
func DiscordUser(n int) string { return fmt.Sprintf("7000000000000%05d", n) }

// DiscordRoom is the id of room n.
func DiscordRoom(n int) string { return fmt.Sprintf("6000000000000%05d", n) }

func (p discordPlatform) Direct(person int, text string) string {
	return p.d.SendText(p.d.DM(DiscordUser(person)), DiscordUser(person), text)
}

func (p discordPlatform) Room(room, person int, text string, mention bool) string {
	if mention {
		text = "<@" + p.d.cfg.BotID + "> " + text
	}
	return p.d.SendText(DiscordRoom(room), DiscordUser(person), text)
}

func (p discordPlatform) Thread(room, thread, person int, text string) string {
	id := fmt.Sprintf("5000000000%03d%05d", room, thread)
	if _, ok := p.d.HasChannel(id); !ok {
		p.d.mu.Lock()
		p.d.addThread(id, p.d.channel(DiscordRoom(room)), DiscordUser(person), "a thread")
		p.d.mu.Unlock()
	}
	return p.d.SendText(id, DiscordUser(person), "<@"+p.d.cfg.BotID+"> "+text)
}

func (p discordPlatform) EditDirect(person int, id, text string) {
	p.d.Edit(p.d.DM(DiscordUser(person)), id, text)
}

// place is the channel that a target's messages are in: the thread that its
// conversation names, if it is there.
func (p discordPlatform) place(to channels.Target) string {
	id := to.Conversation[strings.LastIndexByte(to.Conversation, ':')+1:]
	if _, ok := p.d.HasChannel(id); ok {
		return id
	}
	return to.Chat
}

func (p discordPlatform) Press(to channels.Target, person int, id, data string) {
	p.d.Press(p.place(to), DiscordUser(person), id, data)
}

func (p discordPlatform) RedeliverAll() { p.d.RedeliverAll() }

func (p discordPlatform) Shown(to channels.Target) []Shown {
	var out []Shown
	for _, m := range p.d.Messages(p.place(to)) {
		n := 0
		for _, row := range m.Buttons {
			n += len(row)
		}
		out = append(out, Shown{m.ID, m.Text, n, len(m.History) - 1})
	}
	return out
}

func (p discordPlatform) Remove(to channels.Target, id string) { p.d.Delete(p.place(to), id) }
func (p discordPlatform) Expel(to channels.Target)             { p.d.Expel(to.Chat) }
func (p discordPlatform) FailPost(f Fault)                     { p.d.Fail("createMessage", 1, f) }
func (p discordPlatform) FailEdit(f Fault)                     { p.d.Fail("editMessage", 1, f) }

func (p discordPlatform) WaitReady(ctx context.Context) error     { return p.d.WaitConnected(ctx) }
func (p discordPlatform) WaitConfirmed(ctx context.Context) error { return p.d.WaitConfirmed(ctx) }

func (p discordPlatform) Refusals() []string {
	var out []string
	for _, c := range p.d.Calls() {
		if c.Status >= 400 {
			out = append(out, c.Method+": "+c.Error)
		}
	}
	return out
}
