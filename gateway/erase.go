package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"clawbot/channels"
	"clawbot/gateway/budget"
	"clawbot/gateway/memory"
	"clawbot/gateway/schedule"
	"clawbot/store"
)

// Erased counts what the deletion of a person's data took away.
type Erased struct {
	Conversations int  `json:"conversations"` // direct ones, with all that is in them
	Files         int  `json:"files"`         // that only these conversations had
	Facts         int  `json:"facts"`         // of the memory
	Schedules     int  `json:"schedules"`
	Costs         int  `json:"costs"`    // records of costs that named the person
	Standing      bool `json:"standing"` // that they were let in, or asked to be
}

func (e *Erased) add(other Erased) {
	e.Conversations += other.Conversations
	e.Files += other.Files
	e.Facts += other.Facts
	e.Schedules += other.Schedules
	e.Costs += other.Costs
	e.Standing = e.Standing || other.Standing
}

// String tells people what was removed, as a list in Markdown.
func (e Erased) String() string {
	var b strings.Builder
	for _, line := range []struct {
		n    int
		what string
	}{
		{e.Conversations, "direct conversation"}, {e.Files, "file"}, {e.Facts, "fact"}, {e.Schedules, "reminder or task"},
	} {
		fmt.Fprintf(&b, "- %s\n", count(line.n, line.what))
	}
	fmt.Fprintf(&b, "- the name in %s of costs", count(e.Costs, "record"))
	if e.Standing {
		b.WriteString("\n- the record that they were let in, or asked to be")
	}
	return strings.Replace(b.String(), "reminder or tasks", "reminders or tasks", 1)
}

// Kept says what the deletion of a person's data leaves, and who can remove it.
const Kept = "What stays: what they wrote in rooms, which is part of other people's conversations (an owner deletes a whole one with `clawbot sessions delete`); " +
	"sums of what models cost, without a name; blocks; files in the workspace; the audit log and the program's log; copies that were made with `clawbot backup`."

// stopPatience is how long a conversation that is worked on has to end.
const stopPatience = 20 * time.Second

// ErasePerson deletes what is kept about a person on a channel: schedules,
// memory, direct conversations, files that nothing else has, their name in what
// was spent, and that they were let in. A block stays. Work in their direct
// conversations is stopped; while it does not end, it fails with a
// *store.HeldError, and called again it goes on. It returns what it has removed
// also with an error, and calls gone, unless it is nil, with every conversation
// that it has deleted. It may take minutes; ctx bounds it.
//
// Owners that the configuration names stay owners.
func ErasePerson(ctx context.Context, s store.Store, channel, sender string, gone func(session string)) (Erased, error) {
	e := eraser{s: s, gone: gone, channel: channel, sender: sender, user: userKey(channel, sender)}
	err := e.run(ctx)
	if err != nil {
		err = fmt.Errorf("delete what is kept about %s:%s: %w", channel, sender, err)
	}
	return e.done, err
}

type eraser struct {
	s               store.Store
	channel, sender string
	user            string
	gone            func(session string)
	done            Erased
}

func (e *eraser) run(ctx context.Context) (err error) {
	// First what would make new messages.
	if e.done.Schedules, err = (schedule.Book{State: e.s.State()}).DeleteUser(ctx, e.channel, e.sender); err != nil {
		return err
	}
	if e.done.Facts, err = (memory.Book{State: e.s.State()}).DeleteUser(ctx, e.user); err != nil {
		return err
	}
	sessions, err := e.sessions(ctx)
	if err != nil {
		return err
	}
	files, err := e.files(ctx, sessions)
	if err != nil {
		return err
	}
	for _, session := range sessions {
		if err := e.delete(ctx, session); err != nil {
			return err
		}
	}
	if err := e.s.State().Delete(ctx, sessionsPrefix+e.user); err != nil {
		return err
	}
	if e.done.Files, err = dropUnwanted(ctx, e.s, files); err != nil {
		return err
	}
	if err := e.s.State().Delete(ctx, e.filesKey()); err != nil {
		return err
	}
	if e.done.Costs, err = budget.ForgetUser(ctx, e.s, payer(e.channel, e.sender)); err != nil {
		return err
	}
	return e.standing(ctx)
}

// sessions lists the person's direct conversations, also those in which nothing
// but dead letters is left, or that came before the list of them.
func (e *eraser) sessions(ctx context.Context) ([]string, error) {
	list, err := SessionsOf(ctx, e.s, e.user)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, session := range list {
		known[session] = true
	}
	err = eachSession(ctx, e.s, func(info store.SessionInfo) error {
		if known[info.Session] || !strings.HasPrefix(info.Session, e.channel+":") {
			return nil
		}
		mine, err := e.owns(ctx, info.Session)
		if mine {
			list = append(list, info.Session)
		}
		return err
	})
	return list, err
}

