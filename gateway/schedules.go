package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"clawbot/channels"
	"clawbot/gateway/schedule"
	"clawbot/store"
)

const (
	// schedulesEvery is how long a process sleeps at most before it looks what
	// is due: for a clock that was put forward, for hints that were lost.
	schedulesEvery = 10 * time.Second
	// schedulesRetry is when something that could not be done is tried again.
	schedulesRetry = time.Second
	schedulesTerm  = "schedules"
	schedulesTopic = "schedules"
	// duePage is how much is read at a time of what is due, and dueAtOnce how
	// many occurrences are accepted at once.
	duePage, dueAtOnce = 100, 16
)

// Schedule is a reminder or a recurring task.
type Schedule = schedule.Item

// Schedules lists those of everybody, person by person, at least limit of them
// while there are more; an empty next ends the list.
func (g *Gateway) Schedules(ctx context.Context, after string, limit int) (list []Schedule, next string, err error) {
	return g.agenda().All(ctx, after, limit)
}

// CancelSchedule removes a person's schedule and reports whether there was one.
func (g *Gateway) CancelSchedule(ctx context.Context, channel, user, id string) (bool, error) {
	_, ok, err := g.agenda().Remove(ctx, channel, user, id)
	return ok, err
}

// DeleteSchedules removes all that a person has scheduled on a channel and
// returns how many there were.
func DeleteSchedules(ctx context.Context, s store.Store, channel, user string) (int, error) {
	return schedule.Book{State: s.State()}.DeleteUser(ctx, channel, user)
}

// CountSchedules returns how many are to come in a session.
func CountSchedules(ctx context.Context, s store.Store, session string) (int, error) {
	list, err := schedule.Book{State: s.State()}.OfConversation(ctx, session)
	return len(list), err
}

func (g *Gateway) agenda() schedule.Book {
	return schedule.Book{State: g.cfg.Store.State(), Limits: schedule.Limits{
		PerUser: g.config().Schedules.PerUser, PerConversation: g.config().Schedules.PerConversation,
	}}
}

// lookAtSchedules has this process see what was just set.
func (g *Gateway) lookAtSchedules() {
	select {
	case g.scheduled <- struct{}{}:
	default:
	}
}

// keepSchedules waits for what comes next, of everybody, with one timer, and
// does what is due, until ctx ends.
func (g *Gateway) keepSchedules(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	failing, mended := false, false
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-g.scheduled:
		}
		now := time.Now()
		mended = mended && !putBack(last, now)
		last = now
		var err error
		if !mended {
			err = g.mendSchedules(ctx, now)
			mended = err == nil
		}
		wait := schedulesRetry
		if err == nil {
			wait, err = g.doDue(ctx, now)
		}
		if err != nil && ctx.Err() == nil && !failing {
			g.log.Error("what is scheduled can't be looked after; it comes as soon as that is mended", "err", err)
		}
		failing = err != nil
		timer.Reset(wait)
	}
}

// putBack reports whether the clock was put back since last, by more than
// clocks are trimmed.
func putBack(last, now time.Time) bool {
	return now.Round(0).Sub(last.Round(0)) < now.Sub(last)-time.Minute
}

func (g *Gateway) mendSchedules(ctx context.Context, now time.Time) error {
	n, err := g.agenda().Mend(ctx, now)
	if n > 0 {
		g.log.Warn("schedules were put right after a crash or a change of the clock", "schedules", n)
	}
	return err
}

// doDue takes care of what is due and returns how long to wait then. Which
// process does it matters little: an occurrence that two of them accept is one.
func (g *Gateway) doDue(ctx context.Context, now time.Time) (wait time.Duration, err error) {
	if !g.rules.known() {
		return schedulesRetry, nil // nor is it, who may speak
	}
	var term store.Term
	defer func() {
		if term != nil {
			_ = term.Resign(context.WithoutCancel(ctx)) // or it expires
		}
	}()
	var failed error // what one of them fails with holds up no other
	for cursor, more := "", true; more; more = cursor != "" {
		var due []schedule.Due
		if due, cursor, err = g.agenda().Due(ctx, now, cursor, duePage, g.isMine); err != nil {
			return schedulesRetry, err
		}
		if len(due) == 0 {
			continue
		}
		held, err := g.cfg.Store.Elect(ctx, schedulesTerm, g.cfg.Owner, g.cfg.LeaseTTL)
		if other, ok := errors.AsType[*store.HeldError](err); ok {
			return min(other.For, schedulesRetry) + jitter(schedulesRetry/4), nil
		}
		if err != nil {
			return schedulesRetry, err
		}
		term = held
		failed = errors.Join(failed, g.occurAll(ctx, due, now))
	}
	if failed != nil {
		return schedulesRetry, failed
	}
	first, err := g.agenda().Earliest(ctx, now)
	if err != nil {
		return schedulesRetry, err
	}
	if first.IsZero() {
		return schedulesEvery, nil
	}
	return min(max(time.Until(first), 0), schedulesEvery), nil
}

