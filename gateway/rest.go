package gateway

import (
	"context"
	"slices"
	"time"

	"clawbot/channels"
	"clawbot/store"
)

const (
	// albumRest is how long the next part of an album is awaited, and cutRest
	// the rest of a text that the platform cut.
	albumRest = 800 * time.Millisecond
	cutRest   = 1500 * time.Millisecond
	// mostRest bounds how long a message is kept waiting for others.
	mostRest = 5 * time.Second
	// albumFor is how long the parts of an album are known to belong together.
	albumFor = time.Minute
)

// restFor is how long to wait for what belongs to a message and is yet to come.
func restFor(group string, unfinished bool) time.Duration {
	switch {
	case unfinished:
		return cutRest
	case group != "":
		return albumRest
	}
	return 0
}

// belongs makes the parts of an album that name nobody go along with the one
// that names the bot.
func (h *host) belongs(in *channels.Inbound) {
	if in.Group == "" || in.Target.Direct || in.Kind != channels.Message {
		return
	}
	key := h.channel.Name() + "\x00" + in.Target.Chat + "\x00" + in.Sender.ID + "\x00" + in.Group
	if in.Addressed {
		h.g.albums.first(key)
	} else if h.g.albums.knows(key, albumFor) {
		in.Addressed = true
	}
}

// hold notes that more is to come, or that it has. t.mu is held.
func (t *tenure) hold(h hint) {
	switch now := time.Now(); {
	case h.rest > 0:
		if now.Sub(t.restLast) > cutRest {
			t.restFrom = now
		}
		t.restLast = now
		t.restUntil = now.Add(h.rest)
		if most := t.restFrom.Add(mostRest); t.restUntil.After(most) {
			t.restUntil = most
		}
		t.restBy = h.sender
	case h.sender == t.restBy:
		t.restUntil = time.Time{}
	}
	select {
	case t.more <- struct{}{}:
	default:
	}
}

// holdFor is hold for messages that the store tells of, where the hint was lost
// or is late. t.mu is held.
func (t *tenure) holdFor(waiting []store.Queued) {
	for _, q := range slices.Backward(waiting) {
		if q.Quiet || q.Position < t.taken {
			continue
		}
		if r, err := decodeInbound(q.Data); err == nil {
			if rest := restFor(r.Group, r.Unfinished) - time.Since(q.At); rest > 0 {
				t.hold(hint{sender: r.Sender.ID, rest: rest})
			}
		}
		return
	}
}

// awaitRest waits for what belongs to the messages that wait, unless a signal
// comes. ctx ends it, too.
func (t *tenure) awaitRest(ctx context.Context) {
	waited := false
	for {
		t.mu.Lock()
		left := time.Until(t.restUntil)
		urgent := t.look || t.stop || t.closing
		if left <= 0 || urgent {
			t.restUntil = time.Time{}
			if waited && !urgent {
				t.waiting, t.queued = false, 0 // it is taken now
			}
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		waited = true
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-t.more:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// joins reports whether a message goes along with the one before it, also where
// every message has a turn of its own.
func (r *inbound) joins(before *inbound) bool {
	return r.Sender.ID == before.Sender.ID && (before.Unfinished || before.Group != "" && r.Group == before.Group)
}
