package server

import (
	"context"
	"net/http"
	"time"
)

// Handler is everything that the listener serves, for tests and for programs
// with a listener of their own.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	s.probes(mux)
	for _, h := range s.cfg.Webhooks {
		pattern, handler := h.Handler()
		mux.Handle(pattern, handler)
	}
	mux.Handle("/login", s.guard(http.HandlerFunc(s.login)))
	mux.Handle("GET /login.css", s.guard(http.HandlerFunc(loginCSS)))
	mux.Handle("POST /logout", s.guard(http.HandlerFunc(s.logout)))
	if s.cfg.Metrics != nil && s.cfg.MetricsListen == "" {
		mux.Handle("GET /metrics", s.guard(s.signedIn(s.cfg.Metrics)))
	}
	for _, h := range s.cfg.Pages {
		pattern, handler := h.Handler()
		mux.Handle(pattern, s.guard(s.signedIn(handler)))
	}
	return s.deadlines(mux)
}

func (s *Server) metricsHandler() http.Handler {
	mux := http.NewServeMux()
	s.probes(mux)
	if s.cfg.Metrics != nil {
		mux.Handle("GET /metrics", s.cfg.Metrics)
	}
	return s.deadlines(mux)
}

func (s *Server) probes(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", alive)
	mux.HandleFunc("GET /readyz", s.ready)
}

// deadlines bounds slow bodies, and frees event streams from the server's
// write timeout; those end when the server begins to stop.
func (s *Server) deadlines(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		switch {
		case wantsStream(r):
			// A recorder in a test has no deadlines; a connection always has.
			_ = rc.SetWriteDeadline(time.Time{})
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(s.streams, cancel)()
			r = r.WithContext(ctx)
		case r.ContentLength != 0:
			_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout))
			defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
		}
		next.ServeHTTP(w, r)
	})
}
