package web

import (
	"net/http"
	"time"
)

const (
	// heartbeat is what tells a page that a quiet stream is alive; the page
	// gives up on one that is silent for more than twice as long.
	heartbeat = 15 * time.Second
	// writePatience is how long a page may take to read what was sent.
	writePatience = 20 * time.Second
	maxStreams    = 1024
)

// streamEvents sends a conversation's live events as they happen. It begins
// with a "snapshot", or, when the browser names the last event it saw, with
// what came after; then come "live", "notice" and "ping" events.
//
// After a snapshot the page reads the transcript from the position it has.
func (c *Channel) streamEvents(w http.ResponseWriter, r *http.Request) error {
	session, err := session(r)
	if err != nil {
		return err
	}
	host, err := c.current(r.Context())
	if err != nil {
		return err
	}
	if !c.countStream(1) {
		return errCrowded
	}
	defer c.countStream(-1)
	h, err := c.hub(session, host)
	if err != nil {
		return err
	}
	after := r.Header.Get("Last-Event-ID")
	if after == "" {
		after = r.URL.Query().Get("after")
	}
	cl, first := h.join(after)
	defer h.leave(cl)

	header := w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Accel-Buffering", "no") // nginx would hold events back
	w.WriteHeader(http.StatusOK)
	s := stream{w: w, rc: http.NewResponseController(w)}
	if s.write([]byte("retry: 1000\n\n")) != nil {
		return nil
	}
	for _, data := range first {
		if s.write(data) != nil {
			return nil
		}
	}
	s.follow(r, cl)
	return nil
}

// countStream reports whether there is room.
func (c *Channel) countStream(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 && c.streams >= maxStreams {
		return false
	}
	c.streams += n
	return true
}

// stream writes to one page. Errors mean that it is gone.
type stream struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

// follow writes frames as they come until the page or the hub goes.
func (s *stream) follow(r *http.Request, cl *client) {
	if s.rc.Flush() != nil {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-r.Context().Done():
			return
		case <-cl.gone:
			return
		case <-beat.C:
			err = s.write([]byte("event: ping\ndata: {}\n\n"))
		case data := <-cl.frames:
			err = s.burst(data, cl)
		}
		if err != nil || s.rc.Flush() != nil {
			return
		}
	}
}

// burst writes what is there in one go.
func (s *stream) burst(data []byte, cl *client) error {
	for {
		if err := s.write(data); err != nil {
			return err
		}
		select {
		case data = <-cl.frames:
		default:
			return nil
		}
	}
}

func (s *stream) write(data []byte) error {
	// A recorder in a test has no deadlines; a connection always has.
	_ = s.rc.SetWriteDeadline(time.Now().Add(writePatience))
	_, err := s.w.Write(data)
	return err
}
