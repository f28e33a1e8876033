package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"clawbot/channels"
	"clawbot/store"
)

// Rate bounds what one person, room or guild (a server, a workspace) may ask
// for, over all replicas: the table [access.rate]. Owners are not bounded.
type Rate struct {
	User, Room, Guild Limit
	// MinAccountAge refuses younger accounts that nobody has let in, where the
	// platform tells how old they are; 0 is none.
	MinAccountAge time.Duration
}

// Limit counts messages in a minute and conversations that are worked on at
// once; 0 is no limit.
type Limit struct {
	Messages, Runs int
}

const (
	rateWindow = time.Minute
	// runsMargin is how long after a run's time a reservation stands that a
	// killed process did not give back.
	runsMargin = 5 * time.Minute
)

// subject is somebody or something that a limit holds for.
type subject struct {
	key, what string
	limit     Limit
}

func (r Rate) limits() bool {
	none := Limit{}
	return r.User != none || r.Room != none || r.Guild != none
}

func (h *host) subjects(in *channels.Inbound) []subject {
	rate, name := &h.g.config().Access.Rate, keyPart(h.channel.Name())
	list := []subject{{"user/" + name + "/" + keyPart(in.Sender.ID), "you", rate.User}}
	if !in.Target.Direct {
		list = append(list, subject{"room/" + name + "/" + keyPart(in.Target.Chat), "this room", rate.Room})
	}
	if in.Guild != "" {
		list = append(list, subject{"guild/" + name + "/" + keyPart(in.Guild), "this server", rate.Guild})
	}
	return list
}

// limited reserves what a message takes and reports whether that was too much;
// the sender is told so once in a window. The reservation is to be given back
// when the message is answered; it is empty if there is nothing to give back.
func (h *host) limited(ctx context.Context, in *channels.Inbound, role string) (reservation string, limited bool, err error) {
	if role == RoleOwner || !h.g.config().Access.Rate.limits() {
		return "", false, nil
	}
	id := h.channel.Name() + "/" + in.Target.Conversation + "/" + eventID(in)
	subjects := h.subjects(in)
	for _, s := range subjects {
		if s.limit.Messages == 0 {
			continue
		}
		keys := []store.CounterKey{{Key: "rate/messages/" + s.key, Limit: int64(s.limit.Messages), Window: rateWindow}}
		err := h.g.cfg.Store.Counters().Reserve(ctx, clipID("message/"+s.key+"/"+id), 1, keys)
		if errors.Is(err, store.ErrLimit) {
			h.tooMuch(ctx, in, fmt.Sprintf("That was too much at once: I take %d messages a minute from %s. I did not take your last one; please send it again in a minute.", s.limit.Messages, s.what))
			return "", true, nil
		}
		if err != nil {
			return "", false, fmt.Errorf("count a message: %w", err)
		}
	}
	return h.limitedRuns(ctx, in, subjects, clipID("run/"+id))
}

// limitedRuns counts conversations. A message to one that is worked on already
// adds none.
func (h *host) limitedRuns(ctx context.Context, in *channels.Inbound, subjects []subject, id string) (string, bool, error) {
	var keys []store.CounterKey
	for _, s := range subjects {
		if s.limit.Runs > 0 {
			keys = append(keys, store.CounterKey{
				Key: "rate/runs/" + s.key, Limit: int64(s.limit.Runs), Window: h.g.config().Loop.Timeout + runsMargin,
			})
		}
	}
	if len(keys) == 0 {
		return "", false, nil
	}
	info, err := h.g.sessionInfo(ctx, in.Target.Conversation)
	if err != nil {
		return "", false, fmt.Errorf("count runs: %w", err)
	}
	if info.Owner != "" || info.Waiting > 0 {
		return "", false, nil
	}
	err = h.g.cfg.Store.Counters().Reserve(ctx, id, 1, keys)
	if errors.Is(err, store.ErrLimit) {
		h.tooMuch(ctx, in, "I am working on as much at once as I may here. I did not take your last message; please send it again when something is done.")
		return "", true, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("count runs: %w", err)
	}
	return id, false, nil
}

// tooMuch tells of a limit once in a window.
func (h *host) tooMuch(ctx context.Context, in *channels.Inbound, text string) {
	h.log.Info("a message was not taken: too many", "session", in.Target.Conversation, "sender", in.Sender.ID)
	h.once(ctx, in, text)
}

// clipID keeps an id within what a store takes.
func clipID(id string) string {
	if len(id) > 400 {
		return "sha/" + keyPart(id)
	}
	return id
}

// counted remembers what to give back when the session is done.
func (t *tenure) counted(r *inbound) {
	if r.Counted != "" {
		t.counts = append(t.counts, r.Counted)
	}
}

// giveBack settles the reservations of messages that are answered or given up.
func (t *tenure) giveBack(ctx context.Context) {
	owed := map[string]bool{}
	if t.tr != nil {
		for _, m := range t.tr.pending {
			owed[m.Counted] = true
		}
	}
	for _, id := range t.counts {
		if owed[id] {
			continue // whoever goes on gives it back
		}
		if err := t.g.cfg.Store.Counters().Settle(ctx, id, 0); err != nil {
			t.log.Warn("a run is counted for longer than it takes", "err", err)
			return
		}
	}
}
