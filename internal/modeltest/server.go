package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxBody bounds a request, in bytes.
const maxBody = 64 << 20

// Config configures a [Server].
type Config struct {
	// Script says what is answered; an empty text by default.
	Script Script
	// Addr to listen on; "127.0.0.1:0" by default.
	Addr string
	// APIKey, if set, is the only one that is let in.
	APIKey string
	// Models is what the list of models says.
	Models []string
	// Lean remembers no requests, for load runs.
	Lean bool
}

// Server is a scripted model server. Close stops it.
type Server struct {
	cfg      Config
	listener net.Listener
	server   *http.Server
	ctx      context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup
	active   atomic.Int64

	mu       sync.Mutex
	closed   bool
	requests []*Request
	count    int
	seen     int
	changed  chan struct{}
}

// New starts a server with a script on a free port of the loopback. It panics
// when it can't listen.
func New(script Script) *Server { return NewServer(Config{Script: script}) }

// NewServer starts a server. It panics when it can't listen.
func NewServer(cfg Config) *Server {
	if cfg.Script == nil {
		cfg.Script = Always(Turn{})
	}
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	if cfg.Models == nil {
		cfg.Models = []string{"test-model"}
	}
	listener, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		panic("modeltest: listen: " + err.Error())
	}
	s := &Server{cfg: cfg, listener: listener, changed: make(chan struct{})}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 30 * time.Second}
	s.running.Go(func() { _ = s.server.Serve(listener) })
	return s
}

// URL is the server's base address, without a path. OpenAI's and Anthropic's
// formats are served with and without "/v1", Gemini's by its own paths, and
// Mistral's, which shares its path with OpenAI's, below "/mistral".
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Active is the number of requests being answered now.
func (s *Server) Active() int64 { return s.active.Load() }

// Count is the number of requests so far, refused ones left out.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// Close ends all streams and waits for them.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	_ = s.server.Close()
	s.running.Wait()
}

// enter counts a request in unless the server is being closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.running.Add(1)
	}
	return !s.closed
}

// ServeHTTP serves every format.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.running.Done()
	s.active.Add(1)
	defer s.active.Add(-1)
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "GenerateContent"), strings.HasSuffix(path, ":generateContent"):
		s.serve(w, r, Google)
	case strings.HasSuffix(path, "/chat/completions") && strings.HasPrefix(path, "/mistral/"):
		s.serve(w, r, Mistral)
	case strings.HasSuffix(path, "/chat/completions"):
		s.serve(w, r, OpenAI)
	case strings.HasSuffix(path, "/messages"):
		s.serve(w, r, Anthropic)
	case strings.HasSuffix(path, "/models"):
		s.models(w)
	default:
		writeError(w, OpenAI, 404, "no such path: "+path, 0)
	}
}

// refusal is a request that a vendor would not take.
type refusal struct {
	status int
	text   string
}

// Error gives the reason.
func (e *refusal) Error() string { return e.text }

func (s *Server) serve(w http.ResponseWriter, r *http.Request, format string) {
	req, err := s.read(r, format)
	if err != nil {
		status := http.StatusBadRequest
		if e, ok := errors.AsType[*refusal](err); ok {
			status = e.status
		}
		writeError(w, format, status, err.Error(), 0)
		return
	}
	s.note(req)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	turn := s.cfg.Script(ctx, req)
	pause(ctx, turn.FirstAfter)
	if turn.Status != 0 {
		writeError(w, format, turn.Status, turn.Message, turn.RetryAfter)
		return
	}
	answer(ctx, w, req, turn)
}

func (s *Server) read(r *http.Request, format string) (*Request, error) {
	if r.Method != http.MethodPost {
		return nil, &refusal{405, "only POST is allowed"}
	}
	if err := s.authorise(r, format); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		return nil, &refusal{413, "request too large"}
	}
	req := &Request{Format: format, Path: r.URL.Path, Header: r.Header, Body: body, At: time.Now()}
	switch format {
	case Anthropic:
		return req, parseAnthropic(req)
	case Google:
		return req, parseGoogle(req)
	case Mistral:
		return req, parseMistral(req)
	}
	return req, parseOpenAI(req)
}

func (s *Server) authorise(r *http.Request, format string) error {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if format == Anthropic {
		if r.Header.Get("anthropic-version") == "" {
			return &refusal{400, "anthropic-version: header is required"}
		}
		if k := r.Header.Get("x-api-key"); k != "" {
			key = k
		}
	}
	if format == Google {
		key = r.Header.Get("X-Goog-Api-Key")
		if r.URL.Query().Has("key") {
			return &refusal{400, "modeltest: the key stands in the URL"}
		}
	}
	if s.cfg.APIKey != "" && key != s.cfg.APIKey {
		return &refusal{401, "invalid x-api-key"}
	}
	return nil
}

func (s *Server) models(w http.ResponseWriter) {
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
	}
	list := make([]model, len(s.cfg.Models))
	for i, id := range s.cfg.Models {
		list[i] = model{id, "model"}
	}
	writeJSON(w, 200, map[string]any{"object": "list", "data": list})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic("modeltest: encode an answer: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// errorTypes are Anthropic's names of HTTP statuses.
var errorTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
	413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
}

func writeError(w http.ResponseWriter, format string, status int, text string, retryAfter time.Duration) {
	if retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter/time.Second)))
	}
	kind := errorTypes[status]
	if kind == "" {
		kind = "api_error"
	}
	if format == Anthropic {
		writeJSON(w, status, map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": text}})
		return
	}
	if format == Google {
		writeJSON(w, status, map[string]any{"error": map[string]any{"code": status, "message": text, "status": strings.ToUpper(kind)}})
		return
	}
	if format == Mistral {
		writeJSON(w, status, map[string]any{"object": "error", "message": text, "type": kind, "param": nil, "code": nil})
		return
	}
	writeJSON(w, status, map[string]any{"error": map[string]any{"message": text, "type": kind, "code": nil, "param": nil}})
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