// owns reports whether a session's first message is the person's, and private.
func (e *eraser) owns(ctx context.Context, session string) (bool, error) {
	entries, err := e.s.Archive().Read(ctx, session, 0, 10)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	for _, entry := range entries {
		if entry.Kind != store.KindUser {
			continue
		}
		r, err := userRecord(entry)
		return err == nil && r.Target.Direct && r.Channel == e.channel && r.Sender.ID == e.sender, nil
	}
	return false, nil
}

func (e *eraser) filesKey() string { return "erase-files/" + e.user }

// maxErasedFiles bounds the files that are looked after; what is beyond is left
// to retention.
const maxErasedFiles = 2000

// files notes which files the conversations have before they are gone, so that
// a deletion that is cut off still knows.
func (e *eraser) files(ctx context.Context, sessions []string) (map[string]bool, error) {
	refs := map[string]bool{}
	err := update(ctx, e.s.State(), e.filesKey(), func(data []byte) ([]byte, error) {
		clear(refs)
		var before []string
		_ = json.Unmarshal(data, &before) // damaged: they stay until retention
		for _, ref := range before {
			refs[ref] = true
		}
		for _, session := range sessions {
			if err := eachFile(ctx, e.s, session, func(ref string) {
				if len(refs) < maxErasedFiles {
					refs[ref] = true
				}
			}); err != nil {
				return nil, err
			}
		}
		list := make([]string, 0, len(refs))
		for ref := range refs {
			list = append(list, ref)
		}
		slices.Sort(list)
		return json.Marshal(list)
	})
	return refs, err
}

// delete deletes one conversation, and stops what works on it.
func (e *eraser) delete(ctx context.Context, session string) error {
	stopped := false
	for until := time.Now().Add(stopPatience); ; {
		err := DeleteSession(ctx, e.s, session)
		if err == nil {
			e.done.Conversations++
			if e.gone != nil {
				e.gone(session)
			}
			return nil
		}
		if _, held := errors.AsType[*store.HeldError](err); !held || time.Now().After(until) {
			return err
		}
		if !stopped {
			if err := e.stop(ctx, session); err != nil {
				return err
			}
			stopped = true
		}
		if !sleep(ctx, 250*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

func (e *eraser) stop(ctx context.Context, session string) error {
	data, err := encode(signal{
		V: recordVersion, ID: newID(), Kind: signalStop, Channel: e.channel,
		Target: channels.Target{}, Sender: channels.Sender{ID: e.sender},
	})
	if err != nil {
		return err
	}
	acc, err := e.s.Accept(ctx, store.Event{ID: "erase:" + newID(), Session: session, Lane: store.Signals, Data: data})
	if err != nil {
		return fmt.Errorf("stop %s: %w", session, err)
	}
	if acc.Owner != "" {
		// A lost hint costs one renewal of the lease.
		_ = e.s.Bus().Publish(ctx, wakeTopic(acc.Owner), hint{session: session, lane: store.Signals}.encode())
	}
	return nil
}

// standing removes that the person was let in or asked to be. Blocks stay: who
// was shut out is not let in by being forgotten.
func (e *eraser) standing(ctx context.Context) error {
	state := e.s.State()
	open, err := Pairing{State: state}.Requests(ctx)
	if err != nil {
		return err
	}
	for _, r := range open {
		if r.Channel == e.channel && r.ID == e.sender {
			if err := (Pairing{State: state}).drop(ctx, r); err != nil {
				return err
			}
			e.done.Standing = true
		}
	}
	v, err := state.Get(ctx, personKey(e.channel, e.sender))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var who person
	if json.Unmarshal(v.Data, &who) != nil || !who.Blocked && len(who.Rooms) == 0 {
		err = state.Delete(ctx, v.Key)
	} else if who.Paired || who.Name != "" {
		err = changePerson(ctx, state, e.channel, e.sender, func(p *person) {
			*p = person{Channel: p.Channel, ID: p.ID, Blocked: p.Blocked, Rooms: p.Rooms, By: p.By, At: p.At}
		})
	}
	if err == nil && who.Role == RoleOwner {
		err = state.Delete(ctx, firstOwnerKey)
	}
	if err != nil {
		return err
	}
	e.done.Standing = e.done.Standing || who.Paired
	return ruleChanged(ctx, e.s)
}

// ruleChanged has every process read the rules anew.
func ruleChanged(ctx context.Context, s store.Store) error {
	if err := update(ctx, s.State(), revisionKey, func([]byte) ([]byte, error) { return []byte(newID()), nil }); err != nil {
		return err
	}
	_ = s.Bus().Publish(ctx, rulesTopic, nil) // a lost hint costs two seconds
	return nil
}
