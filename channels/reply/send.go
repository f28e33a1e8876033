package reply

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"clawbot/channels"
	"clawbot/channels/markdown"
)

const (
	// sendTimeout bounds one call of the platform.
	sendTimeout = 30 * time.Second
	// maxTries bounds attempts where each may well fail again.
	maxTries = 3
	// maxMoves bounds how often a chat may get a new id.
	maxMoves = 3
	// leastLimit is the smallest message a text is split into when the platform
	// finds messages too long.
	leastLimit = 16
)

// do performs a job. It returns an error only if the whole reply has to be
// given up.
func (a *actor) do(j *job) error {
	switch {
	case j.remove:
		return a.remove(j)
	case j.index < len(a.slots) && a.slots[j.index].ID != "":
		return a.edit(j)
	}
	return a.post(j)
}

func (a *actor) outgoing(s *slot, j *job) channels.Outgoing {
	out := channels.Outgoing{Markdown: j.text, Draft: !j.final, Status: j.status}
	if s.plain {
		if escaped := markdown.Escape(j.text); a.size(escaped) <= a.plan.limit {
			out.Markdown = escaped
		}
	}
	return out
}

// size measures Markdown in the platform's unit.
func (a *actor) size(text string) int {
	if a.plan.measure == nil {
		return markdown.UTF16Len(text)
	}
	return a.plan.measure(text)
}

func (a *actor) post(j *job) error {
	if j.index == len(a.slots) {
		s := &slot{Part: Part{Nonce: channels.NewNonce(), Outcome: Sending}}
		if a.owed > 0 {
			a.owed--
			s.replaced = true
		}
		a.slots = append(a.slots, s)
		a.unsaved = true
		if err := a.save(false); err != nil {
			return err
		}
	}
	s := a.slots[j.index]
	unsure := s.Outcome == Unknown
	if unsure {
		switch a.probe(s) {
		case arrived, askAgain:
			return nil
		case cannotTell:
			a.resend()
		}
	}
	target := a.target
	if j.index > 0 {
		target.ReplyTo = ""
	}
	out := a.outgoing(s, j)
	out.Nonce = s.Nonce
	ctx, cancel := a.writing()
	defer cancel()
	id, err := a.cfg.Channel.Post(ctx, target, out)
	a.count(func(st *Stats) { st.Posts++ })
	s.wrote = time.Now()
	if err != nil {
		return a.failed(s, j, err, true)
	}
	s.ID, s.Outcome = id, Sent
	s.given = id == "" // can't be edited
	a.shown(s, j)
	if unsure { // the platform may have returned the earlier attempt's message
		s.known, s.final, s.Hash = false, false, ""
	}
	a.unsaved = true
	return nil
}

func (a *actor) edit(j *job) error {
	s := a.slots[j.index]
	ctx, cancel := a.writing()
	defer cancel()
	out := a.outgoing(s, j)
	out.Nonce = s.Nonce
	err := a.cfg.Channel.Edit(ctx, a.target, s.ID, out)
	a.count(func(st *Stats) { st.Edits++ })
	s.wrote = time.Now()
	if err != nil {
		return a.failed(s, j, err, false)
	}
	a.shown(s, j)
	return nil
}

// writing is the context of one write to the platform.
func (a *actor) writing() (context.Context, context.CancelFunc) {
	if a.cfg.BeforeWrite != nil {
		a.cfg.BeforeWrite()
	}
	return context.WithTimeout(a.ctx, sendTimeout)
}

// shown records what the slot's message shows now. The hash is only of what
// was shown as final: the journal does not follow drafts.
func (a *actor) shown(s *slot, j *job) {
	s.text, s.status, s.final, s.known = j.text, j.status, j.final, true
	s.tries, s.unknown, s.notBefore = 0, 0, time.Time{}
	s.Hash = ""
	if j.final {
		s.Hash = hash(j.text)
	}
}

// probed is what looking up a message of unknown outcome brought.
type probed uint8

const (
	cannotTell probed = iota
	arrived           // it is to be edited from now on
	notArrived
	askAgain // the look-up failed, and there is to be another
)

// probe looks up whether a message of unknown outcome arrived.
func (a *actor) probe(s *slot) probed {
	prober, ok := a.cfg.Channel.(channels.Prober)
	if !ok {
		return cannotTell
	}
	ctx, cancel := context.WithTimeout(a.ctx, sendTimeout)
	defer cancel()
	id, err := prober.Probe(ctx, a.target, s.Nonce)
	switch {
	case err != nil && s.tries < maxTries:
		s.tries++
		s.notBefore = time.Now().Add(backoff(s.tries))
		return askAgain
	case err != nil:
		return cannotTell
	case id == "", a.holds(id): // that is another part of this reply
		return notArrived
	}
	s.ID, s.Outcome, s.known, s.final = id, Sent, false, false
	s.tries, s.unknown = 0, 0
	a.unsaved = true
	return arrived
}

// holds reports whether a message is one of the reply's already.
func (a *actor) holds(id string) bool {
	return slices.ContainsFunc(a.slots, func(s *slot) bool { return s.ID == id })
}

// resend notes that a final goes out once more although it may be there.
func (a *actor) resend() {
	a.count(func(st *Stats) { st.Resent++ })
	a.cfg.Logger.Warn("sending a reply once more after an unknown outcome; it may appear twice",
		"conversation", a.target.Conversation)
}

