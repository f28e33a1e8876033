package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"clawbot/channels"
	"clawbot/gateway/memory"
	"clawbot/store"
)

// Operator is somebody who looks after the bot, as a channel knows them. What
// they may do follows from their role: see [Gateway.Owns].
type Operator struct {
	Channel string // whose ids Sender has
	Sender  channels.Sender
}

// RefusedError says why an operator may not do something, and what would let
// them.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return e.Reason }

// PendingCall is a tool call that waits for a person.
type PendingCall struct {
	ID      string    `json:"id"`
	Session string    `json:"session"`
	Tool    string    `json:"tool"`
	Label   string    `json:"label"`
	Show    string    `json:"show"` // exactly what would happen, plain text
	Where   string    `json:"where,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Sender  string    `json:"sender"` // for whom, an id of the channel
	Channel string    `json:"channel"`
	Always  bool      `json:"always,omitempty"` // may be allowed for good
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
}

// Owns reports whether the operator is an owner of the bot.
func (g *Gateway) Owns(by Operator) bool { return g.roleOf(by) == RoleOwner }

func (g *Gateway) roleOf(by Operator) string {
	return g.config().roleOf(by.Channel, by.Sender.ID, g.rules.person(by.Channel, by.Sender.ID))
}

// PendingCalls lists the calls of all conversations that wait for a decision,
// the longest waiting first.
func (g *Gateway) PendingCalls(ctx context.Context) ([]PendingCall, error) {
	values, err := g.cfg.Store.State().List(ctx, approvals)
	if err != nil {
		return nil, fmt.Errorf("list approvals: %w", err)
	}
	list := []PendingCall{}
	for _, v := range values {
		a, err := decodeApproval(v)
		if err != nil || a.Decision != "" || time.Now().After(a.Expires) {
			continue // a newer replica's, or one that nobody waits for
		}
		list = append(list, PendingCall{
			ID: a.ID, Session: a.Session, Tool: a.Tool, Label: a.Label, Show: a.Show, Where: a.Where, Reason: a.Reason,
			Sender: a.Sender, Channel: a.Channel, Always: a.Rule != "", Created: a.Created, Expires: a.Expires,
		})
	}
	slices.SortFunc(list, func(a, b PendingCall) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// Decide takes an operator's decision about a call that waits: "approve",
// "deny" or "always". Whoever runs the session, on whichever replica, goes on
// with it. The error is a *[RefusedError] if they may not decide that, and
// [store.ErrNotFound] if nothing waits for it any more.
func (g *Gateway) Decide(ctx context.Context, by Operator, session, id, word string) error {
	d := decision(word)
	if !d.granted() && d != decisionDeny {
		return fmt.Errorf("a decision is approve, deny or always, not %q: %w", word, store.ErrInvalid)
	}
	a, err := g.findApproval(ctx, session, id)
	switch {
	case err != nil:
		return fmt.Errorf("look for approval %s: %w", id, err)
	case a == nil || a.Decision != "" || time.Now().After(a.Expires):
		return fmt.Errorf("approval %s: %w", id, store.ErrNotFound)
	}
	if why := g.mayDecide(a, d, by.Channel, by.Sender.ID, g.roleOf(by)); why != "" {
		return &RefusedError{why}
	}
	return g.signal(ctx, a.Session, signal{
		Kind: signalDecide, Channel: by.Channel, Target: a.Target, Sender: by.Sender, Approval: a.ID, Decision: d,
	})
}

// StopSession ends what is being worked on in a session, as /stop there does. It
// is for owners; others get a *[RefusedError].
func (g *Gateway) StopSession(ctx context.Context, by Operator, session string) error {
	if !g.Owns(by) {
		return g.notOwner(by)
	}
	info, err := g.sessionInfo(ctx, session)
	if err != nil {
		return err
	}
	if info.Owner == "" && info.Waiting == 0 {
		return fmt.Errorf("nothing is worked on in %s: %w", session, store.ErrNotFound)
	}
	sig := signal{Kind: signalStop, Sender: by.Sender}
	last, err := g.lastMessage(ctx, info)
	if err != nil {
		return err
	}
	if last != nil {
		sig.Channel, sig.Target = last.Channel, last.Target
	}
	return g.signal(ctx, session, sig)
}

// RemoveSession deletes a session for an owner, see [DeleteSession].
func (g *Gateway) RemoveSession(ctx context.Context, by Operator, session string) error {
	if !g.Owns(by) {
		return g.notOwner(by)
	}
	info, err := g.sessionInfo(ctx, session)
	if err == nil && info.LastActive.IsZero() {
		err = fmt.Errorf("session %s: %w", session, store.ErrNotFound)
	}
	if err != nil {
		return err
	}
	if err := DeleteSession(ctx, g.cfg.Store, session); err != nil {
		return err
	}
	g.log.Info("session deleted by an operator", "session", session, "by", by.Sender.ID)
	return nil
}

// CancelScheduleOf cancels somebody's schedule for an owner. It is
// [store.ErrNotFound] if there is none.
func (g *Gateway) CancelScheduleOf(ctx context.Context, by Operator, channel, user, id string) error {
	if !g.Owns(by) {
		return g.notOwner(by)
	}
	ok, err := g.CancelSchedule(ctx, channel, user, id)
	if err == nil && !ok {
		err = fmt.Errorf("schedule %s: %w", id, store.ErrNotFound)
	}
	if err == nil {
		g.log.Info("a schedule was cancelled by an operator", "schedule", id, "by", by.Sender.ID)
	}
	return err
}

// Remembered is what is remembered about one person.
type Remembered = memory.Person

// Memories lists the people about whom something is remembered, sorted, at most
// limit of them from a cursor on; an empty next ends the list.
func (g *Gateway) Memories(ctx context.Context, after string, limit int) (people []Remembered, next string, err error) {
	return g.book().All(ctx, after, limit)
}

// ForgetFactOf forgets one fact about a person, named as in [Remembered], for an
// owner. It is [store.ErrNotFound] if there is none.
func (g *Gateway) ForgetFactOf(ctx context.Context, by Operator, user, id string) error {
	if !g.Owns(by) {
		return g.notOwner(by)
	}
	if store.CheckKey("memory/"+user) != nil {
		return fmt.Errorf("the memory of %q: %w", user, store.ErrNotFound)
	}
	_, err := g.book().Remove(ctx, user, id)
	if errors.Is(err, memory.ErrUnknown) {
		err = fmt.Errorf("fact %s of %s: %w", id, user, store.ErrNotFound)
	}
	if err == nil {
		g.log.Info("a fact was forgotten by an operator", "user", user, "by", by.Sender.ID)
	}
	return err
}

func (g *Gateway) notOwner(by Operator) error {
	return &RefusedError{fmt.Sprintf("Only an owner may do that, and %q is none: add it to owners of [access] in the configuration, "+
		"or open the page on the bot's own machine.", by.Sender.ID)}
}

// signal puts a signal of an operator into the session's inbox.
func (g *Gateway) signal(ctx context.Context, session string, s signal) error {
	s.V, s.ID = recordVersion, newID()
	data, err := encode(s)
	if err != nil {
		return err
	}
	acc, err := g.cfg.Store.Accept(ctx, store.Event{ID: "operator:" + s.ID, Session: session, Lane: store.Signals, Data: data})
	if err != nil {
		return fmt.Errorf("%s %s: %w", s.Kind, session, err)
	}
	g.log.Info("an operator's word was accepted", "session", session, "command", string(s.Kind), "sender", s.Sender.ID)
	g.wake(ctx, acc.Owner, hint{session: session, lane: store.Signals, look: s.Kind == signalDecide})
	return nil
}

// lastMessage is a person's latest message in a session, nil if it has none
// near its end.
func (g *Gateway) lastMessage(ctx context.Context, info store.SessionInfo) (*inbound, error) {
	const page = 64
	for to := info.Tail; to > max(0, info.Tail-16*page); to -= page {
		from := max(0, to-page)
		entries, err := g.cfg.Store.Archive().Read(ctx, info.Session, from, int(to-from))
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, e := range slices.Backward(entries) {
			if e.Kind == store.KindUser {
				return userRecord(e)
			}
		}
	}
	return nil, nil
}
