package reply

import (
	"time"

	"clawbot/channels"
	"clawbot/channels/markdown"
)

// job is one write to the platform.
type job struct {
	index  int // of the slot; one past the last for a new message
	text   string
	status string
	final  bool
	remove bool
	later  bool // nothing yet: to be decided again when it is due
}

// next decides what to write, and when it may be written at the earliest. It
// returns nil if everything is as it should be for now.
func (a *actor) next() (*job, time.Time) {
	var best *job
	var when time.Time
	now := time.Now()
	for i := range a.plan.frozen {
		j, at := a.nextFinal(i)
		if j != nil && (best == nil || at.Before(when)) {
			best, when = j, at
			if !at.After(now) {
				return best, when
			}
		}
		if i >= len(a.slots) || !a.slots[i].placed() {
			return best, when // those below wait for this one
		}
	}
	if a.said.finished {
		if best == nil && len(a.slots) > len(a.plan.frozen) {
			return a.nextRemoval()
		}
		return best, when
	}
	if j, at := a.nextDraft(now); j != nil && (best == nil || at.Before(when)) {
		return j, at
	}
	return best, when
}

// placed reports that the slot's message has its place in the conversation.
func (s *slot) placed() bool { return s.ID != "" || s.given }

// nextFinal is what has to be done for frozen segment i.
func (a *actor) nextFinal(i int) (*job, time.Time) {
	j := &job{index: i, text: a.plan.frozen[i].text, final: true}
	if i >= len(a.slots) {
		return j, time.Time{}
	}
	s := a.slots[i]
	switch {
	case s.given:
		return nil, time.Time{}
	case s.ID == "":
		return j, s.notBefore
	case s.final && s.status == "" && (s.known && s.text == j.text || !s.known && s.Hash == hash(j.text)):
		return nil, time.Time{}
	}
	return j, later(s.notBefore, a.paced(s))
}

// paced is when the slot's message may be edited next.
func (a *actor) paced(s *slot) time.Time {
	if s.wrote.IsZero() {
		return time.Time{}
	}
	limits := a.limits
	if grows, ok := a.stream(s); ok {
		limits.EditEvery = grows.Every
	}
	return s.wrote.Add(a.cfg.Pacer.every(a.target.Conversation, limits))
}

// stream reports whether the platform lets the slot's message grow.
func (a *actor) stream(s *slot) (channels.Stream, bool) {
	if a.native == nil || s.ID == "" {
		return channels.Stream{}, false
	}
	return a.native.Stream(a.target, s.ID)
}

const (
	// leastRoll is how much a message shows, in the platform's unit, before the
	// reply goes on in the next one because of its age.
	leastRoll = 200
	// rollRoom lets the message end with what it shows: a splitter keeps a little
	// of its limit back.
	rollRoom = 16
)

// roll ends the tail's message if the platform won't let it grow any longer:
// what comes after that which it showed at the time begins the next.
func (a *actor) roll(i int, now time.Time) {
	if i >= len(a.slots) {
		return
	}
	s := a.slots[i]
	if grows, ok := a.stream(s); !ok || now.Before(grows.Until) || !s.known {
		return
	}
	if s.full == 0 {
		s.full = a.size(s.text) + rollRoom
	}
	if s.full >= leastRoll {
		a.plan.roll(a.said.text, s.full)
	}
}

// nextRemoval takes away a message that no text is left for.
func (a *actor) nextRemoval() (*job, time.Time) {
	i := len(a.slots) - 1
	s := a.slots[i]
	return &job{index: i, final: true, remove: true}, later(s.notBefore, a.paced(s))
}

// nextDraft is what has to be done for the tail.
func (a *actor) nextDraft(now time.Time) (*job, time.Time) {
	begin, _ := a.plan.start()
	seen := draftKey{begin, len(a.said.text), a.said.status, a.truncations}
	if a.noDrafts || seen == a.draftSeen || len(a.said.text) == begin && a.said.status == "" {
		a.tailSince = time.Time{}
		a.wakeFor(len(a.said.text) + 1)
		return nil, time.Time{}
	}
	i := len(a.plan.frozen)
	at := a.draftDue(i, now, len(a.said.text)-begin)
	if at.After(now) {
		return &job{index: i, later: true}, at
	}
	a.roll(i, now)
	text := a.plan.tail(a.said.text)
	if len(a.plan.frozen) > i {
		return a.next() // it rolled over: the frozen part goes first
	}
	a.draftSeen = seen
	return a.draft(i, text, now)
}

// draftDue is when the tail's message may be written next; n is the length of
// the tail.
func (a *actor) draftDue(i int, now time.Time, n int) time.Time {
	if i < len(a.slots) {
		return later(a.slots[i].notBefore, a.paced(a.slots[i]))
	}
	if a.tailSince.IsZero() {
		a.tailSince = now
	}
	begin := len(a.said.text) - n
	if n > 0 && n >= a.limits.MinFirst {
		return a.tailSince.Add(min(settle, a.limits.FirstAfter))
	}
	if a.limits.MinFirst > 0 {
		a.wakeFor(begin + a.limits.MinFirst)
	}
	return a.tailSince.Add(a.limits.FirstAfter)
}

// draft is the job that shows the tail, nil if it shows already or can't.
func (a *actor) draft(i int, text string, now time.Time) (*job, time.Time) {
	repaired := markdown.Repair(text) // as the channel will show it
	if markdown.Blank(repaired) {
		text = ""
	}
	status := a.statusLine(text)
	j := &job{index: i, text: text, status: status}
	if i < len(a.slots) {
		s := a.slots[i]
		if !s.placed() || s.given || s.known && s.text == text && s.status == status {
			j = nil
		}
	}
	full := len(repaired) > a.plan.limit/2 && a.size(repaired) > a.plan.limit // will roll over
	if j == nil || full || text == "" && status == "" {
		a.wakeFor(len(a.said.text) + 1)
		return nil, time.Time{}
	}
	return j, now
}
