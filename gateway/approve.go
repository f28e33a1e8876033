package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/store"
	"clawbot/tools"
)

const (
	// remindEvery is how often a pending approval is published again to
	// channels that draw it: a page may have been opened since.
	remindEvery = 5 * time.Second
	settleTime  = 5 * time.Second
	// tellTime bounds how long owners elsewhere are written to before the wait
	// for their decision begins.
	tellTime = 20 * time.Second
)

// Judge is a [Toolbox] that decides which calls a person must approve. It is
// asked before every call, after hooks and policy and before the call is noted
// as begun; the call's scope is in ctx.
type Judge interface {
	Judge(ctx context.Context, call agentcore.Call) (tools.Decision, error)
}

// approve decides whether a call may run, and waits for a person if it takes
// one. A refusal is for the model. The returned context carries the approval.
func (e *environment) approve(ctx context.Context, key string, call agentcore.Call) (approved context.Context, refusal string, err error) {
	judge, ok := e.r.t.g.cfg.Toolbox.(Judge)
	if !ok {
		return ctx, "", nil
	}
	d, err := judge.Judge(ctx, call)
	switch {
	case err != nil:
		return ctx, "", err
	case d.Verdict == tools.Allow:
		return ctx, "", nil
	case d.Verdict == tools.Deny:
		return ctx, "Not run: " + d.Reason, nil
	case len(d.Show) > maxShown:
		return ctx, fmt.Sprintf("Not run: a person must approve it (%s), and could not judge %d bytes at a glance. Do it in smaller steps.", d.Reason, len(d.Show)), nil
	}
	if ok, err := e.r.t.g.ruled(ctx, e.r.t.session, d.Rule); err != nil {
		return ctx, "", err
	} else if ok {
		trailOf(ctx).decided("rule", string(decisionAlways))
		return tools.WithApproval(ctx, d.Binding), "", nil
	}
	a, refusal, err := e.ask(ctx, key, &d, call.Name)
	if err != nil || refusal != "" {
		return ctx, refusal, err
	}
	if err := e.await(ctx, a, call.ID); err != nil {
		return ctx, "", err
	}
	trailOf(ctx).decided(cmp.Or(a.deciderID, a.Decider), string(a.Decision))
	if !a.Decision.granted() {
		return ctx, a.refusal(), nil
	}
	return tools.WithApproval(ctx, a.Binding), "", nil
}

// ask makes the approval of a call known, or finds the one that an earlier
// tenure made.
func (e *environment) ask(ctx context.Context, key string, d *tools.Decision, tool string) (a *approval, refusal string, err error) {
	g := e.r.t.g
	e.mu.Lock()
	label := tool
	if t := e.allowed[tool]; t != nil && t.Label != "" {
		label = t.Label
	}
	fresh := e.newApproval(key, d, label, tool)
	if e.asked == nil {
		e.asked = map[string]string{}
	}
	e.asked[key] = fresh.ID
	e.mu.Unlock()
	if a, err = g.getApproval(ctx, fresh.Session, fresh.ID); err != nil {
		return nil, "", err
	}
	switch {
	case a != nil && a.Binding == d.Binding:
		e.r.log.Info("waiting for an approval that was asked for before", "approval", a.ID)
	case a != nil: // what the call would do has changed since: it is asked anew
		fresh.version, fresh.Message, fresh.Letters = a.version, a.Message, a.Letters
		a = fresh
	default:
		if !fresh.Owner {
			n, err := g.waitingFor(ctx, fresh.Channel, fresh.Sender)
			if err != nil {
				return nil, "", err
			}
			if n >= maxAsked {
				return nil, fmt.Sprintf("Not run: %d approvals of this person wait already. Nobody needs to be asked for more before they are decided.", n), nil
			}
		}
		a = fresh
	}
	if a == fresh {
		if err := g.putApproval(ctx, a); err != nil {
			return nil, "", err
		}
		e.r.log.Info("asking for approval", "approval", a.ID, "tool", tool, "reason", d.Reason)
	}
	if a.Decision == "" {
		if err = e.show(ctx, a); err == nil {
			err = e.tellDeciders(ctx, a)
		}
	}
	return a, "", err
}

