package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
)

// bot is a behaving stand-in for the gateway and its store: it accepts once per
// event id, keeps transcripts, and delivers on its bus in order, one goroutine
// per subscription.
type bot struct {
	t       *testing.T
	channel *Channel // that it hosts

	mu       sync.Mutex
	events   map[string]bool
	accepted []channels.Inbound
	arrived  chan struct{} // closed and replaced with every accept
	sessions map[string]*botSession
	subs     map[int]*botSub
	nextSub  int
	refuse   error // of Accept
	reads    int
	deaf     bool // the bus loses everything
}

type botSession struct {
	entries []Entry
	running bool
	waiting int
	active  time.Time
	run     string
	seq     int64
	offset  int
}

type botSub struct {
	topic string
	ch    chan [2]string
	done  chan struct{}
}

func newBot(t *testing.T) *bot {
	return &bot{t: t, events: map[string]bool{}, arrived: make(chan struct{}), sessions: map[string]*botSession{}, subs: map[int]*botSub{}}
}

// Accept implements channels.Host.
func (b *bot) Accept(_ context.Context, in channels.Inbound) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse != nil {
		return b.refuse
	}
	if b.events[in.EventID] {
		return nil
	}
	b.events[in.EventID] = true
	b.accepted = append(b.accepted, in)
	close(b.arrived)
	b.arrived = make(chan struct{})
	return nil
}

func (b *bot) Get(context.Context, string) ([]byte, error) { return nil, nil }
func (b *bot) Put(context.Context, string, []byte) error   { return nil }

// Publish implements channels.Host.
func (b *bot) Publish(_ context.Context, topic string, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.deaf {
		return nil
	}
	for _, s := range b.subs {
		if s.topic == topic {
			s.ch <- [2]string{topic, string(data)}
		}
	}
	return nil
}

// Subscribe implements channels.Host.
func (b *bot) Subscribe(topic string, fn func(string, []byte)) (func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &botSub{topic: topic, ch: make(chan [2]string, 1<<16), done: make(chan struct{})}
	id := b.nextSub
	b.nextSub++
	b.subs[id] = s
	go func() {
		defer close(s.done)
		for m := range s.ch {
			fn(m[0], []byte(m[1]))
		}
	}()
	return func() {
		b.mu.Lock()
		if _, ok := b.subs[id]; ok {
			delete(b.subs, id)
			close(s.ch)
		}
		b.mu.Unlock()
		<-s.done
	}, nil
}

// Sessions implements Transcripts.
func (b *bot) Sessions(_ context.Context, prefix, after string, limit int) ([]Session, string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []Session
	for id, s := range b.sessions {
		if strings.HasPrefix(id, prefix) {
			all = append(all, Session{ID: id, Tail: int64(len(s.entries)), Running: s.running, Waiting: s.waiting, LastActive: s.active})
		}
	}
	sort.Slice(all, func(i, j int) bool {
		return all[i].LastActive.After(all[j].LastActive) || all[i].LastActive.Equal(all[j].LastActive) && all[i].ID < all[j].ID
	})
	if after != "" {
		for i, s := range all {
			if s.ID == after {
				all = all[i+1:]
				break
			}
		}
	}
	next := ""
	if len(all) > limit {
		all = all[:limit]
		next = all[limit-1].ID
	}
	return all, next, nil
}

// Read implements Transcripts.
func (b *bot) Read(_ context.Context, session string, from int64, limit int) ([]Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads++
	s := b.sessions[session]
	if s == nil || from >= int64(len(s.entries)) {
		return nil, nil
	}
	return append([]Entry(nil), s.entries[from:min(from+int64(limit), int64(len(s.entries)))]...), nil
}

func (b *bot) session(conv string) *botSession {
	s := b.sessions[prefix+conv]
	if s == nil {
		s = &botSession{active: time.Now()}
		b.sessions[prefix+conv] = s
	}
	return s
}

// next waits for the accepted event number n, from 0.
func (b *bot) next(n int) channels.Inbound {
	b.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		b.mu.Lock()
		arrived := b.arrived
		if len(b.accepted) > n {
			in := b.accepted[n]
			b.mu.Unlock()
			return in
		}
		b.mu.Unlock()
		select {
		case <-arrived:
		case <-deadline:
			b.t.Fatalf("event %d was never accepted", n)
		}
	}
}

// add appends an entry to the transcript and returns the tail.
func (b *bot) add(conv string, kind EntryKind, m *agentcore.Message, event string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.session(conv)
	if m.ID == "" {
		m.ID = fmt.Sprintf("m%d", len(s.entries))
	}
	if m.Time.IsZero() {
		m.Time = time.Now()
	}
	s.active = time.Now()
	s.entries = append(s.entries, Entry{Position: int64(len(s.entries)), Kind: kind, At: m.Time, EventID: event, Message: m})
	return int64(len(s.entries))
}

