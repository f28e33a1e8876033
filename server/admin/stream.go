package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"clawbot/channels"
	"clawbot/gateway"
	"clawbot/internal/entryview"
)

const (
	// writePatience is how long a page may take to read what was sent.
	writePatience = 20 * time.Second
	// hints may wait for a slow page; more are lost, and the store has it all.
	maxHints = 256
	// tailBatch entries are sent at once.
	tailBatch = 100
)

// events is an open stream of server-sent events.
type events struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

// stream opens an event stream; done gives its place to others. An error means
// that nothing was written.
func (a *Admin) stream(w http.ResponseWriter) (s *events, done func(), err error) {
	select {
	case a.streams <- struct{}{}:
	default:
		return nil, nil, errCrowded
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	w.WriteHeader(http.StatusOK)
	s = &events{w, http.NewResponseController(w)}
	_ = s.write([]byte("retry: 1000\n\n")) // if the page is gone, the next write says so, too
	return s, func() { <-a.streams }, nil
}

// send writes one event. An id is what the browser names when it comes back; a
// negative one is none.
func (s *events) send(kind string, id int64, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	out := make([]byte, 0, len(data)+64)
	if id >= 0 {
		out = append(out, "id: "...)
		out = strconv.AppendInt(out, id, 10)
		out = append(out, '\n')
	}
	out = append(out, "event: "...)
	out = append(out, kind...)
	out = append(out, "\ndata: "...)
	out = append(out, data...)
	return s.write(append(out, "\n\n"...))
}

func (s *events) write(data []byte) error {
	// A recorder in a test has no deadlines; a connection always has.
	_ = s.rc.SetWriteDeadline(time.Now().Add(writePatience))
	if _, err := s.w.Write(data); err != nil {
		return err
	}
	return s.rc.Flush()
}

// resumeAt is the number that a stream begins with: what the browser saw last,
// or what the page asked for.
func resumeAt(r *http.Request) (int64, error) {
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		if n, err := strconv.ParseInt(last, 10, 64); err == nil && n >= 0 {
			return n, nil
		}
	}
	return number(r, "from", 0)
}

// follower is one page that looks at one session.
type follower struct {
	admin   *Admin
	out     *events
	session string
	next    int64 // position of the entry that the page has not seen
	last    string
}

// followSession sends what is appended to a session, from position from on, and
// what happens before it is. The id of an event is the position after it, so
// that a browser that comes back, to any replica, goes on where it was.
//
//	event: entries  data: {"entries": […], "session": {…}}
//	event: live     data: {"type": "text", …}: hints, see channels.LiveEvent
//	event: ping     data: {}
//	event: gone     data: {}: the session was deleted
func (a *Admin) followSession(w http.ResponseWriter, r *http.Request) error {
	id, err := session(r)
	if err != nil {
		return err
	}
	from, err := resumeAt(r)
	if err != nil {
		return err
	}
	if _, err := a.find(r.Context(), id); err != nil {
		return err
	}
	hints := make(chan channels.LiveEvent, maxHints)
	cancel, err := a.cfg.Store.Bus().Subscribe(channels.LiveTopic(id), func(_ string, data []byte) {
		var ev channels.LiveEvent
		if json.Unmarshal(data, &ev) != nil {
			return // not from this program
		}
		select {
		case hints <- ev:
		default: // the page is slow; the next look at the store catches up
		}
	})
	if err != nil {
		return err
	}
	defer cancel()
	out, done, err := a.stream(w)
	if err != nil {
		return err
	}
	defer done()
	f := &follower{admin: a, out: out, session: id, next: from}
	f.follow(r.Context(), hints)
	return nil
}

// follow runs until the page goes or the session is deleted.
func (f *follower) follow(ctx context.Context, hints <-chan channels.LiveEvent) {
	look := time.NewTicker(gateway.LookEvery)
	defer look.Stop()
	f.look(ctx)
	if f.read(ctx) != nil {
		return
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			f.look(ctx)
			if err = f.read(ctx); err == nil {
				err = f.out.send("ping", -1, struct{}{})
			}
		case ev := <-hints:
			err = f.hint(ctx, &ev)
		}
		if err != nil {
			return
		}
	}
}

// look tells the replicas that somebody looks.
func (f *follower) look(ctx context.Context) {
	if err := gateway.Look(ctx, f.admin.cfg.Store.Bus(), f.session); err != nil && ctx.Err() == nil {
		f.admin.log.Debug("replicas were not told that a session is looked at", "session", f.session, "err", err)
	}
}

// hint passes on what is not in the store yet, and reads what is.
func (f *follower) hint(ctx context.Context, ev *channels.LiveEvent) error {
	switch ev.Type {
	case "message", "accepted", "run_start", "reset":
		return f.read(ctx)
	case "run_end":
		if err := f.read(ctx); err != nil {
			return err
		}
	}
	v := *ev
	v.Message = nil
	if v.Call != nil {
		call := *v.Call
		call.Arguments = entryview.Arguments(call.Arguments, entryview.MaxOutput)
		v.Call = &call
	}
	return f.out.send("live", -1, v)
}

var errDeleted = &problem{http.StatusNotFound, "deleted"}

// read sends what the store has beyond what the page has seen, and how the
// session is, if that has changed.
func (f *follower) read(ctx context.Context) error {
	info, err := f.admin.find(ctx, f.session)
	if errors.Is(err, errGone) || err == nil && info.Tail < f.next {
		_ = f.out.send("gone", 0, struct{}{}) // it ends either way
		return errDeleted
	}
	for err == nil {
		var entries []entry
		if entries, err = f.admin.window(ctx, f.session, f.next, tailBatch); err != nil {
			break
		}
		view, err := f.admin.describe(ctx, info)
		if err != nil {
			return err
		}
		state, err := json.Marshal(view)
		if err != nil {
			return err
		}
		if len(entries) == 0 && string(state) == f.last {
			return nil
		}
		f.last = string(state)
		if n := len(entries); n > 0 {
			f.next = entries[n-1].Position + 1
		}
		if err := f.out.send("entries", f.next, map[string]any{"entries": entries, "session": view}); err != nil {
			return err
		}
		if len(entries) < tailBatch {
			return nil
		}
	}
	if ctx.Err() != nil {
		return err
	}
	f.admin.log.Debug("a session that is looked at can't be read now", "session", f.session, "err", err)
	return nil // the next look may
}