// tellDeciders asks owners and approvers in their own conversations about what
// somebody else's message led to, or shows them there what became of it.
func (e *environment) tellDeciders(ctx context.Context, a *approval) error {
	g := e.r.t.g
	if len(a.Letters) == 0 {
		if a.Owner || a.Decision != "" {
			return nil
		}
		bounded, cancel := context.WithTimeout(ctx, tellTime)
		defer cancel()
		if a.Letters = g.write(bounded, g.deciders(a), a.Channel, a.Session, a.letter()); len(a.Letters) == 0 {
			return nil // those who are in the conversation can decide
		}
		return g.putApproval(ctx, a)
	}
	for _, l := range a.Letters {
		h := g.hosts[l.Channel]
		if h == nil {
			continue
		}
		if err := h.channel.Edit(ctx, l.Target, l.Message, a.letter()); err != nil {
			h.log.Warn("the question for an approval was not edited", "message", a.For, "approval", a.ID, "err", err)
		}
	}
	return nil
}

// show posts the question, or edits it to what became of it.
func (e *environment) show(ctx context.Context, a *approval) error {
	h := e.r.host
	if h.draws() {
		e.r.t.g.live(h.channel, a.Session).publish(a.live())
		return nil
	}
	out := channels.Outgoing{Markdown: a.text(), Nonce: "approval-" + a.ID}
	if _, ok := h.channel.(channels.Buttons); ok {
		out.Buttons = a.buttons()
	}
	if a.Message != "" {
		if err := h.channel.Edit(ctx, a.Target, a.Message, out); err != nil {
			e.r.log.Warn("the question for an approval was not edited", "approval", a.ID, "err", err)
		}
		return nil
	}
	if a.Decision != "" {
		return nil // nobody was asked
	}
	id, err := h.channel.Post(ctx, a.Target, out)
	if err != nil {
		return fmt.Errorf("nobody could be asked for approval: %w", err)
	}
	a.Message = id
	return e.r.t.g.putApproval(ctx, a)
}

// await waits until the approval is decided, expires, or the run ends. The run
// gives its place to others meanwhile and its clock stands still.
func (e *environment) await(ctx context.Context, a *approval, callID string) error {
	if a.Decision != "" {
		return nil
	}
	t := e.r.t
	decided, done := t.expect(a.ID)
	defer done()
	defer agentcore.PauseTimeout(ctx)()
	t.park()
	defer t.unpark()
	expiry := time.NewTimer(time.Until(a.Expires))
	defer expiry.Stop()
	remind := time.NewTicker(remindEvery)
	defer remind.Stop()
	for {
		select {
		case s := <-decided:
			return e.settle(ctx, a, s.Decision, s.Sender.Name, s.Sender.ID)
		case <-expiry.C:
			return e.settle(ctx, a, decisionExpired, "", "")
		case sender := <-t.knocks:
			e.explain(ctx, a, sender)
		case <-remind.C:
			if e.r.host.draws() {
				t.g.live(e.r.host.channel, a.Session).publish(a.live())
			}
		case <-ctx.Done():
			return e.leave(a, callID, context.Cause(ctx))
		}
	}
}

// settle keeps the decision before anything follows from it.
func (e *environment) settle(ctx context.Context, a *approval, d decision, name, id string) error {
	a.Decision, a.Decider, a.deciderID = d, name, id
	if a.Decider == "" {
		a.Decider = id
	}
	if d == decisionAlways {
		if err := e.r.t.g.putRule(ctx, a); err != nil {
			return err
		}
	}
	if err := e.r.t.g.putApproval(ctx, a); err != nil {
		return err
	}
	e.r.log.Info("approval settled", "approval", a.ID, "decision", string(d), "by", id)
	return errors.Join(e.show(ctx, a), e.tellDeciders(ctx, a))
}

// leave ends the wait without a decision: for whoever takes the session over,
// or because the run was stopped.
func (e *environment) leave(a *approval, callID string, cause error) error {
	if errors.Is(cause, errHandOff) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.left == nil {
			e.left = map[string]bool{}
		}
		e.left[callID] = true
		return cause
	}
	if e.r.t.ctx.Err() != nil {
		return cause
	}
	ctx, cancel := context.WithTimeout(e.r.t.ctx, settleTime)
	defer cancel()
	if err := e.settle(ctx, a, decisionWithdrawn, "", ""); err != nil {
		e.r.log.Warn("an approval was not withdrawn; it expires", "approval", a.ID, "err", err)
	}
	return cause
}

