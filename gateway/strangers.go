package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"clawbot/channels"
	"clawbot/store"
)

// knock answers somebody who is not known and may be let in: by a code, which
// they are told once. It reports whether they were let in a moment ago.
func (h *host) knock(ctx context.Context, in *channels.Inbound) (welcome bool, err error) {
	if in.Kind != channels.Message || in.Sender.ID == "" {
		return false, nil
	}
	state := h.g.cfg.Store.State()
	// The copy in memory may be two seconds old.
	v, err := state.Get(ctx, personKey(h.channel.Name(), in.Sender.ID))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, fmt.Errorf("look whether the sender was let in: %w", err)
	}
	var who person
	if err == nil && json.Unmarshal(v.Data, &who) == nil && who.Paired && !who.blockedIn(in.Target.Chat) {
		h.g.rules.look()
		return true, nil
	}
	r, err := Pairing{State: state}.ask(ctx, h.channel.Name(), in)
	switch {
	case errors.Is(err, errTooMany):
		h.refuse(ctx, in, "This bot answers only people its owner let in, and too many are waiting for that already. Please try again in an hour.")
	case err != nil:
		return false, fmt.Errorf("make a pairing code: %w", err)
	default:
		h.log.Info("somebody asks to be let in", "sender", in.Sender.ID, "session", in.Target.Conversation)
		h.refuse(ctx, in, fmt.Sprintf("Hello! I answer only people my owner has let in. Your code is **%s**, good for an hour: my owner can send me `/pair %s`, or run `clawbot pairing approve %s` where I run. (You are `%s:%s` to me.)",
			r.Code, r.Code, r.Code, h.channel.Name(), in.Sender.ID))
	}
	return false, nil
}

// pair lets somebody in by a code that an owner gives.
func (h *host) pair(ctx context.Context, in *channels.Inbound, code string) string {
	if code == "" {
		return "Which code? Send `/pair CODE` with the code that the person was given."
	}
	p := Pairing{State: h.g.cfg.Store.State(), MakesOwner: len(h.g.config().Access.Owners) == 0 && h.g.config().localOwner(h.channel.Name(), in.Sender.ID)}
	r, owner, err := p.Approve(ctx, code, h.channel.Name()+":"+in.Sender.ID)
	if err == nil {
		err = h.g.rules.changed(ctx, nil)
	}
	switch {
	case errors.Is(err, ErrNoSuchCode):
		return "There is no such code. It may have expired after an hour; then their next message to me makes a new one."
	case err != nil:
		h.log.Error("somebody could not be let in", "err", err)
		return "That did not work: the store can't be written to. Please try again."
	case owner:
		h.log.Info("the first owner was made", "channel", r.Channel, "sender", r.ID)
		return fmt.Sprintf("%s (`%s:%s`) may write to me now, and is my owner, since I had none.", r.Name, r.Channel, r.ID)
	}
	h.log.Info("somebody was let in", "channel", r.Channel, "sender", r.ID, "by", in.Sender.ID)
	return fmt.Sprintf("%s (`%s:%s`) may write to me in private now. `/block %s` takes that back.", r.Name, r.Channel, r.ID, r.Channel+":"+r.ID)
}

// welcome tells somebody that they were let in.
func (g *Gateway) welcome(ctx context.Context, p person) {
	h := g.hosts[p.Channel]
	if h == nil {
		return
	}
	text := "You were let in: write to me as to a person. `/help` says what I can do."
	if p.Role == RoleOwner {
		text = "You were let in, and you are my owner. `/help` says what I can do."
	}
	h.notice(ctx, *p.Greet, channels.Sender{ID: p.ID}, text)
}
