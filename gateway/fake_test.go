package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/store"
	"clawbot/store/memory"
)

// chat is a channel in memory: what people see in one place, and the events
// they cause.
type chat struct {
	name  string
	ready chan struct{}

	mu     sync.Mutex
	host   channels.Host
	posts  []*post
	refuse error // of Post
	edits  int
	next   int
}

type post struct {
	id   string
	to   channels.Target
	text string
	out  channels.Outgoing
}

func newChat(name string) *chat { return &chat{name: name, ready: make(chan struct{})} }

func (c *chat) Name() string { return c.name }

func (c *chat) Receive(ctx context.Context, host channels.Host) error {
	c.mu.Lock()
	c.host = host
	c.mu.Unlock()
	close(c.ready)
	<-ctx.Done()
	return nil
}

func (c *chat) Post(ctx context.Context, to channels.Target, out channels.Outgoing) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse != nil {
		return "", c.refuse
	}
	c.next++
	p := &post{id: fmt.Sprint(c.next), to: to, text: out.Markdown, out: out}
	c.posts = append(c.posts, p)
	return p.id, nil
}

func (c *chat) Edit(ctx context.Context, to channels.Target, id string, out channels.Outgoing) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.posts {
		if p.id == id {
			p.text, p.out = out.Markdown, out
			c.edits++
			return nil
		}
	}
	return &channels.SendError{Outcome: channels.Rejected, Reason: channels.ReasonGone, Err: errors.New("no such message")}
}

func (c *chat) Limits(channels.Target) channels.Limits {
	return channels.Limits{Text: 4096, Measure: func(s string) int { return len(s) }, FirstAfter: 300 * time.Millisecond, MinFirst: 40, EditEvery: time.Second}
}

// texts returns what is shown, in order of posting.
func (c *chat) texts() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]string, len(c.posts))
	for i, p := range c.posts {
		out[i] = p.text
	}
	return out
}

func direct(session, id, text string) channels.Inbound {
	return channels.Inbound{
		Kind: channels.Message, EventID: session + ":" + id, MessageID: id,
		Target: channels.Target{Conversation: session, Chat: session, Direct: true},
		Sender: channels.Sender{ID: "7", Name: "Ann"}, Addressed: true, Text: text, At: time.Now(),
	}
}

func (c *chat) send(t *testing.T, in channels.Inbound) {
	t.Helper()
	<-c.ready
	if err := c.host.Accept(t.Context(), in); err != nil {
		t.Fatalf("Accept(%q): %v", in.Text, err)
	}
}

// script is a model that answers each request with the next step.
type script struct {
	mu       sync.Mutex
	steps    []step
	requests []*agentcore.Request
	// otherwise answers when the steps are used up.
	otherwise func(req *agentcore.Request) step
}

// step is one answer. wait is called first, and may return what ctx said.
type step struct {
	text  []string // deltas
	every time.Duration
	calls []agentcore.ToolCall
	wait  func(ctx context.Context) error
	err   error
	usage agentcore.Usage // default: 10 in, 5 out
}

func say(text ...string) step { return step{text: text} }

func call(id, name, args string) step {
	return step{calls: []agentcore.ToolCall{{ID: id, Name: name, Arguments: []byte(args)}}}
}

func (m *script) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		s := m.take(req)
		if s.wait != nil {
			if err := s.wait(ctx); err != nil {
				yield(agentcore.StreamEvent{}, err)
				return
			}
		}
		for _, d := range s.text {
			if s.every > 0 && !sleep(ctx, s.every) {
				yield(agentcore.StreamEvent{}, ctx.Err())
				return
			}
			if !yield(agentcore.StreamEvent{Type: agentcore.StreamText, Delta: d}, nil) {
				return
			}
		}
		if s.err != nil {
			yield(agentcore.StreamEvent{}, s.err)
			return
		}
		stop := agentcore.StopEnd
		for i, c := range s.calls {
			at := i
			if len(s.text) > 0 {
				at++
			}
			yield(agentcore.StreamEvent{Type: agentcore.StreamToolCall, Index: at, ID: c.ID, Name: c.Name}, nil)
			yield(agentcore.StreamEvent{Type: agentcore.StreamArguments, Index: at, Delta: string(c.Arguments)}, nil)
			stop = agentcore.StopToolUse
		}
		yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: stop, Usage: cmp.Or(s.usage, agentcore.Usage{Input: 10, Output: 5})}, nil)
	}
}

func (m *script) take(req *agentcore.Request) step {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := *req
	r.Messages = slices.Clone(req.Messages)
	m.requests = append(m.requests, &r)
	if len(m.steps) > 0 {
		s := m.steps[0]
		m.steps = m.steps[1:]
		return s
	}
	if m.otherwise != nil {
		return m.otherwise(req)
	}
	return say("ok")
}

func (m *script) asked() []*agentcore.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// echo answers with the latest user message.
func echo(req *agentcore.Request) step { return say("re: " + lastUser(req)) }

func lastUser(req *agentcore.Request) string {
	for _, m := range slices.Backward(req.Messages) {
		if m.Role == agentcore.RoleUser {
			return m.Text()
		}
	}
	return ""
}

func users(req *agentcore.Request) []string {
	var out []string
	for _, m := range req.Messages {
		if m.Role == agentcore.RoleUser {
			out = append(out, m.Text())
		}
	}
	return out
}

// toolset is a toolbox with the same tools for everybody.
type toolset []*agentcore.Tool