// handedOff reports whether a call was waiting for a person when the process
// began to end: then its result is for whoever takes the session over.
func (e *environment) handedOff(callID string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.left[callID]
}

// explain tells somebody who wrote meanwhile why nothing happens, once.
func (e *environment) explain(ctx context.Context, a *approval, sender string) {
	e.mu.Lock()
	first := !e.explained[a.ID+"\x00"+sender]
	if e.explained == nil {
		e.explained = map[string]bool{}
	}
	e.explained[a.ID+"\x00"+sender] = true
	e.mu.Unlock()
	if first {
		text := fmt.Sprintf("I take that up when it is decided whether I may go on: `/approve %s` or `/deny %s`. `/stop` ends it.", a.ID, a.ID)
		e.r.host.notice(ctx, a.Target, channels.Sender{ID: sender}, text)
	}
}

// forget removes the approval of a call whose result is recorded.
func (e *environment) forget(key string) {
	e.mu.Lock()
	id := e.asked[key]
	delete(e.asked, key)
	e.mu.Unlock()
	if id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(e.r.t.ctx, settleTime)
	defer cancel()
	if err := e.r.t.g.cfg.Store.State().Delete(ctx, approvalKey(e.r.t.session, id)); err != nil {
		e.r.log.Debug("a settled approval stays until it expires", "approval", id, "err", err)
	}
}

// readDecision reads a decision from a command or a pressed button.
func readDecision(in *channels.Inbound) (d decision, id string, ok bool) {
	switch in.Kind {
	case channels.Click:
		word, id, found := strings.Cut(in.Text, ":")
		d, id = decision(word), strings.TrimSpace(id)
		return d, id, found && id != "" && (d.granted() || d == decisionDeny)
	case channels.Message:
		fields := strings.Fields(in.Text)
		if len(fields) < 2 || len(fields) > 3 {
			return "", "", false
		}
		name, _, _ := strings.Cut(strings.ToLower(fields[0]), "@")
		always := len(fields) == 3 && strings.EqualFold(fields[2], "always")
		id = strings.ToLower(strings.Trim(fields[1], "`"))
		switch {
		case name == "/approve" && always:
			return decisionAlways, id, true
		case name == "/approve" && len(fields) == 2:
			return decisionApprove, id, true
		case name == "/deny" && len(fields) == 2:
			return decisionDeny, id, true
		}
	}
	return "", "", false
}

// decide takes a person's decision. It may be about a call of another
// conversation, and may reach another process than the one that waits.
func (h *host) decide(ctx context.Context, in *channels.Inbound, d decision, id string) error {
	g := h.g
	role := g.config().roleOf(h.channel.Name(), in.Sender.ID, g.rules.person(h.channel.Name(), in.Sender.ID))
	a, err := g.findApproval(ctx, in.Target.Conversation, id)
	if err != nil {
		return fmt.Errorf("look for approval %s: %w", id, err)
	}
	if a == nil || a.Decision != "" || time.Now().After(a.Expires) {
		h.notice(ctx, in.Target, in.Sender, "Nothing waits for that decision any more: it was taken, or its time is over.")
		return nil
	}
	if why := g.mayDecide(a, d, h.channel.Name(), in.Sender.ID, role); why != "" {
		h.log.Info("a decision was refused", "message", a.For, "approval", id, "sender", in.Sender.ID)
		h.notice(ctx, in.Target, in.Sender, why)
		return nil
	}
	s := signal{V: recordVersion, ID: newID(), Kind: signalDecide, Channel: h.channel.Name(), Target: in.Target, Sender: in.Sender, Approval: a.ID, Decision: d}
	data, err := encode(s)
	if err != nil {
		return err
	}
	acc, err := g.cfg.Store.Accept(ctx, store.Event{ID: eventID(in), Session: a.Session, Lane: store.Signals, Data: data})
	if err != nil {
		return h.acceptFailed(ctx, in, err)
	}
	h.log.Info("decision accepted", "message", a.For, "approval", a.ID, "session", a.Session, "decision", string(d), "sender", in.Sender.ID, "duplicate", acc.Duplicate)
	g.wake(ctx, acc.Owner, hint{session: a.Session, lane: store.Signals, look: true})
	return nil
}