// isMine reports whether the session is of a channel that this process has.
func (g *Gateway) isMine(session string) bool {
	channel, _, _ := strings.Cut(session, ":")
	return g.hosts[channel] != nil
}

func (g *Gateway) occurAll(ctx context.Context, due []schedule.Due, now time.Time) error {
	var group errgroup.Group
	group.SetLimit(dueAtOnce)
	for i := range due {
		group.Go(func() error {
			if err := g.occur(ctx, &due[i], now); err != nil {
				return fmt.Errorf("schedule %s in %s: %w", due[i].ID, due[i].Target.Conversation, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// occur makes a message of an occurrence: of whoever set it, with no more
// rights than they had then and have now.
func (g *Gateway) occur(ctx context.Context, d *schedule.Due, now time.Time) error {
	h := g.hosts[d.Channel]
	if h == nil {
		return nil
	}
	in := channels.Inbound{Kind: channels.Message, EventID: d.EventID(), Target: d.Target, Sender: d.Sender, Addressed: true}
	v, role, reason := g.config().judge(d.Channel, &in, g.rules.person(d.Channel, d.Sender.ID))
	if v != admit {
		return h.dropSchedule(ctx, d, v, reason)
	}
	if d.Role != RoleOwner && role == RoleOwner {
		role = d.Role
	}
	which := schedule.Item{ID: d.ID, Cron: d.Cron, Zone: d.Zone, Next: d.Next, Set: d.Set}
	r := &inbound{
		V: recordVersion, ID: newID(), Event: d.EventID(), Kind: kindSchedule, Channel: d.Channel, Target: d.Target,
		Sender: d.Sender, Role: role, With: d.With, Room: d.Room, Text: d.Text, At: now, Schedule: &which,
	}
	data, err := encode(r)
	if err != nil {
		return err
	}
	acc, err := g.cfg.Store.Accept(ctx, store.Event{ID: r.Event, Session: d.Target.Conversation, Data: data})
	if err != nil && !errors.Is(err, store.ErrInvalid) {
		return err // it is due still
	}
	if err == nil {
		g.cfg.Observer.Accepted(d.Channel, outcomeOf(acc, AcceptedMessage))
		h.log.Info("a scheduled task is due", "message", r.ID, "session", d.Target.Conversation, "sender", d.Sender.ID,
			"schedule", d.ID, "late", now.Sub(d.Next).Round(time.Second), "duplicate", acc.Duplicate)
		if !acc.Duplicate {
			g.live(h.channel, d.Target.Conversation).accepted(r)
		}
		g.wake(ctx, acc.Owner, hint{session: d.Target.Conversation, look: true})
	}
	return errors.Join(err, g.agenda().Advance(ctx, *d, now))
}

// dropSchedule removes a schedule of somebody who may not speak any more, or in
// a room where nobody may, and tells them.
func (h *host) dropSchedule(ctx context.Context, d *schedule.Due, v verdict, reason string) error {
	_, mine, err := h.g.agenda().Remove(ctx, d.Channel, d.Sender.ID, d.ID)
	if err != nil || !mine {
		return err
	}
	h.log.Info("dropped a schedule of somebody who may not use it any more", "session", d.Target.Conversation, "sender", d.Sender.ID, "schedule", d.ID)
	if v == knocks || reason == "" {
		reason = "My owner has not let you in, or no longer does."
	}
	h.notice(ctx, d.Target, d.Sender, fmt.Sprintf("I have dropped what was scheduled for you (%s): %s", clip(displayName(d.Text), 100), reason))
	return nil
}
