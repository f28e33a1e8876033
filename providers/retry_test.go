package providers

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/agentcore"
)

// script is a model that plays one list of events per call. An element is a
// text delta, a *agentcore.Error, or a StreamEvent.
type script struct {
	calls [][]any
	made  []time.Time
	ref   agentcore.ModelRef
}

func (s *script) Info() agentcore.ModelInfo { return agentcore.ModelInfo{Ref: s.ref} }

func (s *script) Stream(context.Context, *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		n := min(len(s.made), len(s.calls)-1)
		s.made = append(s.made, time.Now())
		for _, step := range s.calls[n] {
			ok := true
			switch step := step.(type) {
			case string:
				ok = yield(agentcore.StreamEvent{Type: agentcore.StreamText, Delta: step}, nil)
			case *agentcore.Error:
				yield(agentcore.StreamEvent{}, step)
				return
			case agentcore.StreamEvent:
				ok = yield(step, nil)
			}
			if !ok {
				return
			}
		}
	}
}

var (
	done      = agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: agentcore.StopEnd}
	busy      = &agentcore.Error{Class: agentcore.ErrOverloaded, Message: "busy", Retryable: true}
	errBadKey = &agentcore.Error{Class: agentcore.ErrAuth, Message: "bad key"}
)

// run plays a model and returns what was shown, "⟲" standing for a restart.
func run(ctx context.Context, m agentcore.Model) (shown string, err error) {
	for ev, e := range m.Stream(ctx, &agentcore.Request{}) {
		switch {
		case e != nil:
			err = e
		case ev.Type == agentcore.StreamText:
			shown += ev.Delta
		case ev.Type == agentcore.StreamRestart:
			shown += "⟲"
		case ev.Type == agentcore.StreamDone:
			shown += "."
		}
	}
	return shown, err
}

func TestACallIsRetriedOnlyIfThatMayHelp(t *testing.T) {
	length := done
	length.Stop = agentcore.StopLength
	asked := func(d time.Duration) *agentcore.Error {
		return &agentcore.Error{Class: agentcore.ErrRateLimited, Message: "limited", Retryable: true, RetryAfter: d}
	}
	for _, c := range []struct {
		name  string
		calls [][]any
		cfg   RetryConfig
		shown string
		class agentcore.ErrorClass
		made  int
		least time.Duration // between the first call and the last
		most  time.Duration
	}{
		{"at once", [][]any{{"a", done}}, RetryConfig{Max: 2}, "a.", "", 1, 0, 0},
		{"before anything is shown", [][]any{{busy}, {"a", done}}, RetryConfig{Max: 2}, "a.", "", 2, 500 * time.Millisecond, time.Second},
		{"after something was shown", [][]any{{"x", busy}, {"a", done}}, RetryConfig{Max: 2}, "x⟲a.", "", 2, 0, time.Second},
		{"twice", [][]any{{busy}, {busy}, {"a", done}}, RetryConfig{Max: 2}, "a.", "", 3, 1500 * time.Millisecond, 3 * time.Second},
		{"until it gives up", [][]any{{"x", busy}}, RetryConfig{Max: 2}, "x⟲x⟲x", agentcore.ErrOverloaded, 3, 0, time.Hour},
		{"never", [][]any{{busy}, {"a", done}}, RetryConfig{}, "", agentcore.ErrOverloaded, 1, 0, 0},
		{"not if it can't help", [][]any{{errBadKey}, {"a", done}}, RetryConfig{Max: 2}, "", agentcore.ErrAuth, 1, 0, 0},
		{"when the vendor says", [][]any{{asked(20 * time.Second)}, {"a", done}}, RetryConfig{Max: 2}, "a.", "", 2, 20 * time.Second, 21 * time.Second},
		{"not when the vendor says hours", [][]any{{asked(2 * time.Hour)}, {"a", done}}, RetryConfig{Max: 2}, "", agentcore.ErrRateLimited, 1, 0, 0},
		{"within the budget", [][]any{{asked(20 * time.Second)}}, RetryConfig{Max: 9, Budget: 50 * time.Second}, "", agentcore.ErrRateLimited, 3, 40 * time.Second, 50 * time.Second},
		{"an empty answer", [][]any{{" \n", done}, {"a", done}}, RetryConfig{Max: 2}, " \n⟲a.", "", 2, 0, time.Second},
		{"an answer that stays empty", [][]any{{done}}, RetryConfig{Max: 1}, "", agentcore.ErrEmpty, 2, 0, time.Hour},
		{"an empty answer without retries", [][]any{{done}}, RetryConfig{}, "", agentcore.ErrEmpty, 1, 0, 0},
		{"no tokens left for text", [][]any{{length}}, RetryConfig{Max: 2}, "", agentcore.ErrEmpty, 1, 0, 0},
		{"a stream without an end", [][]any{{"a"}, {"b", done}}, RetryConfig{Max: 2}, "a⟲b.", "", 2, 0, time.Second},
		{"an answer that is a call", [][]any{{agentcore.StreamEvent{Type: agentcore.StreamToolCall, Name: "f"}, done}}, RetryConfig{Max: 2}, ".", "", 1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{calls: c.calls}
				shown, err := run(t.Context(), Retry(s, c.cfg))
				took := s.made[len(s.made)-1].Sub(s.made[0])
				if shown != c.shown || agentcore.ClassOf(err) != c.class || len(s.made) != c.made || took < c.least || took > c.most {
					t.Errorf("shown %q, %v, after %d calls in %s", shown, err, len(s.made), took)
				}
			})
		})
	}
}

