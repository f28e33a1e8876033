package channeltest

import (
	"context"
	"fmt"
	"sync"

	"clawbot/channels"
)

// Platform drives the fake as [Run] does. Person n is the user UPERSONn, room n
// the channel CROOMn.
func (s *Slack) Platform() Platform { return &slackPlatform{Slack: s, roots: map[[2]int]string{}} }

type slackPlatform struct {
	*Slack
	mu    sync.Mutex
	roots map[[2]int]string // of the threads, by room and number
}

func slackUser(person int) string { return fmt.Sprintf("UPERSON%d", person) }
func slackRoom(room int) string   { return fmt.Sprintf("CROOM%d", room) }

// Direct implements [Platform].
func (p *slackPlatform) Direct(person int, text string) string {
	return p.SendText(p.Slack.Direct(slackUser(person)), slackUser(person), text)
}

// Room implements [Platform].
func (p *slackPlatform) Room(room, person int, text string, mention bool) string {
	if mention {
		text = p.Mention() + " " + text
	}
	return p.SendText(slackRoom(room), slackUser(person), text)
}

// Thread implements [Platform].
func (p *slackPlatform) Thread(room, thread, person int, text string) string {
	p.mu.Lock()
	root := p.roots[[2]int{room, thread}]
	if root == "" {
		root = p.Send(SlackIncoming{Channel: slackRoom(room), User: slackUser(99), Text: "a root", Silent: true})
		p.roots[[2]int{room, thread}] = root
	}
	p.mu.Unlock()
	return p.Send(SlackIncoming{Channel: slackRoom(room), User: slackUser(person), Text: p.Mention() + " " + text, Thread: root})
}

// EditDirect implements [Platform].
func (p *slackPlatform) EditDirect(person int, id, text string) {
	p.Edit(p.Slack.Direct(slackUser(person)), id, text)
}

// Press implements [Platform].
func (p *slackPlatform) Press(to channels.Target, person int, id, data string) {
	p.Slack.Press(to.Chat, slackUser(person), id, data)
}

// Shown implements [Platform].
func (p *slackPlatform) Shown(to channels.Target) []Shown {
	var out []Shown
	for _, m := range p.Messages(to.Chat) {
		if m.Thread == to.Thread {
			out = append(out, Shown{m.TS, m.Shown(), len(m.Buttons()), len(m.History) - 1})
		}
	}
	return out
}

// Remove implements [Platform].
func (p *slackPlatform) Remove(to channels.Target, id string) { p.Delete(to.Chat, id) }

// Expel implements [Platform].
func (p *slackPlatform) Expel(to channels.Target) { p.Bar(to.Chat, "not_in_channel") }

// FailPost implements [Platform].
func (p *slackPlatform) FailPost(f Fault) { p.Fail("chat.postMessage", 1, f) }

// FailEdit implements [Platform].
func (p *slackPlatform) FailEdit(f Fault) { p.Fail("chat.update", 1, f) }

// WaitReady implements [Platform].
func (p *slackPlatform) WaitReady(ctx context.Context) error {
	p.events.mu.Lock()
	overHTTP := p.events.url != ""
	p.events.mu.Unlock()
	if overHTTP {
		return p.WaitCalls(ctx, "bots.info", 1) // the last call before it is ready
	}
	return p.waitEvents(ctx, func(q *slackEvents) bool { return len(q.sockets) > 0 })
}

// WaitConfirmed implements [Platform].
func (p *slackPlatform) WaitConfirmed(ctx context.Context) error { return p.WaitAcked(ctx) }

// Refusals implements [Platform].
func (p *slackPlatform) Refusals() []string {
	var out []string
	for _, c := range p.Calls() {
		if c.Error != "" {
			out = append(out, c.Method+": "+c.Error)
		}
	}
	return out
}
