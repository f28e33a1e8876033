package providertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// server is a vendor: it keeps the bodies that it was sent and answers with
// what the test says.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	conns  map[string]bool
}

// serve starts a vendor; answer gets the number of the request, from 0.
func serve(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, n int)) *server {
	s := &server{conns: map[string]bool{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client went away
		}
		s.mu.Lock()
		n := len(s.bodies)
		s.bodies = append(s.bodies, string(body))
		s.conns[r.RemoteAddr] = true
		s.mu.Unlock()
		answer(w, r, n)
	}))
	t.Cleanup(s.Close)
	return s
}

// body returns the body of request n.
func (s *server) body(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n >= len(s.bodies) {
		return ""
	}
	return s.bodies[n]
}

func (s *server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// stream writes events as an event stream, each in a write of its own.
func stream(w http.ResponseWriter, events []string) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	for _, ev := range events {
		if _, err := io.WriteString(w, ev); err != nil || control.Flush() != nil {
			return
		}
	}
}
