package gateway

import (
	"errors"

	"clawbot/store"
)

const (
	stoppedText = "⏹ Stopped."
	idleText    = "There is nothing to stop: I am not working on anything here."
	resetText   = "Started a new conversation."
)

// dealWithSignals does what waiting signals ask. r is the run that was ended
// for them, nil if there was none. Messages that were sent before a signal enter
// the transcript as context that the stop covers; later ones are answered.
func (t *tenure) dealWithSignals(r *run) error {
	w, err := t.lease.Peek(t.ctx, 0)
	if err != nil {
		return t.failed(err)
	}
	for i := range w.Signals {
		ended, err := t.dealWith(&w.Signals[i], &w, r)
		if err != nil {
			return err
		}
		if ended {
			r = nil
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(w.Signals); n > 0 {
		t.before = w.Signals[n-1].Position + 1
		// Others may have come meanwhile, and what was told of them is forgotten
		// here: look once more.
		t.look = true
	}
	t.stop = false
	t.queued = countLoud(w.Messages)
	t.waiting = t.waiting || t.queued > 0
	t.holdFor(w.Messages)
	return nil
}

// dealWith reports whether the signal has ended the run, as all but decisions
// do.
func (t *tenure) dealWith(q *store.Queued, w *store.Waiting, r *run) (ended bool, err error) {
	sig, err := decodeSignal(q.Data)
	if _, newer := errors.AsType[newerError](err); newer {
		return false, err
	}
	if err != nil {
		t.log.Error("a signal can't be read and is dropped", "event", q.ID, "err", err)
		_, err = t.lease.Peek(t.ctx, q.Position+1)
		return false, t.failed(err)
	}
	if sig.Kind == signalCompact {
		t.asked = sig
		_, err = t.lease.Peek(t.ctx, q.Position+1)
		return false, t.failed(err)
	}
	if sig.Kind == signalDecide {
		if err := t.lateDecision(q, sig); err != nil {
			return false, err
		}
		_, err := t.lease.Peek(t.ctx, q.Position+1)
		return false, t.failed(err)
	}
	return t.obey(q, sig, w, r)
}

// obey stops what was asked for before the signal was sent, and reports whether
// there was any. A message of after that may have been drained all the same, by
// who did not know of the signal yet: it is not covered, and answered next.
func (t *tenure) obey(q *store.Queued, sig *signal, w *store.Waiting, r *run) (stopped bool, err error) {
	stale := len(t.tr.pending) > 0 && len(sentFrom(t.tr.pending, q.Tail)) == len(t.tr.pending)
	if !stale || sig.Kind == signalReset {
		if err := t.closeCalls(false); err != nil {
			return false, err
		}
	}
	if err := t.coverBefore(q.Tail, w); err != nil {
		return false, err
	}
	later := sentFrom(t.tr.pending, q.Tail)
	stopped = !stale && (t.tr.unfinished || r != nil)
	if stopped {
		n := note{Kind: noteStopped, Text: stoppedText, Final: true}
		if len(later) > 0 {
			n.Before = q.Tail
		}
		if err := t.note(t.answering(r), "stop-"+sig.ID, n); err != nil {
			return false, err
		}
	}
	if sig.Kind == signalReset {
		if err := t.reset(sig, q.Tail); err != nil {
			return false, err
		}
	}
	if _, err := t.lease.Peek(t.ctx, q.Position+1); err != nil {
		return false, t.failed(err)
	}
	t.log.Info("signal obeyed", "message", sig.ID, "command", string(sig.Kind), "stopped", stopped)
	return stopped, t.confirm(sig, stopped, r)
}

// answering is the run whose reply a stop ends: the present one, or one that
// was taken over and had shown something.
func (t *tenure) answering(r *run) string {
	if r != nil {
		return r.id
	}
	return t.resume.run
}

// coverBefore drains the messages that were sent before the signal.
func (t *tenure) coverBefore(tail int64, w *store.Waiting) error {
	n := 0
	for n < len(w.Messages) && w.Messages[n].Position < tail {
		n++
	}
	if n == 0 {
		return nil
	}
	w.Messages = w.Messages[n:]
	_, err := t.drain(0, tail)
	return err
}

// reset begins a new conversation: a compaction with an empty summary. It
// keeps what was sent from the inbox position tail on, answered or not.
func (t *tenure) reset(sig *signal, tail int64) error {
	last := t.tr.last
	data, err := encode(&payload{V: recordVersion, Last: last})
	if err != nil {
		return err
	}
	at := t.tr.tail
	keep := at
	summary := store.Entry{Kind: store.KindSummary, ID: "reset-" + sig.ID, Data: data}
	if t.tr.summaryAt >= 0 || last != nil && last.Inbox >= tail {
		live, err := t.lease.Load(t.ctx, 0)
		if err != nil {
			return t.failed(err)
		}
		if len(live.Entries) > 0 && live.Entries[0].ID == summary.ID {
			return nil // written by the tenure before
		}
		for _, e := range live.Entries {
			if e.Kind == store.KindUser && e.Inbox >= tail {
				keep = e.Position
				break
			}
		}
	}
	if err := t.lease.Compact(t.ctx, at, summary, keep); err != nil {
		return t.failed(err)
	}
	live, err := t.lease.Load(t.ctx, at)
	if err != nil {
		return t.failed(err)
	}
	return t.tr.load(live)
}

// confirm says what the signal did: as the end of the reply it stopped, or as
// an answer of its own.
func (t *tenure) confirm(sig *signal, stopped bool, r *run) error {
	reset := sig.Kind == signalReset
	switch {
	case stopped && r != nil:
		r.out.remark(stoppedText)
	case stopped && t.resume.run != "":
		if err := t.endResumed(sig); err != nil {
			return err
		}
	case stopped && !reset:
		t.tell(sig.Channel, sig.Target, sig.Sender, stoppedText)
	case !reset:
		t.tell(sig.Channel, sig.Target, sig.Sender, idleText)
	}
	if stopped {
		t.resume = resumption{}
	}
	if reset {
		if h := t.g.hosts[sig.Channel]; h != nil {
			t.g.live(h.channel, t.session).reset(t.tr.tail)
		}
		t.tell(sig.Channel, sig.Target, sig.Sender, resetText)
	}
	return nil
}

// endResumed ends the reply of a run that was taken over and stopped before it
// went on.
func (t *tenure) endResumed(sig *signal) error {
	h := t.g.hosts[sig.Channel]
	if h == nil {
		return t.closeReply(t.lease.Start().Reply)
	}
	d := t.g.deliver(t, h, t.about().With("run", t.resume.run), sig.Target, t.resume.run, t.resume.state)
	defer d.close()
	d.begin(t.resume.said, nil)
	d.remark(stoppedText)
	return d.finish(runEnd{text: stoppedText})
}