func TestALongWaitIsTold(t *testing.T) {
	s := &script{calls: [][]any{{&agentcore.Error{Class: agentcore.ErrRateLimited, Message: "limited", Retryable: true, RetryAfter: 2 * time.Hour}}}}
	_, err := run(t.Context(), Retry(s, RetryConfig{Max: 1}))
	e, _ := errors.AsType[*agentcore.Error](err)
	if e == nil || !strings.Contains(e.Message, "2h0m0s") || !strings.Contains(e.UserMessage(), "2h0m0s") {
		t.Errorf("%v", err)
	}
}

func TestAnAbortInterruptsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &script{calls: [][]any{{&agentcore.Error{Class: agentcore.ErrRateLimited, Retryable: true, RetryAfter: 20 * time.Second}}}}
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		if _, err := run(ctx, Retry(s, RetryConfig{Max: 5})); agentcore.ClassOf(err) != agentcore.ErrAborted || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

func TestAConsumerThatStopsIsNotRetriedFor(t *testing.T) {
	s := &script{calls: [][]any{{"a", busy}}}
	for range Retry(s, RetryConfig{Max: 5}).Stream(t.Context(), &agentcore.Request{}) {
		break
	}
	if len(s.made) != 1 {
		t.Errorf("%d calls", len(s.made))
	}
}

func TestTheNextModelStandsIn(t *testing.T) {
	for _, c := range []struct {
		name  string
		first []any
		shown string
		class agentcore.ErrorClass
	}{
		{"overload", []any{busy}, "b.", ""},
		{"after something was shown", []any{"x", busy}, "x⟲b.", ""},
		{"a refused key", []any{errBadKey}, "b.", ""},
		{"an empty answer", []any{done}, "b.", ""},
		{"too long a context is the run's", []any{&agentcore.Error{Class: agentcore.ErrContextOverflow}}, "", agentcore.ErrContextOverflow},
		{"a refusal stays one", []any{&agentcore.Error{Class: agentcore.ErrRefused}}, "", agentcore.ErrRefused},
		{"a good answer", []any{"a", done}, "a.", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, second := &script{calls: [][]any{c.first}}, &script{calls: [][]any{{"b", done}}}
			shown, err := run(t.Context(), Failover([]agentcore.Model{first, second}, FailoverConfig{}))
			if shown != c.shown || agentcore.ClassOf(err) != c.class {
				t.Errorf("shown %q, %v", shown, err)
			}
		})
	}
}

func TestAModelThatFailedRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := &agentcore.Error{Class: agentcore.ErrRateLimited, RetryAfter: 5 * time.Minute}
		first, second := &script{calls: [][]any{{limited}, {"a", done}}}, &script{calls: [][]any{{"b", done}, {"b", done}, {busy}}}
		m := Failover([]agentcore.Model{first, second}, FailoverConfig{Cooldown: time.Minute})
		for i, want := range []string{"b.", "b."} {
			if shown, err := run(t.Context(), m); shown != want || err != nil {
				t.Errorf("call %d: %q, %v", i, shown, err)
			}
			time.Sleep(2 * time.Minute)
		}
		if len(first.made) != 1 {
			t.Errorf("the first model was asked %d times while it rested", len(first.made))
		}
		if shown, _ := run(t.Context(), m); shown != "" || len(first.made) != 1 {
			t.Errorf("the second fails: %q, the first asked %d times", shown, len(first.made))
		}
		// Both rest now: the one that rests the shortest is asked.
		if shown, _ := run(t.Context(), m); shown != "a." {
			t.Errorf("with all at rest: %q", shown)
		}
	})
}

