package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"clawbot/agentcore"
	"clawbot/tools"
)

// Config is one server: a command or a URL.
type Config struct {
	// Name is the server's in the configuration; it begins its tools' names.
	Name string
	// Command is a program with its arguments that speaks on stdin and stdout.
	// It inherits PATH, HOME and LANG; Env ("NAME=value") is added.
	Command []string
	Env     []string
	Dir     string
	// URL is a streamable HTTP endpoint; Headers go with every request.
	URL     string
	Headers map[string]string
	// Parallel lets its tools run beside others.
	Parallel bool
	// Idempotent lists tools, by the server's own names, that may be repeated
	// after a crash.
	Idempotent []string
	// Timeout bounds one call; 0 means 2 minutes.
	Timeout time.Duration
	// Changed is called when its tools have changed, or it went or came back,
	// from the goroutine of Run.
	Changed func()
	Logger  *slog.Logger // default: discard
}

const (
	connectTimeout = 30 * time.Second
	callTimeout    = 2 * time.Minute
	firstPause     = time.Second
	longestPause   = time.Minute
	// settledAfter is how long a server must have lived for its next pause to
	// be the first again.
	settledAfter = time.Minute
	// maxTools bounds what one server may offer.
	maxTools = 500
)

// Server is the connection to one server. Make it with [New], run it once.
type Server struct {
	cfg Config
	log *slog.Logger

	mu       sync.Mutex
	session  *sdk.ClientSession // nil while it is down
	source   tools.Source
	problems []string
	err      error
	tried    chan struct{} // closed when the first attempt has ended
	progress map[string]func(agentcore.Update)
}

// New returns a server that is not connected yet.
func New(cfg Config) (*Server, error) {
	switch {
	case !validServer.MatchString(cfg.Name) || len(cfg.Name) > maxServer:
		return nil, fmt.Errorf("mcp server %q: a name has 1 to %d letters, digits, - or single _ between them", cfg.Name, maxServer)
	case (len(cfg.Command) == 0) == (cfg.URL == ""):
		return nil, fmt.Errorf("mcp server %s: give it a command or a url, and not both", cfg.Name)
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, callTimeout)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Changed == nil {
		cfg.Changed = func() {}
	}
	s := &Server{cfg: cfg, log: cfg.Logger.With("mcp", cfg.Name), tried: make(chan struct{}), progress: map[string]func(agentcore.Update){}}
	s.source = tools.Source{Name: "mcp:" + cfg.Name, Kind: tools.Extension}
	s.err = errors.New("it has not answered yet")
	return s, nil
}

// Source returns the tools that the server offered last.
func (s *Server) Source() tools.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source
}

// Err says why the server can't be used now, nil if it can.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return nil
	}
	return fmt.Errorf("the server %s is down: %w", s.cfg.Name, s.err)
}

// Problems says which of the server's tools were left out, and why.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

// Ready waits until the first attempt to connect has ended, or ctx has.
func (s *Server) Ready(ctx context.Context) {
	select {
	case <-s.tried:
	case <-ctx.Done():
	}
}

// Run keeps the server connected until ctx ends. It always returns nil: a
// server that can't be had is a reason to hide its tools, not to stop the bot.
func (s *Server) Run(ctx context.Context) error {
	pause := firstPause
	first := sync.OnceFunc(func() { close(s.tried) })
	defer first()
	for ctx.Err() == nil {
		began := time.Now()
		err := s.serve(ctx, first)
		s.down(err)
		if ctx.Err() != nil {
			break
		}
		s.cfg.Changed()
		first()
		if time.Since(began) > settledAfter {
			pause = firstPause
		}
		s.log.Warn("the server is gone; it is started again", "err", err, "in", pause)
		wait := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
		pause = min(pause*2, longestPause)
	}
	return nil
}

func (s *Server) down(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = nil
	s.err = err
	if err == nil {
		s.err = errors.New("it ended")
	}
}

// serve connects, and follows the server until it or ctx ends.
func (s *Server) serve(ctx context.Context, first func()) error {
	changed := make(chan struct{}, 1)
	client := sdk.NewClient(&sdk.Implementation{Name: "clawbot", Version: "1"}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, // it gets no roots, no sampling, nobody to ask
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case changed <- struct{}{}:
			default:
			}
		},
		ProgressNotificationHandler: s.progressed,
	})
	transport, release := s.transport()
	defer release()
	connecting, cancel := context.WithTimeout(ctx, connectTimeout)
	session, err := client.Connect(connecting, transport, nil)
	cancel()
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	defer func() {
		_ = session.Close() // what it still had to say is of no use any more
		<-ended
	}()
	for {
		if err := s.list(ctx, session); err != nil {
			return fmt.Errorf("list its tools: %w", err)
		}
		s.cfg.Changed() // before it counts as tried: whoever waits sees the tools
		first()
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			ended <- err
			return err
		case <-changed:
		}
	}
}

// list asks for the tools and puts them in the place of those there were.
func (s *Server) list(ctx context.Context, session *sdk.ClientSession) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	source := tools.Source{Name: s.source.Name, Kind: tools.Extension}
	var problems []string
	seen := map[string]bool{}
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		if len(source.Tools) >= maxTools {
			problems = append(problems, fmt.Sprintf("it offers more than %d tools", maxTools))
			break
		}
		bridged, err := s.bridge(tool)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%q: %v", tool.Name, err))
			continue
		}
		if seen[bridged.Name] {
			problems = append(problems, fmt.Sprintf("%q: another tool of it has the same name", tool.Name))
			continue
		}
		seen[bridged.Name] = true
		source.Tools = append(source.Tools, bridged)
	}
	for _, p := range problems {
		s.log.Warn("a tool is left out", "problem", p)
	}
	slices.SortFunc(source.Tools, func(a, b tools.Tool) int { return strings.Compare(a.Name, b.Name) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session, s.source, s.problems, s.err = session, source, problems, nil
	return nil
}

// transport is a new connection; release ends what it has started.
func (s *Server) transport() (t sdk.Transport, release func()) {
	if s.cfg.URL != "" {
		base := http.DefaultTransport.(*http.Transport).Clone()
		base.Proxy = nil // the environment's is for others
		client := &http.Client{Transport: withHeaders{base, s.cfg.Headers}}
		return &sdk.StreamableClientTransport{Endpoint: s.cfg.URL, HTTPClient: client, MaxRetries: 2}, base.CloseIdleConnections
	}
	return s.command()
}

// withHeaders adds headers to every request to the server's own host.
type withHeaders struct {
	next    http.RoundTripper
	headers map[string]string
}

func (t withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(t.headers) > 0 && r.Response == nil { // not on the way to where a redirect leads
		r = r.Clone(r.Context())
		for name, value := range t.headers {
			r.Header.Set(name, value)
		}
	}
	return t.next.RoundTrip(r)
}
