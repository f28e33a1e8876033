package budget

import (
	"context"
	"iter"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"clawbot/agentcore"
	"clawbot/internal/redistest"
	"clawbot/store"
	"clawbot/store/memory"
	"clawbot/store/redis"
	"clawbot/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// each runs a test with every store.
func each(t *testing.T, test func(t *testing.T, s store.Store)) {
	t.Run("memory", func(t *testing.T) { test(t, memory.New()) })
	t.Run("sqlite", func(t *testing.T) {
		s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "b.db")})
		must(t, err)
		defer s.Close()
		test(t, s)
	})
	t.Run("redis", func(t *testing.T) {
		s, err := redis.Open(t.Context(), redis.Config{URL: redistest.Start(t).URL(), Prefix: "t"})
		must(t, err)
		defer s.Close()
		test(t, s)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newBudget(t *testing.T, s store.Store, l Limits) *Budget {
	t.Helper()
	b, err := New(Config{Store: s, Limits: l})
	must(t, err)
	return b
}

// script is a model that does what it is told to, and keeps what it was asked.
type script struct {
	price *agentcore.Price
	steps []step
	asked []*agentcore.Request
	// each, if set, is called when the model is asked.
	each func()
	info agentcore.ModelInfo
}

type step struct {
	text  string
	usage agentcore.Usage
	err   error
}

var scriptRef = agentcore.ModelRef{Provider: "test", Format: "openai", ID: "m"}

func (s *script) Info() agentcore.ModelInfo {
	info := s.info
	info.Ref, info.Price = scriptRef, s.price
	return info
}

func (s *script) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		s.asked = append(s.asked, req)
		if s.each != nil {
			s.each()
		}
		now := s.steps[0]
		if len(s.steps) > 1 {
			s.steps = s.steps[1:]
		}
		if now.text != "" && !yield(agentcore.StreamEvent{Type: agentcore.StreamText, Delta: now.text}, nil) {
			return
		}
		if ctx.Err() != nil {
			yield(agentcore.StreamEvent{}, &agentcore.Error{Class: agentcore.ErrAborted})
			return
		}
		yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: agentcore.StopEnd, Usage: now.usage, Model: scriptRef}, now.err)
	}
}

// dollar is a model that takes a dollar for a thousand tokens, in and out.
func dollar(steps ...step) *script {
	return &script{price: &agentcore.Price{Input: 1000, Output: 1000, CacheRead: 1000, CacheWrite: 1000}, steps: steps}
}

// request takes at most 20 tokens in and n out.
func request(n int64) *agentcore.Request {
	return &agentcore.Request{
		MaxTokens: n,
		Messages:  []*agentcore.Message{{Role: agentcore.RoleAssistant, Model: scriptRef, Usage: agentcore.Usage{Input: 20}}},
	}
}

// ask makes a call and returns its error.
func ask(ctx context.Context, m agentcore.Model, req *agentcore.Request) (agentcore.Usage, error) {
	var used agentcore.Usage
	for ev, err := range m.Stream(ctx, req) {
		if err != nil {
			return used, err
		}
		if ev.Type == agentcore.StreamDone {
			used = ev.Usage
		}
	}
	return used, nil
}

func account(session string, users ...string) *Account {
	a := &Account{Session: session, Run: session + "-run"}
	for _, u := range users {
		a.Charge(u)
	}
	return a
}

// used is what a cap of an account has now, in thousandths of a dollar.
func used(t *testing.T, b *Budget, a *Account, kind Kind) int64 {
	t.Helper()
	list, err := b.Standings(t.Context(), a)
	must(t, err)
	for _, s := range list {
		if s.Kind == kind {
			return s.Used / 1e6
		}
	}
	t.Fatalf("there is no cap of the kind %s", kind)
	return 0
}
