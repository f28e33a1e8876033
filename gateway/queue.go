package gateway

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"clawbot/store"
)

// gather drains what a new run is to answer.
func (t *tenure) gather(queued int) error {
	t.awaitRest(t.ctx)
	cfg := &t.g.config().Queue
	if queued > cfg.Cap {
		w, err := t.lease.Peek(t.ctx, 0)
		if err == nil {
			_, _, err = t.enforceCap(w)
		}
		if err != nil {
			return t.failed(err)
		}
	}
	switch t.g.queueMode(t.channel(), t.session) {
	case ModeFollowUp:
		return t.gatherOne()
	case ModeCollect:
		if err := t.settle(); err != nil {
			return err
		}
	}
	_, err := t.drain(0, 0)
	return err
}

// gatherOne drains up to and with the next message that wants an answer, and
// what belongs to it.
func (t *tenure) gatherOne() error {
	for {
		got, err := t.drain(1, 0)
		if err != nil || len(got) == 0 {
			return err
		}
		if !got[0].record.quiet() {
			t.stillWaiting() // perhaps; the next drain finds out
			return t.gatherRest(got[0].record)
		}
	}
}

// gatherRest drains what belongs to a message.
func (t *tenure) gatherRest(last *inbound) error {
	for last.Group != "" || last.Unfinished {
		w, err := t.lease.Peek(t.ctx, 0)
		if err != nil {
			return t.failed(err)
		}
		if len(w.Messages) == 0 {
			return nil
		}
		next, err := decodeInbound(w.Messages[0].Data)
		if err != nil || w.Messages[0].Quiet || !next.joins(last) {
			return nil // whoever drains it deals with it
		}
		got, err := t.drain(1, 0)
		if err != nil || len(got) == 0 {
			return err
		}
		last = got[0].record
	}
	return nil
}

// settle waits, in collect mode, until nobody has written for the debounce
// window, so that a burst that queued behind a run becomes one turn. A message
// that is alone and old enough waits no longer, and nothing waits more than
// three windows.
func (t *tenure) settle() error {
	window := t.g.config().Queue.Debounce
	if window == 0 || time.Since(t.began) < time.Millisecond {
		return nil
	}
	for range 3 {
		w, err := t.lease.Peek(t.ctx, 0)
		if err != nil {
			return t.failed(err)
		}
		n := len(w.Messages)
		if n < 2 || len(w.Signals) > 0 {
			return nil
		}
		left := window - time.Since(w.Messages[n-1].At)
		if left <= 0 || !sleep(t.ctx, left) {
			return nil
		}
	}
	return nil
}

// channel is the name of the channel that the session belongs to.
func (t *tenure) channel() string {
	if t.tr.last != nil {
		return t.tr.last.Channel
	}
	name, _, _ := strings.Cut(t.session, ":")
	return name
}

// enforceCap takes messages beyond the cap out of the queue and tells their
// senders. It returns what is left, and the entry that stands for the dropped
// ones, if there is one.
func (t *tenure) enforceCap(w store.Waiting) (left store.Waiting, note *drained, err error) {
	var loud []store.Queued
	for _, q := range w.Messages {
		if !q.Quiet {
			loud = append(loud, q)
		}
	}
	excess := len(loud) - t.g.config().Queue.Cap
	if excess <= 0 {
		return w, nil, nil
	}
	reason := t.droppedReason()
	switch t.g.config().Queue.Drop {
	case dropNew:
		err = t.bury(loud[len(loud)-excess:], reason, t.droppedNotice("latest", excess))
	case dropOld:
		err = t.bury(loud[:excess], reason, t.droppedNotice("oldest", excess))
	default:
		if note, err = t.summarize(loud[:excess]); err == nil {
			err = t.buryInto(loud[:excess])
		}
	}
	if err != nil {
		return w, note, err
	}
	w, err = t.lease.Peek(t.ctx, 0)
	return w, note, t.failed(err)
}

func (t *tenure) droppedReason() string {
	return fmt.Sprintf("more than %d messages were waiting (queue.cap)", t.g.config().Queue.Cap)
}

// buryInto buries messages that one entry stands for now.
func (t *tenure) buryInto(shortened []store.Queued) error {
	return t.bury(shortened, t.droppedReason()+"; shortened into one entry",
		fmt.Sprintf("More than %d messages are waiting for me, so I shortened the oldest %d into one note.", t.g.config().Queue.Cap, len(shortened)))
}

// shortenedID names the entry that stands for the messages between two inbox
// positions.
const shortenedID = "dropped-%d-%d"

// buryShortened buries what a process that died had shortened into an entry,
// but not buried yet.
func (t *tenure) buryShortened() error {
	var first, last int64
	if t.tr.last == nil || t.tr.last.Kind != kindDropped {
		return nil
	}
	if _, err := fmt.Sscanf(t.tr.last.Event, shortenedID, &first, &last); err != nil {
		return fmt.Errorf("entry %q is damaged: %w", t.tr.last.Event, err)
	}
	w, err := t.lease.Peek(t.ctx, 0)
	if err != nil {
		return t.failed(err)
	}
	var left []store.Queued
	for _, q := range w.Messages {
		if !q.Quiet && first <= q.Position && q.Position <= last {
			left = append(left, q)
		}
	}
	return t.buryInto(left)
}

func (t *tenure) droppedNotice(which string, n int) string {
	return fmt.Sprintf("More than %d messages are waiting for me, so I dropped the %s %d. Please send what still matters again when I have answered.", t.g.config().Queue.Cap, which, n)
}

// summarize writes one entry that stands for messages that are dropped.
func (t *tenure) summarize(dropped []store.Queued) (*drained, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%sthe queue was full; of these %d messages only the beginnings were kept%s", markOpen, len(dropped), markClose)
	var note *inbound
	for _, q := range dropped {
		r, err := decodeInbound(q.Data)
		if _, newer := errors.AsType[newerError](err); newer {
			return nil, err
		}
		if err != nil {
			continue // it is buried with the others
		}
		fmt.Fprintf(&b, "\n%s%s · %s%s %s", markOpen, displayName(r.Sender.Name), displayName(r.Sender.ID), markClose,
			unmark.Replace(strings.ReplaceAll(clip(r.Text, 160), "\n", " ")))
		if note == nil || note.Role == RoleOwner {
			note = r
		}
	}
	if note == nil {
		return nil, nil
	}
	first, last := dropped[0], dropped[len(dropped)-1]
	id := fmt.Sprintf(shortenedID, first.Position, last.Position)
	r := &inbound{V: recordVersion, ID: newID(), Event: id, Kind: kindDropped, Channel: note.Channel, Target: note.Target,
		Sender: note.Sender, Role: note.Role, Room: note.Room, Text: b.String(), At: time.Now(), Inbox: last.Position}
	data, err := encode(r)
	if err != nil {
		return nil, err
	}
	e := store.Entry{ID: id, Kind: store.KindUser, Data: data, Position: t.tr.tail, Inbox: -1}
	if err := t.lease.Append(t.ctx, t.tr.tail, []store.Entry{e}); err != nil {
		return nil, t.failed(err)
	}
	r.position = t.tr.tail
	m := t.tr.addUser(r)
	t.tr.bytes += int64(len(data)) + entryCost
	t.tr.tail++
	return &drained{r, m}, nil
}
