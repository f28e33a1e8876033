package gateway

import "clawbot/store"

// expect registers the wait for a decision. The channel gets it, also if it
// came before; done ends the wait.
func (t *tenure) expect(id string) (decided <-chan *signal, done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ch := make(chan *signal, 1)
	if s := t.decisions[id]; s != nil {
		ch <- s
	}
	if t.waits == nil {
		t.waits = map[string]chan *signal{}
	}
	t.waits[id] = ch
	return ch, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.waits, id)
	}
}

// decided passes a decision on to whoever waits for it. t.mu is held.
func (t *tenure) decided(s *signal) {
	if t.decisions[s.Approval] != nil {
		return // the first one counts
	}
	if t.decisions == nil {
		t.decisions = map[string]*signal{}
	}
	t.decisions[s.Approval] = s
	if ch := t.waits[s.Approval]; ch != nil {
		ch <- s // there is room for the one
	}
}

// park gives the run's place to others while it waits for a person. A process
// that is ending does not wait for people.
func (t *tenure) park() {
	t.mu.Lock()
	t.parked++
	first := t.parked == 1
	t.mu.Unlock()
	if first {
		t.g.dispatch.park(t)
	}
	if t.g.dispatch.closed() {
		t.cut()
	}
}

// unpark takes a place again when nothing of the run waits any more, at once:
// who was kept waiting by a person is not made to wait in line as well.
func (t *tenure) unpark() {
	t.mu.Lock()
	t.parked--
	last := t.parked == 0
	t.mu.Unlock()
	if last {
		t.g.dispatch.unpark(t)
	}
}

// cutParked ends a run that waits for a person, to be taken up by another
// process.
func (t *tenure) cutParked() {
	t.mu.Lock()
	waits := t.parked > 0
	t.mu.Unlock()
	if waits {
		t.cut()
	}
}

// park frees the tenure's place.
func (d *dispatcher) park(t *tenure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t.slot {
		t.slot, t.gave = false, true
		d.running--
		d.pump()
	}
}

// unpark takes the place back that park freed, even beyond the cap.
func (d *dispatcher) unpark(t *tenure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t.gave {
		t.slot, t.gave = true, false
		d.running++
	}
}

// lateDecision is a decision that no run waited for when it was taken: it is
// kept for the run that takes the call up again, if there is one.
func (t *tenure) lateDecision(q *store.Queued, sig *signal) error {
	a, err := t.g.getApproval(t.ctx, t.session, sig.Approval)
	if err != nil {
		return t.failed(err)
	}
	if a != nil && a.Decision == "" && q.At.Before(a.Expires) {
		a.Decision, a.Decider = sig.Decision, sig.Sender.Name
		if a.Decider == "" {
			a.Decider = sig.Sender.ID
		}
		if a.Decision == decisionAlways {
			if err := t.g.putRule(t.ctx, a); err != nil {
				return t.failed(err)
			}
		}
		if err := t.g.putApproval(t.ctx, a); err != nil {
			return t.failed(err)
		}
		t.log.Info("approval settled", "message", a.For, "approval", a.ID, "decision", string(a.Decision), "by", sig.Sender.ID)
	}
	return nil
}

// decides reports whether a signal that waits is a decision, which goes to its
// wait; one that nobody waits for is taken in before the next run. t.mu is held.
func (t *tenure) decides(q *store.Queued) bool {
	sig, err := decodeSignal(q.Data)
	if err != nil || sig.Kind != signalDecide {
		return false
	}
	t.decided(sig)
	t.look = t.look || t.run == nil
	return true
}
