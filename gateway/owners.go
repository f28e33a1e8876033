package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"clawbot/channels"
)

// ownerTimeout bounds one message to one owner.
const ownerTimeout = 15 * time.Second

// NotifyOwners writes to the bot's owners in their direct conversations and
// returns how many took it. With near, the name of a channel, only owners there
// are written to if any of them takes it; without it, all are. Where the
// platform does not let a bot write first, and on the page and in the terminal,
// nobody can be told: the caller has another way, or logs.
//
// It asks the platform for every owner, one after the other; ctx bounds it.
func (g *Gateway) NotifyOwners(ctx context.Context, near string, out channels.Outgoing) int {
	return len(g.write(ctx, g.owners(), near, "", out))
}

// address is a person on a channel, or on a platform.
type address struct{ channel, id string }

// owners lists the owners that the configuration names and those that pairing
// made.
func (g *Gateway) owners() []address {
	list := addresses(g.config().Access.Owners)
	g.rules.mu.RLock()
	defer g.rules.mu.RUnlock()
	for _, p := range g.rules.people {
		if a := (address{p.Channel, p.ID}); p.Role == RoleOwner && !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

// deciders are those who may decide about what somebody else asks for.
func (g *Gateway) deciders(a *approval) []address {
	list := g.owners()
	for _, who := range addresses(g.config().Access.Approvers) {
		if !slices.Contains(list, who) && !slices.Contains(a.By, who.id) {
			list = append(list, who)
		}
	}
	return list
}

func addresses(ids []string) []address {
	var list []address
	for _, id := range ids {
		if channel, id, ok := strings.Cut(id, ":"); ok {
			list = append(list, address{channel, id})
		}
	}
	return list
}

// letter is a message that was written to somebody.
type letter struct {
	Channel string          `json:"channel"`
	Target  channels.Target `json:"target"`
	Message string          `json:"message"`
}

// write writes to people in private, except in the conversation that is named;
// see [Gateway.NotifyOwners] for near.
func (g *Gateway) write(ctx context.Context, to []address, near, except string, out channels.Outgoing) []letter {
	var here, elsewhere []letter
	done := map[string]bool{}
	post := func(h *host, id string) *letter {
		l, err := h.letter(ctx, id, except, out)
		if err != nil {
			h.log.Warn("somebody could not be written to", "person", id, "err", err)
			return nil
		}
		return l
	}
	for _, h := range g.order {
		for _, who := range to {
			if h.channel.Name() == near && who.on(h) && !done[who.id] {
				done[who.id] = true
				if l := post(h, who.id); l != nil {
					here = append(here, *l)
				}
			}
		}
	}
	if len(here) > 0 {
		return here
	}
	for _, who := range to {
		for _, h := range g.order { // the first of several accounts that reaches them
			if h.channel.Name() == near || !who.on(h) {
				continue
			}
			if l := post(h, who.id); l != nil {
				elsewhere = append(elsewhere, *l)
				break
			}
		}
	}
	return elsewhere
}

// writeBut writes to each of them on the first channel that takes it, but for
// one that is down.
func (g *Gateway) writeBut(ctx context.Context, down string, to []address, out channels.Outgoing) (letters []letter) {
	for _, who := range to {
		for _, h := range g.order {
			if h.channel.Name() == down || !who.on(h) {
				continue
			}
			l, err := h.letter(ctx, who.id, "", out)
			if err != nil {
				h.log.Warn("an owner could not be written to", "person", who.id, "err", err)
			}
			if l != nil {
				letters = append(letters, *l)
				break
			}
		}
	}
	return letters
}

func (a address) on(h *host) bool {
	return a.channel == h.channel.Name() || a.channel == platformOf(h.channel.Name())
}

// letter writes to one person; nil if that is not possible on this channel, or
// if their conversation is the one excepted.
func (h *host) letter(ctx context.Context, id, except string, out channels.Outgoing) (*letter, error) {
	opener, ok := h.channel.(channels.Opener)
	if !ok {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, ownerTimeout)
	defer cancel()
	to, err := opener.OpenDirect(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("open their conversation: %w", err)
	}
	if to.Conversation == except {
		return nil, nil
	}
	if _, ok := h.channel.(channels.Buttons); !ok {
		out.Buttons = nil
	}
	message, err := h.channel.Post(ctx, to, out)
	if err != nil {
		return nil, err
	}
	return &letter{Channel: h.channel.Name(), Target: to, Message: message}, nil
}