func (s toolset) For(context.Context, ToolRequest) []*agentcore.Tool { return s }

func tool(name string, fn func(ctx context.Context) string) *agentcore.Tool {
	return &agentcore.Tool{
		Name: name, Description: name, Schema: []byte(`{"type":"object"}`),
		Execute: func(ctx context.Context, _ agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
			return agentcore.TextResult(fn(ctx)), nil
		},
	}
}

// bot is a running gateway.
type bot struct {
	*Gateway
	stop func() error
}

// start runs a gateway until the test ends or stop is called.
func start(t *testing.T, cfg Config) *bot {
	t.Helper()
	if cfg.Access.DMPolicy == "" {
		cfg.Access.DMPolicy = dmOpen
	}
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	var once sync.Once
	var result error
	b := &bot{Gateway: g, stop: func() error {
		once.Do(func() {
			cancel()
			result = <-done
		})
		return result
	}}
	t.Cleanup(func() {
		if err := b.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return b
}

// bubble runs fn with a fake clock.
func bubble(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, fn)
}

// settled waits, on the fake clock, until the gateway has nothing to do.
func settled(t *testing.T, bots ...*bot) {
	t.Helper()
	for range 10_000 {
		synctest.Wait()
		busy := false
		for _, b := range bots {
			busy = busy || b.dispatch.busy()
		}
		if !busy {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the gateway is still busy")
}

// entries reads a transcript.
func entries(t *testing.T, s store.Store, session string) []store.Entry {
	t.Helper()
	list, err := s.Archive().Read(t.Context(), session, 0, 10_000)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	return list
}

// outline is a transcript in short: u, a, t, n, s with what each holds.
func outline(t *testing.T, s store.Store, session string) []string {
	t.Helper()
	var out []string
	for _, e := range entries(t, s, session) {
		h, err := readable(e)
		if err != nil {
			t.Fatal(err)
		}
		text := h.Message.Text()
		for _, c := range h.Message.ToolCalls() {
			text += "→" + c.Name
		}
		out = append(out, strings.TrimSpace(string("?uatsn"[e.Kind])+" "+text))
	}
	return out
}

// valid checks what must hold of every transcript: calls and results pair up
// before anything else comes, and every message is covered by one final.
func valid(t *testing.T, s store.Store, session string) {
	t.Helper()
	open := map[string]bool{}
	owed, seen := []int64{}, map[string]bool{}
	for _, e := range entries(t, s, session) {
		if seen[e.ID] {
			t.Errorf("%s: entry %d repeats %s", session, e.Position, e.ID)
		}
		seen[e.ID] = true
		if len(open) > 0 && e.Kind != store.KindToolResult && e.Kind != store.KindNote {
			t.Errorf("%s: entry %d comes before the results of %v", session, e.Position, open)
		}
		switch e.Kind {
		case store.KindUser:
			owed = append(owed, e.Inbox)
		case store.KindToolResult:
			if !open[e.Closes] {
				t.Errorf("%s: entry %d answers no open call", session, e.Position)
			}
			delete(open, e.Closes)
		default:
			for _, c := range e.Opens {
				open[c] = true
			}
			p, err := decodePayload(e.Data)
			if err != nil {
				t.Fatal(err)
			}
			if p.Note != nil && p.Note.Final || e.Kind == store.KindAssistant && len(e.Opens) == 0 && !brokeOff(p.Message) {
				before := int64(math.MaxInt64)
				if p.Note != nil && p.Note.Before > 0 {
					before = p.Note.Before
				}
				owed = slices.DeleteFunc(owed, func(inbox int64) bool { return inbox < before })
			}
		}
	}
	if len(owed) > 0 || len(open) > 0 {
		t.Errorf("%s: something is owed at the end: %v, open calls %v", session, owed, open)
	}
}

func want(t *testing.T, what string, got, expected []string) {
	t.Helper()
	if !slices.Equal(got, expected) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, expected)
	}
}

func newStore(t *testing.T) *memory.Store {
	t.Helper()
	s := memory.New()
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// echoAfter thinks for a while before it answers.
func echoAfter(d time.Duration) func(*agentcore.Request) step {
	return func(req *agentcore.Request) step {
		s := echo(req)
		s.wait = func(ctx context.Context) error {
			if !sleep(ctx, d) {
				return ctx.Err()
			}
			return nil
		}
		return s
	}
}

// eagerChat sends the next message the moment an answer is posted.
type eagerChat struct {
	*chat
	left int
	wg   sync.WaitGroup
}

func (c *eagerChat) Post(ctx context.Context, to channels.Target, out channels.Outgoing) (string, error) {
	id, err := c.chat.Post(ctx, to, out)
	if c.left > 0 {
		c.left--
		in := direct(to.Conversation, fmt.Sprintf("e%d", c.left), fmt.Sprintf("m%d", c.left))
		c.wg.Go(func() { _ = c.host.Accept(context.Background(), in) })
	}
	return id, err
}

// ownersOnly is a toolbox that gives owners everything and others nothing.
type ownersOnly []*agentcore.Tool

func (s ownersOnly) For(_ context.Context, req ToolRequest) []*agentcore.Tool {
	if req.Role == RoleOwner {
		return s
	}
	return nil
}

// eventOf is an event of the test session with data as it is.
func eventOf(data string) store.Event {
	return store.Event{ID: "raw", Session: sess, Data: []byte(data)}
}