// failed decides what follows from a failed write.
func (a *actor) failed(s *slot, j *job, err error, post bool) error {
	if a.ctx.Err() != nil {
		return nil // deliver notices
	}
	a.draftSeen.length = -1 // what was to be shown is not
	e, ok := errors.AsType[*channels.SendError](err)
	if !ok {
		e = &channels.SendError{Outcome: channels.Unknown, Err: err}
	}
	if post && (e.Outcome != channels.Unknown || notSent(err)) {
		s.Outcome = Rejected
	}
	switch e.Outcome {
	case channels.RateLimited:
		a.count(func(st *Stats) { st.Refused++ })
		a.cfg.Pacer.refused(a.target.Conversation, e)
		return nil
	case channels.Rejected:
		return a.rejected(s, j, e, post)
	}
	s.tries++
	s.notBefore = time.Now().Add(backoff(s.tries))
	switch {
	case notSent(err):
	case post:
		s.Outcome = Unknown
		if j.final {
			s.unknown++
		}
		if s.unknown >= a.maxUnknown() {
			a.giveUp(s, fmt.Errorf("sending the reply: %w; it was tried %d times and may have arrived", err, s.unknown))
		}
	default:
		s.known, s.final, s.Hash = false, false, ""
	}
	return nil
}

// maxUnknown is how many sends of a final may have unknown outcomes: it is
// sent once more, or oftener where each can be looked up.
func (a *actor) maxUnknown() int {
	if _, ok := a.cfg.Channel.(channels.Prober); ok {
		return 2 * maxTries
	}
	return 2
}

// notSent reports an error that says the request never left.
func notSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// backoff after the given number of failures in a row.
func backoff(tries int) time.Duration {
	return min(time.Second<<min(tries-1, 5), 30*time.Second)
}

func (a *actor) rejected(s *slot, j *job, e *channels.SendError, post bool) error {
	switch e.Reason {
	case channels.ReasonForbidden, channels.ReasonAuth:
		return fmt.Errorf("delivering the reply: %w", e)
	case channels.ReasonMigrated:
		if a.moves++; a.moves > maxMoves || e.To == "" {
			return fmt.Errorf("delivering the reply: the chat moved too often: %w", e)
		}
		a.target.Chat = e.To
		return nil
	case channels.ReasonGone:
		return a.gone(s, j, e, post)
	case channels.ReasonTooLong:
		a.shrink(s, j, e)
		return nil
	}
	switch {
	case !j.final:
		if s.tries++; s.tries >= maxTries {
			a.noDrafts = true
		}
	case !s.plain:
		s.plain = true // perhaps its formatting is what was refused
		if a.size(markdown.Escape(j.text)) > a.plan.limit {
			a.plan.limit = max(a.plan.limit/2, min(a.plan.limit, leastLimit))
			a.plan.thawFrom(j.index, a.said.freezes)
		}
	default:
		a.giveUp(s, fmt.Errorf("delivering the reply: %w", e))
	}
	return nil
}

// gone replaces a message that was deleted, once. The texts below move up into
// the messages that are there, so that their order is kept.
func (a *actor) gone(s *slot, j *job, e *channels.SendError, post bool) error {
	if post {
		if a.target.ReplyTo == "" {
			return fmt.Errorf("delivering the reply: %w", e)
		}
		a.target.ReplyTo = ""
		return nil
	}
	if s.replaced {
		return fmt.Errorf("delivering the reply: its message was deleted twice: %w", e)
	}
	a.owed++
	a.slots = slices.Delete(a.slots, j.index, j.index+1)
	a.tailSince = time.Time{}
	return nil
}

// shrink makes smaller messages of a text that was too long.
func (a *actor) shrink(s *slot, j *job, e *channels.SendError) {
	switch {
	case j.status != "":
		a.quiet = true
	case a.plan.limit*3/4 >= leastLimit:
		a.plan.limit = min(a.plan.limit, max(len(j.text), leastLimit*2)) * 3 / 4
		a.plan.thawFrom(j.index, a.said.freezes)
	default:
		a.giveUp(s, fmt.Errorf("delivering the reply: %w", e))
	}
}

// giveUp leaves one part as it is; the others are still delivered.
func (a *actor) giveUp(s *slot, err error) {
	s.given = true
	a.failures = append(a.failures, err)
}

// remove takes away a message that no text is left for.
func (a *actor) remove(j *job) error {
	s := a.slots[j.index]
	if s.ID == "" {
		if s.Outcome == Unknown {
			if got := a.probe(s); got == arrived || got == askAgain {
				return nil
			}
		}
		a.slots = a.slots[:j.index]
		return nil
	}
	ctx, cancel := a.writing()
	defer cancel()
	var err error
	if d, ok := a.cfg.Channel.(channels.Deleter); ok {
		err = d.Delete(ctx, a.target, s.ID)
	} else {
		err = a.cfg.Channel.Edit(ctx, a.target, s.ID, channels.Outgoing{Markdown: "…"})
	}
	a.count(func(st *Stats) { st.Edits++ })
	s.wrote = time.Now()
	e, ok := errors.AsType[*channels.SendError](err)
	switch {
	case err == nil, ok && e.Reason == channels.ReasonGone:
	case ok && e.Outcome == channels.RateLimited:
		a.count(func(st *Stats) { st.Refused++ })
		a.cfg.Pacer.refused(a.target.Conversation, e)
		return nil
	default:
		if s.tries++; s.tries < maxTries {
			s.notBefore = time.Now().Add(backoff(s.tries))
			return nil
		}
	}
	a.slots = a.slots[:j.index]
	return nil
}
