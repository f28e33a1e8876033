package compact

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"clawbot/agentcore"
)

func user(text string) *agentcore.Message {
	return &agentcore.Message{ID: "u", Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Text{Text: text}}}
}

func assistant(text string, total int64, at time.Time) *agentcore.Message {
	return &agentcore.Message{ID: "a", Role: agentcore.RoleAssistant, Stop: agentcore.StopEnd, Time: at,
		Content: []agentcore.Block{agentcore.Text{Text: text}}, Usage: agentcore.Usage{Input: total}}
}

func calls(ids ...string) *agentcore.Message {
	m := &agentcore.Message{ID: "c", Role: agentcore.RoleAssistant, Stop: agentcore.StopToolUse}
	for _, id := range ids {
		m.Content = append(m.Content, agentcore.ToolCall{ID: id, Name: "read_file", Arguments: []byte(`{"path":"a"}`)})
	}
	return m
}

func result(id, text string) *agentcore.Message {
	return &agentcore.Message{ID: "r" + id, Role: agentcore.RoleToolResult, ToolCallID: id, ToolName: "read_file",
		Content: []agentcore.Block{agentcore.Text{Text: text}}}
}

// scribe answers every request from a list and remembers what it was asked.
type scribe struct {
	answers []string
	asked   []*agentcore.Request
}

func (s *scribe) Stream(_ context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		s.asked = append(s.asked, req)
		if len(s.asked) > len(s.answers) {
			yield(agentcore.StreamEvent{}, &agentcore.Error{Class: agentcore.ErrOverloaded, Message: "busy"})
			return
		}
		text := s.answers[len(s.asked)-1]
		if text != "" && !yield(agentcore.StreamEvent{Type: agentcore.StreamText, Delta: text}, nil) {
			return
		}
		yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: agentcore.StopEnd, Usage: agentcore.Usage{Input: 10, Output: 1}}, nil)
	}
}

func TestTokensAreTheLastCountAndAnEstimateOfTheRest(t *testing.T) {
	early := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	late := early.Add(time.Hour)
	messages := []*agentcore.Message{user(strings.Repeat("x", 40_000)), assistant("ok", 9000, early), user(strings.Repeat("y", 400))}
	if got, want := Tokens(messages, time.Time{}), int64(9000+messageTokens+100); got != want {
		t.Errorf("tokens = %d, want %d", got, want)
	}
	if got := Tokens(messages, late); got < 10_000 || got > 10_200 {
		t.Errorf("tokens with a stale count = %d, want an estimate of all", got)
	}
	failed := assistant("", 500_000, late)
	failed.Stop = agentcore.StopError
	if got := Tokens(append(messages, failed), time.Time{}); got > 10_000 {
		t.Errorf("tokens = %d: a failed call was counted", got)
	}
	image := &agentcore.Message{Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Image{Data: make([]byte, 9)}}}
	if got := Estimate(image); got < imageTokens {
		t.Errorf("an image is %d tokens", got)
	}
}

func TestCompactionIsDueWhenTheReserveIsTouched(t *testing.T) {
	c := Config{Window: 100_000, Reserve: 20_000}
	if c.Due(80_000) || !c.Due(80_001) {
		t.Error("not due exactly beyond window less reserve")
	}
	if small := (Config{Window: 4000}); small.Due(2000) || !small.Due(2001) {
		t.Error("a small window is not halved")
	}
}

func TestACutKeepsCallsAndResultsTogether(t *testing.T) {
	c := Config{Window: 100_000, KeepRecent: 1000}
	long := strings.Repeat("x", 8000)
	tests := []struct {
		name     string
		messages []*agentcore.Message
		want     int
	}{
		{"nothing to cut", []*agentcore.Message{user("a"), assistant("b", 1, time.Time{})}, 0},
		{"at the next message that is no result", []*agentcore.Message{user(long), calls("1"), result("1", long), user("go on"), assistant("b", 1, time.Time{})}, 3},
		{"at the call when only results follow", []*agentcore.Message{user(long), calls("1", "2"), result("1", long), result("2", long)}, 1},
		{"in the middle of a turn", []*agentcore.Message{user(long), calls("1"), result("1", "s"), calls("2"), result("2", long), calls("3"), result("3", "s")}, 5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := c.Cut(test.messages); got != test.want {
				t.Errorf("cut at %d, want %d", got, test.want)
			}
		})
	}
}

func TestNoCutStartsAtAToolResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var messages []*agentcore.Message
		for i := range rapid.IntRange(0, 30).Draw(t, "turns") {
			text := strings.Repeat("x", rapid.IntRange(0, 6000).Draw(t, "size"))
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				messages = append(messages, user(text))
			case 1:
				messages = append(messages, assistant(text, 0, time.Time{}))
			default:
				var ids []string
				for j := range rapid.IntRange(1, 3).Draw(t, "calls") {
					ids = append(ids, fmt.Sprint(i, ".", j))
				}
				messages = append(messages, calls(ids...))
				for _, id := range ids {
					messages = append(messages, result(id, text))
				}
			}
		}
		cut := (Config{KeepRecent: 2000}).Cut(messages)
		if cut < 0 || cut > 0 && (cut >= len(messages) || messages[cut].Role == agentcore.RoleToolResult) {
			t.Fatalf("cut at %d of %d", cut, len(messages))
		}
	})
}

func TestASummaryBuildsOnTheOneBefore(t *testing.T) {
	model := &scribe{answers: []string{"They use Lima time."}}
	c := Config{Window: 50_000}
	got, err := c.Summarise(t.Context(), model, "Ana wants tea.", []*agentcore.Message{
		user("use Lima time"), calls("1"), result("1", strings.Repeat("o", 9000)), assistant("ok", 1, time.Time{}),
	})
	if err != nil || got.Text != "They use Lima time." || got.Usage.Total() != 11 {
		t.Fatalf("summary %+v, %v", got, err)
	}
	asked := model.asked[0].Messages[0].Text()
	for _, want := range []string{"Ana wants tea.", "[user] use Lima time", `[assistant called read_file] {"path":"a"}`, "[…]"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the model was not shown %q", want)
		}
	}
	if len(asked) > 3000 {
		t.Errorf("the model was shown %d bytes: tool output was not cut", len(asked))
	}
	if m := got.Message("id", time.Now()); m.Role != agentcore.RoleUser || !strings.Contains(m.Text(), got.Text) {
		t.Errorf("message %+v", m)
	}
}

func TestALongPastIsSummarisedInBoundedCalls(t *testing.T) {
	var past []*agentcore.Message
	for i := range 200 {
		past = append(past, user(fmt.Sprintf("message %d %s", i, strings.Repeat("z", 1000))))
	}
	model := &scribe{}
	for i := range 50 {
		model.answers = append(model.answers, fmt.Sprintf("summary %d", i))
	}
	c := Config{Window: 20_000}
	got, err := c.Summarise(t.Context(), model, "", past)
	if err != nil {
		t.Fatal(err)
	}
	if len(model.asked) < 4 || got.Text != fmt.Sprintf("summary %d", len(model.asked)-1) {
		t.Fatalf("%d calls, summary %q", len(model.asked), got.Text)
	}
	seen := 0
	for i, req := range model.asked {
		asked := req.Messages[0].Text()
		if int64(len(asked)/3)+req.MaxTokens > c.Window {
			t.Errorf("call %d has %d bytes and asks for %d tokens", i, len(asked), req.MaxTokens)
		}
		if i > 0 && !strings.Contains(asked, fmt.Sprintf("summary %d", i-1)) {
			t.Errorf("call %d does not build on the one before", i)
		}
		seen += strings.Count(asked, "[user] message ")
	}
	if seen != len(past) {
		t.Errorf("%d of %d messages were shown", seen, len(past))
	}
}

func TestAFailedSummaryIsAnError(t *testing.T) {
	_, err := Config{}.Summarise(t.Context(), &scribe{}, "", []*agentcore.Message{user("a")})
	if agentcore.ClassOf(err) != agentcore.ErrOverloaded {
		t.Errorf("error %v, want the model's", err)
	}
	_, err = Config{}.Summarise(t.Context(), &scribe{answers: []string{""}}, "", []*agentcore.Message{user("a")})
	var failed *agentcore.Error
	if err == nil || errors.As(err, &failed) && failed.Class != agentcore.ErrEmpty {
		t.Errorf("error %v for an empty summary", err)
	}
}

func TestPruneCutsOnlyLongToolOutput(t *testing.T) {
	long := strings.Repeat("é", 5000)
	in := []*agentcore.Message{user(long), result("1", long), result("2", "short")}
	out := Prune(in, 1001)
	if out[0] != in[0] || out[2] != in[2] {
		t.Error("messages that fit were copied")
	}
	if got := out[1].Text(); len(got) > 1001 || !strings.Contains(got, "[…]") || strings.Contains(got, "\uFFFD") || out[1].ID == in[1].ID {
		t.Errorf("pruned to %d bytes, id %s", len(got), out[1].ID)
	}
	if in[1].Text() != long {
		t.Error("the original was changed")
	}
}
