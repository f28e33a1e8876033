package reply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"clawbot/channels"
)

// settle is how long even a fast beginning is gathered before the first draft:
// a short answer is then posted once, complete.
const settle = 150 * time.Millisecond

// actor is the state of Run; only its goroutine touches it.
type actor struct {
	*Reply
	ctx    context.Context
	target channels.Target
	typing *typing
	plan   plan
	slots  []*slot
	native channels.Streamer // nil if the platform lets nothing grow

	said        snapshot
	tailSince   time.Time // when the tail's message had something to show first
	draftSeen   draftKey  // the draft last looked at
	noDrafts    bool
	truncations int
	owed        int  // messages that were deleted and will be posted anew
	moves       int  // times the chat got a new id
	quiet       bool // there is no room for a status line
	unsaved     bool
	failures    []error
}

// snapshot is what the callers have said so far.
type snapshot struct {
	text     []byte
	freezes  []int
	status   string
	finished bool
}

// draftKey tells whether there is something new to draft.
type draftKey struct {
	start, length int
	status        string
	truncations   int
}

// slot is one platform message.
type slot struct {
	Part
	text      string // what it shows, as far as is known
	status    string
	final     bool // it was not shown as a draft
	known     bool // text is certain
	wrote     time.Time
	notBefore time.Time
	tries     int  // failed attempts since the last success
	unknown   int  // finals of unknown outcome
	plain     bool // formatting was refused
	given     bool // given up
	replaced  bool // is the second message, the first was deleted
	full      int  // the size at which its growing came to an end; 0 before
}

// Run delivers the reply until it is complete or ctx ends, and returns why it
// was not delivered.
func (r *Reply) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.mu.Lock()
	if r.closed {
		defer r.mu.Unlock()
		return r.err
	}
	r.stop = cancel
	r.mu.Unlock()

	a := &actor{Reply: r, ctx: ctx, target: r.cfg.Target, noDrafts: r.limits.NoDrafts}
	a.plan = plan{limit: r.limits.Text, measure: r.limits.Measure}
	if a.plan.limit <= 0 {
		a.plan.limit = math.MaxInt32
	}
	a.native, _ = r.cfg.Channel.(channels.Streamer)
	a.resume(r.cfg.State)
	err := a.deliver()
	r.mu.Lock()
	r.closed, r.err, r.text = true, err, nil
	r.mu.Unlock()
	close(r.done)
	return err
}

// resume takes up the messages of an earlier process.
func (a *actor) resume(s State) {
	for _, p := range s.Parts {
		known := p.ID != "" && p.Hash != ""
		if p.ID == "" && p.Outcome != Rejected {
			p.Outcome = Unknown
		}
		a.slots = append(a.slots, &slot{Part: p, final: known})
	}
}

func (a *actor) deliver() error {
	if a.cfg.State.Done {
		return nil
	}
	a.typing = startTyping(a.ctx, a.cfg.Channel, a.target)
	defer a.typing.stop()
	for {
		if err := context.Cause(a.ctx); err != nil {
			return fmt.Errorf("%w: %w", ErrEnded, err)
		}
		a.look()
		job, at := a.next()
		if job == nil && a.said.finished {
			return a.conclude()
		}
		if err := a.save(false); err != nil {
			return err
		}
		wait := time.Duration(-1)
		if job != nil {
			wait = time.Until(at)
			if wait <= 0 && job.later {
				continue
			}
			if wait <= 0 {
				wait = a.cfg.Pacer.take(a.target.Conversation, a.limits, job.final)
			}
			if wait <= 0 {
				if err := a.do(job); err != nil {
					return err
				}
				continue
			}
		}
		a.wait(wait)
	}
}

// wait until something is said or, from 0 on, the time has passed.
func (a *actor) wait(d time.Duration) {
	var expired <-chan time.Time
	if d >= 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-a.wake:
	case <-expired:
	case <-a.ctx.Done():
	}
}

// look takes up what the callers have said.
func (a *actor) look() {
	a.mu.Lock()
	low := a.low
	a.low = math.MaxInt
	a.said = snapshot{a.text, a.freezes, a.status, a.finished}
	a.wakeAt = math.MaxInt
	a.mu.Unlock()

	if low != math.MaxInt {
		a.plan.thaw(low, a.said.freezes)
		a.truncations++
	}
	a.plan.freeze(a.said.text, a.said.freezes)
	if a.said.finished {
		a.said.status = ""
		a.plan.complete(a.said.text, len(a.said.text))
		a.typing.stop()
	}
}

// wakeFor asks to be woken when the text has n bytes.
func (a *actor) wakeFor(n int) {
	a.mu.Lock()
	a.wakeAt = n
	ready := len(a.text) >= n
	a.mu.Unlock()
	if ready {
		a.signal()
	}
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

// save writes the journal if there is something new in it.
func (a *actor) save(done bool) error {
	if !a.unsaved && !done || a.cfg.Journal == nil {
		return nil
	}
	state := State{Run: a.cfg.State.Run, Final: a.said.finished, Done: done}
	for _, s := range a.slots {
		state.Parts = append(state.Parts, s.Part)
	}
	if err := a.cfg.Journal.Save(a.ctx, state); err != nil {
		return fmt.Errorf("saving the reply's state: %w", err)
	}
	a.unsaved = false
	return nil
}

// conclude ends a reply of which every part is where it can be.
func (a *actor) conclude() error {
	if err := a.save(true); err != nil {
		return err
	}
	return errors.Join(a.failures...)
}

// maxStatus bounds the status line, in characters.
const maxStatus = 200

// statusLine is the status as one line that fits below text.
func (a *actor) statusLine(text string) string {
	if a.quiet {
		return ""
	}
	line := []rune(strings.Join(strings.Fields(a.said.status), " "))
	room := maxStatus
	if len(text) > a.plan.limit/4 {
		room = min(room, (a.plan.limit-a.size(text)-8)/2)
	}
	switch {
	case len(line) <= room:
		return string(line)
	case room < 8:
		return ""
	}
	return string(line[:room-1]) + "…"
}
