package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"

	"clawbot/internal/modeltest"
	"clawbot/store"
)

// build makes a transcript of short forms: "1:u 7.1" a question under epoch 1,
// "1:c k" a call, "1:r k" its result, "1:f 7.1" a final, "1:n" a final note,
// "1:n 5" one that covers what stood before 5 in the inbox.
func build(lines ...string) (entries []store.Entry) {
	for i, line := range lines {
		epoch, rest, _ := strings.Cut(line, ":")
		kind, arg, _ := strings.Cut(rest, " ")
		e := store.Entry{Position: int64(i), ID: fmt.Sprint("e", i), Token: epoch + ":x", Inbox: -1}
		switch kind {
		case "u":
			e.Kind, e.Inbox, e.Data = store.KindUser, int64(i), fmt.Appendf(nil, `{"text":"q %s"}`, arg)
		case "c":
			e.Kind, e.Opens, e.Data = store.KindAssistant, []string{arg}, []byte(`{"m":{"stop":"toolUse"}}`)
		case "r":
			e.Kind, e.Closes = store.KindToolResult, arg
		case "f":
			e.Kind, e.Data = store.KindAssistant, fmt.Appendf(nil, `{"m":{"stop":"stop","content":[{"type":"text","text":"final %s and"}]}}`, arg)
		case "n":
			e.Kind, e.Data = store.KindNote, fmt.Appendf(nil, `{"note":{"kind":"stopped","final":true,"before":%s}}`, cmp.Or(arg, "0"))
		}
		entries = append(entries, e)
	}
	return entries
}

func TestTheCheckerSeesWhatIsWrongWithATranscript(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries []store.Entry
		want    string // empty: nothing is wrong
	}{
		{"a sound one", build("1:u 7.1", "1:c k", "1:r k", "1:f 7.1", "3:u 7.2", "4:n"), ""},
		{"a lost question", build("1:u 7.1", "1:f 7.1"), "7.2 is lost"},
		{"a question twice", build("1:u 7.1", "1:u 7.2", "1:f 7.1", "1:u 7.1", "1:f 7.1"), "7.1 stands here and at 0"},
		{"another order", build("1:u 7.2", "1:u 7.1", "1:f 7.1 7.2"), "7.1 comes after 7.2"},
		{"a question without a final", build("1:u 7.1", "1:f 7.1", "1:u 7.2"), "without a final: [7.2]"},
		{"a question that came after the stop", build("1:u 7.1", "1:u 7.2", "1:n 1"), "without a final: [7.2]"},
		{"a final too many", build("1:u 7.1", "1:u 7.2", "1:f 7.1", "1:f 7.2"), "covers nothing"},
		{"a call without a result", build("1:u 7.1", "1:u 7.2", "1:c k", "1:f 7.1"), "while calls are open"},
		{"a result without a call", build("1:u 7.1", "1:u 7.2", "1:r k", "1:f 7.1"), "not open"},
		{"two writers", build("2:u 7.1", "1:u 7.2", "1:f 7.1"), "two writers"},
		{"a writer who comes back", build("1:u 7.1", "2:u 7.2", "1:f 7.1"), "two writers"},
		{"junk", []store.Entry{{ID: "e", Kind: store.KindUser, Token: "1:x", Data: []byte("{")}}, "unreadable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := readTranscript(&chat{session: "s", asked: []string{"7.1", "7.2"}}, c.entries, nil).violations
			if c.want == "" && len(got) > 0 || c.want != "" && !strings.Contains(fmt.Sprint(got), c.want) {
				t.Errorf("violations: %q, want %q", got, c.want)
			}
		})
	}
}

func TestABuriedQuestionIsNotLost(t *testing.T) {
	got := readTranscript(&chat{session: "s", asked: []string{"7.1"}}, nil, map[string]bool{"7.1": true}).violations
	if len(got) > 0 {
		t.Errorf("violations: %q", got)
	}
}

func TestTheModelCallsOnceForEachOpenQuestion(t *testing.T) {
	user := func(text string) modeltest.Message { return modeltest.Message{Role: "user", Text: text} }
	called := func(q string) modeltest.Message {
		return modeltest.Message{Role: "assistant", Calls: []modeltest.Call{{ID: "c" + q, Name: "touch", Arguments: fmt.Sprintf(`{"id":%q}`, q)}}}
	}
	result := func(q, text string) modeltest.Message {
		return modeltest.Message{Role: "tool", ToolCallID: "c" + q, Text: text}
	}
	said := modeltest.Message{Role: "assistant", Text: "final 1.1 and that is all"}
	for _, c := range []struct {
		name     string
		messages []modeltest.Message
		calls    int
		says     string
	}{
		{"a question", []modeltest.Message{user("q 1.1")}, 1, ""},
		{"two", []modeltest.Message{user("q 1.1"), user("q 1.2")}, 2, ""},
		{"one is done", []modeltest.Message{user("q 1.1"), called("1.1"), result("1.1", "touched 1.1"), user("q 1.2")}, 1, ""},
		{"all are done", []modeltest.Message{user("q 1.1"), called("1.1"), result("1.1", "touched 1.1")}, 0, "final 1.1 "},
		{"the outcome is unknown", []modeltest.Message{user("q 1.1"), called("1.1"), result("1.1", "Interrupted: unknown")}, 0, "final 1.1 "},
		{"it did not run", []modeltest.Message{user("q 1.1"), called("1.1"), result("1.1", "this call did not run")}, 1, ""},
		{"an earlier one was answered", []modeltest.Message{user("q 1.1"), said, user("q 1.2")}, 1, ""},
		{"an earlier one was stopped", []modeltest.Message{user("q 1.1"), user("the user stopped you here"), user("q 1.2")}, 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			turn := schedule{}.answer(context.Background(), &modeltest.Request{Messages: c.messages})
			if len(turn.Calls) != c.calls || !strings.HasPrefix(turn.Text, c.says) {
				t.Errorf("calls %v and says %q", turn.Calls, turn.Text)
			}
		})
	}
}
