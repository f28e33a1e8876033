package gateway

import (
	"context"
	"slices"
	"sync"
	"time"

	"clawbot/channels"
)

const (
	// reactionTime bounds one call to the platform.
	reactionTime = 10 * time.Second
	// mostReactions bounds the calls under way and to be made; beyond it new
	// acknowledgements are left out.
	mostReactions = 64
)

// reactions acknowledge messages in rooms: a reaction when a message is taken,
// which goes when it is answered. They are cosmetic: nothing waits for them,
// and what fails is left.
type reactions struct {
	emoji, failed string // "" is none
	wg            sync.WaitGroup

	mu     sync.Mutex
	closed bool
	// wanted is, of each message that is being worked on, the reaction it is to
	// have; the latest counts.
	wanted map[string]string
}

func (r *reactions) any() bool { return r.emoji != "" || r.failed != "" }

// acknowledge shows that a message was taken.
func (h *host) acknowledge(in *channels.Inbound) {
	if !in.Target.Direct && in.MessageID != "" && h.g.reactions.emoji != "" {
		h.react(in.Target, in.MessageID, h.g.reactions.emoji)
	}
}

// marked remembers whose reaction is to go.
func (t *tenure) marked(m *inbound) {
	if t.g.reactions.any() && !m.Target.Direct && m.Key != "" && m.Kind == "" {
		t.marks = append(t.marks, m)
	}
}

// clearMarks takes the reactions of messages away that are owed no answer; if
// their run failed, they have another instead.
func (t *tenure) clearMarks(failed bool) {
	after := ""
	if failed {
		after = t.g.reactions.failed
	}
	owed := map[string]bool{}
	for _, m := range t.tr.pending {
		owed[m.ID] = true
	}
	t.marks = slices.DeleteFunc(t.marks, func(m *inbound) bool {
		if h := t.g.hosts[m.Channel]; h != nil && !owed[m.ID] {
			h.react(m.Target, m.Key, after)
		}
		return !owed[m.ID]
	})
}

// react gives a message a reaction, none if emoji is empty, as soon as the
// platform takes it.
func (h *host) react(to channels.Target, message, emoji string) {
	reactor, ok := h.channel.(channels.Reactor)
	all := &h.g.reactions
	if !ok || !all.any() || emoji == "" && all.emoji == "" {
		return
	}
	key := h.channel.Name() + "\x00" + to.Chat + "\x00" + message
	all.mu.Lock()
	defer all.mu.Unlock()
	_, busy := all.wanted[key]
	if all.closed || !busy && emoji != "" && len(all.wanted) >= mostReactions {
		return
	}
	if all.wanted == nil {
		all.wanted = map[string]string{}
	}
	all.wanted[key] = emoji
	if !busy {
		all.wg.Go(func() { h.reacting(reactor, to, message, key) })
	}
}

// reacting makes one call after the other until the message has the reaction
// that is wanted.
func (h *host) reacting(reactor channels.Reactor, to channels.Target, message, key string) {
	all := &h.g.reactions
	for {
		all.mu.Lock()
		emoji := all.wanted[key]
		all.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), reactionTime)
		var err error
		if emoji != "" && emoji == all.failed && all.emoji != "" {
			err = reactor.React(ctx, to, message, "") // a platform may show both
		}
		if err == nil {
			err = reactor.React(ctx, to, message, emoji)
		}
		cancel()
		if err != nil {
			h.log.Debug("a reaction was not set", "session", to.Conversation, "err", err)
		}
		all.mu.Lock()
		if all.wanted[key] == emoji {
			delete(all.wanted, key)
			all.mu.Unlock()
			return
		}
		all.mu.Unlock()
	}
}

// close waits for the calls under way; no more are made.
func (r *reactions) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.wg.Wait()
}
