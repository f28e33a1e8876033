package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = 60 * time.Second
	writeTimeout  = 60 * time.Second
	idleTimeout   = 2 * time.Minute
	// shutdownTimeout bounds how long requests may go on after Run's context
	// has ended. Event streams end at once.
	shutdownTimeout = 5 * time.Second
)

// Server is the listener. Make it with [New].
type Server struct {
	cfg    Config
	log    *slog.Logger
	auth   *auth
	health *health

	// streams ends when the server begins to shut down.
	streams    context.Context
	endStreams context.CancelFunc
	stopping   atomic.Bool

	mu      sync.Mutex
	main    net.Listener
	metrics net.Listener
}

// New checks the configuration. Nothing listens before [Server.Listen].
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, log: cfg.Logger, health: &health{checks: cfg.Checks}}
	s.auth = newAuth(cfg.Tokens)
	s.streams, s.endStreams = context.WithCancel(context.Background())
	return s, nil
}

// Listen takes the addresses, so that a program can fail early and print where
// the page is. [Server.Run] calls it if nobody did. Until Run, connections
// wait. The second call does nothing.
func (s *Server) Listen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.main != nil {
		return nil
	}
	main, err := listen("server.listen", s.cfg.Listen)
	if err != nil {
		return err
	}
	// A host name is judged by what it resolved to.
	if s.auth.open() && !isLoopbackAddr(main.Addr()) {
		_ = main.Close()
		return errNeedsToken(s.cfg.Listen)
	}
	if s.cfg.MetricsListen != "" {
		if s.metrics, err = listen("server.metrics_listen", s.cfg.MetricsListen); err != nil {
			_ = main.Close()
			return err
		}
	}
	s.main = main
	return nil
}

// Close gives up addresses that were taken by [Server.Listen] when Run is not
// going to be called.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.main != nil {
		err = s.main.Close()
	}
	if s.metrics != nil {
		err = errors.Join(err, s.metrics.Close())
	}
	return err
}

// Addr is the address that is really listened on, nil before [Server.Listen].
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.main == nil {
		return nil
	}
	return s.main.Addr()
}

// MetricsAddr is the address of the metrics' own listener, nil if there is
// none.
func (s *Server) MetricsAddr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.metrics == nil {
		return nil
	}
	return s.metrics.Addr()
}

// URL is where a person on this machine finds the page; empty before
// [Server.Listen].
func (s *Server) URL() string {
	addr, ok := s.Addr().(*net.TCPAddr)
	if !ok {
		return ""
	}
	host := addr.IP.String()
	if addr.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(addr.Port)) + "/"
}

// Run serves until ctx ends, then lets requests finish for a few seconds and
// returns nil. An error means that the server could not listen or broke.
func (s *Server) Run(ctx context.Context) error {
	defer s.endStreams()
	if err := s.Listen(); err != nil {
		return err
	}
	s.warn()
	servers := []*http.Server{s.httpServer(s.Handler())}
	listeners := []net.Listener{s.main}
	if s.metrics != nil {
		servers = append(servers, s.httpServer(s.metricsHandler()))
		listeners = append(listeners, s.metrics)
	}
	ended := make(chan error, len(servers))
	for i, srv := range servers {
		go func() { ended <- srv.Serve(listeners[i]) }()
	}
	var err error
	waiting := len(servers)
	select {
	case <-ctx.Done():
	case err = <-ended:
		waiting--
		err = fmt.Errorf("serve HTTP on %s: %w", s.Addr(), err)
	}
	s.shutdown(servers)
	for ; waiting > 0; waiting-- {
		<-ended
	}
	return err
}

// warn tells of what is allowed but not good.
func (s *Server) warn() {
	if isLoopbackAddr(s.Addr()) {
		return
	}
	s.log.Warn("the page is served without encryption: put a proxy with TLS before it", "listen", s.Addr().String())
	for _, t := range s.cfg.Tokens {
		if len(t) < 16 {
			s.log.Warn("server.token is short: take at least 16 random characters, for example from openssl rand -hex 24")
		}
	}
}

func (s *Server) shutdown(servers []*http.Server) {
	s.stopping.Store(true)
	s.endStreams()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	for _, srv := range servers {
		if err := srv.Shutdown(ctx); err != nil {
			s.log.Warn("requests were cut off by the shutdown", "err", err)
			_ = srv.Close()
		}
	}
}

func (s *Server) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
}

func listen(key, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %s is taken by another program, perhaps by another clawbot: "+
			"set %s to a free address (a port of 0 takes any), or stop the other: %w", key, address, key, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s: this user may not listen on %s: set %s to a port above 1023: %w", key, address, key, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s: %s is not an address of this machine: set %s to one that is, "+
			"such as 127.0.0.1:8080: %w", key, address, key, err)
	default:
		return nil, fmt.Errorf("%s: cannot listen on %s: set %s to \"host:port\" of this machine: %w", key, address, key, err)
	}
}

func isLoopbackAddr(a net.Addr) bool {
	t, ok := a.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// wantsStream reports whether a request asks for an event stream, which lives
// until the server stops and has no deadlines.
func wantsStream(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}
