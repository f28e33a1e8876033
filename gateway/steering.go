package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"clawbot/agentcore"
	"clawbot/store"
)

// steering gives the loop the messages that came while it worked. The loop asks
// between turns, and between the calls of a sequential batch; the answer costs
// nothing unless something is known to wait.
func (r *run) steering(context.Context) ([]*agentcore.Message, error) {
	if r.state.Load() == asksAgain {
		return nil, nil // this loop is given up; the next one takes them
	}
	var messages []*agentcore.Message
	if len(r.t.tr.open) > 0 {
		messages, r.broken = r.preview()
	} else {
		messages, r.broken = r.take()
	}
	return messages, r.broken
}

// take drains what may steer this run.
func (r *run) take() ([]*agentcore.Message, error) {
	t := r.t
	waiting, queued := t.takeWaiting()
	if !waiting {
		return nil, nil
	}
	if r.turns > 0 { // before that, gather has waited
		t.awaitRest(r.ctx)
	}
	before := int64(0)
	if r.mustChoose(queued) {
		w, err := t.lease.Peek(t.ctx, 0)
		if err != nil {
			return nil, t.failed(err)
		}
		var dropped *drained
		if w, dropped, err = t.enforceCap(w); err != nil {
			return nil, err
		}
		if dropped != nil {
			r.kept = append(r.kept, dropped.message)
			r.who.add(dropped.record)
		}
		chosen, left := r.choose(w.Messages)
		if left {
			defer t.stillWaiting()
		}
		if len(chosen) == 0 {
			return nil, nil
		}
		before = chosen[len(chosen)-1].Position + 1
	}
	return r.drainUpTo(before)
}

// drainUpTo moves messages into the transcript and returns what the model is to
// see of them now: remarks on messages that were answered long ago wait for the
// next one that matters.
func (r *run) drainUpTo(before int64) ([]*agentcore.Message, error) {
	drained, err := r.t.drain(0, before)
	if err != nil {
		return nil, err
	}
	if err := r.readFiles(); err != nil {
		return nil, err
	}
	loud := false
	for _, d := range drained {
		if d.record.files != nil {
			d.message = d.record.message()
		}
		r.kept = append(r.kept, d.message)
		r.out.entered(d.record)
		r.t.log.Info("message joined a run", "run", r.id, "message", d.record.ID)
		if !d.record.quiet() {
			r.who.add(d.record)
			r.account.Charge(payer(d.record.Channel, d.record.Sender.ID))
			loud = true
		} else if r.who.answers(d.record.Key) {
			loud = true
		}
	}
	r.hears()
	if !loud {
		return nil, nil
	}
	messages := r.kept
	r.kept = nil
	return messages, nil
}

// preview shows the loop what waits while calls are open and nothing can be
// drained. The loop answers the calls that are left, then injects the messages;
// that is when they are drained.
func (r *run) preview() ([]*agentcore.Message, error) {
	t := r.t
	if r.peeked > 0 {
		return nil, nil
	}
	if waiting, _ := t.takeWaiting(); !waiting {
		return nil, nil
	}
	defer t.stillWaiting()
	w, err := t.lease.Peek(t.ctx, 0)
	if err != nil {
		return nil, t.failed(err)
	}
	chosen, _ := r.choose(w.Messages)
	var messages []*agentcore.Message
	before := int64(0)
	for _, q := range chosen {
		rec, err := decodeInbound(q.Data)
		if err != nil || len(rec.Attachments) > 0 {
			break // it is dealt with when the calls are done
		}
		before = q.Position + 1
		rec.changed = q.Quiet
		if rec.quiet() && !r.who.answers(rec.Key) {
			continue
		}
		messages = append(messages, rec.message())
	}
	if len(messages) > 0 {
		r.peeked = before
	}
	return messages, nil
}

// injected is called when the loop shows messages to the model. What it was
// given before it could be drained is drained now.
func (r *run) injected() error {
	r.out.freeze()
	if r.peeked == 0 {
		return nil
	}
	before := r.peeked
	r.peeked = 0
	_, err := r.drainUpTo(before)
	r.kept = nil
	return err
}

// mustChoose reports whether some of what waits may have to stay behind.
func (r *run) mustChoose(queued int) bool {
	cfg := &r.t.g.config().Queue
	return r.mode == ModeFollowUp || r.mode == ModeCollect || queued > cfg.Cap ||
		!r.who.isDirect() && cfg.SteerBy != steerAnyone
}

// choose returns the messages at the front of the queue that may enter this
// run, and whether others stay behind. Order is kept: nobody overtakes.
func (r *run) choose(waiting []store.Queued) (chosen []store.Queued, left bool) {
	for i, q := range waiting {
		if !r.maySee(&q) {
			return waiting[:i], countLoud(waiting[i:]) > 0
		}
	}
	return waiting, false
}

func (r *run) maySee(q *store.Queued) bool {
	if q.Quiet {
		return true
	}
	if r.mode == ModeFollowUp || r.mode == ModeCollect {
		return false
	}
	rec, err := decodeInbound(q.Data)
	return err == nil && r.who.maySteer(r.t.g.config().Queue.SteerBy, rec.Sender.ID)
}

func countLoud(waiting []store.Queued) int {
	n := 0
	for i := range waiting {
		if !waiting[i].Quiet {
			n++
		}
	}
	return n
}

// prepareNextTurn takes tools away when somebody with fewer rights has joined,
// and makes room for the next request when the context has grown.
func (r *run) prepareNextTurn(ctx context.Context, turn agentcore.Turn) (*agentcore.NextTurn, error) {
	var next agentcore.NextTurn
	if turn.Message.Stop == agentcore.StopToolUse {
		compacted, err := r.makeRoom(ctx)
		if err != nil {
			r.broken = err
			return nil, err
		}
		if compacted {
			next.Messages = r.t.tr.messages
			r.kept = nil // they are among them
		}
	}
	if r.env.refresh() {
		next.Tools = r.env.tools()
	}
	return &next, nil
}

// stillWaiting remembers that messages were left in the inbox.
func (t *tenure) stillWaiting() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = true
}

// failed notes that a call to the store failed: a fenced tenure is over.
func (t *tenure) failed(err error) error {
	if errors.Is(err, store.ErrFenced) {
		t.lose(err)
	}
	return err
}

// took notes how far the inbox was drained: news of what lies before is old.
func (t *tenure) took(position int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken = max(t.taken, position+1)
}

// drained is a message that has just entered the transcript.
type drained struct {
	record  *inbound
	message *agentcore.Message
}

// drain moves messages from the inbox into the transcript: up to max (0: all)
// of those before an inbox position (0: any).
func (t *tenure) drain(max int, before int64) ([]drained, error) {
	entries, err := t.lease.Drain(t.ctx, t.tr.tail, max, before)
	if err != nil {
		return nil, t.failed(err)
	}
	out := make([]drained, 0, len(entries))
	for _, e := range entries {
		rec, err := userRecord(e)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", e.Position, err)
		}
		t.counted(rec)
		t.marked(rec)
		if rec.Kind == kindLost {
			t.log.Error("a message can't be read and is given up", "event", e.ID, "position", e.Position)
			t.lost = true
		}
		m := t.tr.addUser(rec)
		t.tr.tail = e.Position + 1
		t.tr.bytes += int64(len(e.Data)) + entryCost
		out = append(out, drained{rec, m})
		t.took(e.Inbox)
		t.g.cfg.Observer.Waited(rec.Channel, time.Since(e.At))
		t.log.Debug("message drained", "message", rec.ID, "position", e.Position)
	}
	return out, nil
}