func (b *bot) live(conv string, ev channels.LiveEvent) {
	b.mu.Lock()
	s := b.session(conv)
	if ev.Type == "run_start" {
		s.run, s.seq, s.offset, s.running = newID(), 0, 0, true
	}
	s.seq++
	ev.Run, ev.Seq, ev.At = s.run, s.seq, time.Now()
	switch ev.Type {
	case "text":
		ev.Offset = s.offset
		s.offset += len(ev.Text)
	case "message", "text_reset":
		s.offset = 0
	case "run_end":
		s.running = false
	}
	b.mu.Unlock()
	data, err := json.Marshal(ev)
	if err != nil {
		b.t.Error(err)
	}
	_ = b.Publish(context.Background(), channels.LiveTopic(prefix+conv), data)
}

// took puts an accepted message into the transcript, as a drain does.
func (b *bot) took(conv string, in channels.Inbound) {
	b.add(conv, EntryUser, text(agentcore.RoleUser, in.Text), in.EventID)
}

func (b *bot) start(conv string)       { b.live(conv, channels.LiveEvent{Type: "run_start"}) }
func (b *bot) says(conv, delta string) { b.live(conv, channels.LiveEvent{Type: "text", Text: delta}) }
func (b *bot) end(conv, problem string) {
	b.live(conv, channels.LiveEvent{Type: "run_end", Error: problem})
}

// finish settles an assistant message.
func (b *bot) finish(conv string, m *agentcore.Message) {
	tail := b.add(conv, EntryAssistant, m, "")
	b.message(conv, m, tail)
}

func (b *bot) message(conv string, m *agentcore.Message, tail int64) {
	data, err := json.Marshal(m)
	if err != nil {
		b.t.Error(err)
	}
	b.live(conv, channels.LiveEvent{Type: "message", Message: data, Position: tail})
}

// accepts publishes that a message has arrived.
func (b *bot) accepts(conv string, m *agentcore.Message) {
	data, err := json.Marshal(channels.LiveEvent{Type: "accepted", Message: json.RawMessage(mustJSON(m)), At: time.Now()})
	if err != nil {
		b.t.Error(err)
	}
	_ = b.Publish(context.Background(), channels.LiveTopic(prefix+conv), data)
}

func (b *bot) tool(conv, kind string, call channels.LiveCall) {
	b.live(conv, channels.LiveEvent{Type: kind, Call: &call})
}

func (b *bot) result(conv, call, name, output string, isError bool) {
	m := text(agentcore.RoleToolResult, output)
	m.ToolCallID, m.ToolName, m.IsError = call, name, isError
	b.message(conv, m, b.add(conv, EntryToolResult, m, ""))
}

func text(role agentcore.Role, s string) *agentcore.Message {
	m := &agentcore.Message{Role: role, Content: []agentcore.Block{agentcore.Text{Text: s}}}
	if role == agentcore.RoleAssistant {
		m.Stop = agentcore.StopEnd
	}
	return m
}

// calling is an assistant message that calls tools: name, arguments, name, …
func calling(say string, calls ...agentcore.ToolCall) *agentcore.Message {
	m := text(agentcore.RoleAssistant, say)
	if say == "" {
		m.Content = nil
	}
	for _, c := range calls {
		m.Content = append(m.Content, c)
	}
	m.Stop = agentcore.StopToolUse
	return m
}

func call(id, name, args string) agentcore.ToolCall {
	return agentcore.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(args)}
}

// running is a channel that receives, behind a server.
type running struct {
	*bot
	url    string
	client *http.Client
}

func run(t *testing.T) *running {
	t.Helper()
	return runWith(t, Config{})
}

func runWith(t *testing.T, cfg Config) *running {
	t.Helper()
	b := newBot(t)
	cfg.Transcripts = b
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.channel = c
	ctx, cancel := context.WithCancel(context.Background())
	received := make(chan error, 1)
	go func() { received <- c.Receive(ctx, b) }()
	_, handler := c.Handler()
	srv := httptest.NewServer(handler)
	t.Cleanup(func() {
		cancel()
		if err := <-received; err != nil {
			t.Errorf("Receive ended with %v", err)
		}
		srv.Client().CloseIdleConnections()
		srv.Close()
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.subs) != 0 {
			t.Errorf("%d subscriptions outlived the channel", len(b.subs))
		}
	})
	return &running{bot: b, url: srv.URL, client: srv.Client()}
}

func userText(s string) *agentcore.Message { return text(agentcore.RoleUser, s) }

func mustJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}