func TestDecoratorsDescribeTheModelWithin(t *testing.T) {
	s := &script{ref: agentcore.ModelRef{Provider: "p", ID: "m"}}
	m := Failover([]agentcore.Model{Retry(s, RetryConfig{}), &script{}}, FailoverConfig{})
	if d, ok := m.(agentcore.Describer); !ok || d.Info().Ref.String() != "p/m" {
		t.Errorf("%T does not say what it is", m)
	}
	if _, err := run(t.Context(), Failover(nil, FailoverConfig{})); agentcore.ClassOf(err) != agentcore.ErrNotFound {
		t.Errorf("no models: %v", err)
	}
}

func TestASpentLimitSaysWhenItBeginsAnew(t *testing.T) {
	header := http.Header{}
	header.Set("X-Ratelimit-Remaining-Requests", "3")
	header.Set("X-Ratelimit-Reset-Requests", "1h")
	header.Set("X-Ratelimit-Remaining-Tokens", "0")
	header.Set("X-Ratelimit-Reset-Tokens", "6m0s")
	if got, ok := RetryAfter(header, nil, time.Now()); !ok || got != 6*time.Minute {
		t.Errorf("the wait is %s (%v), want the spent limit's 6m", got, ok)
	}
	header.Set("Retry-After", "2")
	if got, _ := RetryAfter(header, nil, time.Now()); got != 2*time.Second {
		t.Errorf("the wait is %s, want what the vendor asks for", got)
	}
}

func TestRetryAfterIsReadInEveryForm(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	none := time.Duration(-1)
	for _, c := range []struct {
		header, value, body string
		want                time.Duration
	}{
		{"Retry-After", "120", "", 2 * time.Minute},
		{"Retry-After", " 1.5 ", "", 1500 * time.Millisecond},
		{"Retry-After", "Sun, 01 Mar 2026 12:00:30 GMT", "", 30 * time.Second},
		{"Retry-After", "Sun, 01 Mar 2026 11:00:00 GMT", "", 0},
		{"Retry-After", "Sunday, 01-Mar-26 12:00:30 GMT", "", 30 * time.Second},
		{"Retry-After", "2026-03-01T12:01:00Z", "", time.Minute},
		{"Retry-After", "20s", "", 20 * time.Second},
		{"Retry-After", "-5", "", 0},
		{"Retry-After", "1e300", "", 365 * 24 * time.Hour},
		{"Retry-After", "soon", "", none},
		{"Retry-After", "NaN", "", none},
		{"Retry-After", "3, 5", "", 3 * time.Second},
		{"X-Ratelimit-Reset-Tokens", "6s", "", none}, // none is spent
		{"Retry-After-Ms", "1500", "", 1500 * time.Millisecond},
		{"", "", `{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"45.5s"}]}`, 45500 * time.Millisecond},
		{"", "", `Rate limit reached. Please try again in 6m0s.`, 6 * time.Minute},
		{"", "", `Please try again in 1m2.5s. Visit`, 62500 * time.Millisecond},
		{"", "", `Please retry after 20 seconds.`, 20 * time.Second},
		{"", "", `try again in 250ms`, 250 * time.Millisecond},
		{"", "", `Your quota will reset after 2h7m23s.`, 2*time.Hour + 7*time.Minute + 23*time.Second},
		{"", "", `{"error":{"message":"limited","retry_after":3.5}}`, 3500 * time.Millisecond},
		{"", "", `wait 2 minutes`, 2 * time.Minute},
		{"", "", `You sent 5 messages`, none},
		{"", "", ``, none},
	} {
		header := http.Header{}
		if c.header != "" {
			header.Set(c.header, c.value)
		}
		got, ok := RetryAfter(header, []byte(c.body), now)
		if !ok {
			got = none
		}
		if got != c.want {
			t.Errorf("%s %q %s: %s, want %s", c.header, c.value, c.body, got, c.want)
		}
	}
}

// FuzzRetryAfter checks that nothing a vendor sends panics or makes anybody
// wait below zero or beyond a year.
func FuzzRetryAfter(f *testing.F) {
	f.Add("120", "retry after 9999999999999999999h")
	f.Fuzz(func(t *testing.T, value, body string) {
		d, _ := RetryAfter(http.Header{"Retry-After": {value}}, []byte(body), time.Unix(0, 0))
		if d < 0 {
			t.Errorf("%q %q: %s", value, body, d)
		}
		ParseFailure(0, []byte(body))
	})
}
