package providers

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"clawbot/agentcore"
)

var me = agentcore.ModelRef{Provider: "p", Format: "f", ID: "m"}

// transcript makes messages of a short notation: "u" a user, "a" an answer,
// "aX,Y" one with calls X and Y, "!a…" one that failed, "~a…" one that was
// aborted, "<a…" one that was cut, "rX" a result, "!rX" one that is an error.
func transcript(notation string) []*agentcore.Message {
	var out []*agentcore.Message
	for i, word := range strings.Fields(notation) {
		m := &agentcore.Message{ID: fmt.Sprint(i), Model: me}
		stop := agentcore.StopReason("")
		switch word[0] {
		case '!':
			stop, word = agentcore.StopError, word[1:]
		case '~':
			stop, word = agentcore.StopAborted, word[1:]
		case '<':
			stop, word = agentcore.StopLength, word[1:]
		}
		m.Content = []agentcore.Block{agentcore.Text{Text: word}}
		switch word[0] {
		case 'u':
			m.Role = agentcore.RoleUser
		case 'r':
			m.Role, m.ToolCallID, m.IsError = agentcore.RoleToolResult, word[1:2], stop == agentcore.StopError
		case 'a':
			m.Role, m.Stop = agentcore.RoleAssistant, agentcore.StopEnd
			for id := range strings.SplitSeq(word[1:], ",") {
				if id != "" {
					m.Content = append(m.Content, agentcore.ToolCall{ID: id, Name: "f", Arguments: json.RawMessage(`{}`)})
					m.Stop = agentcore.StopToolUse
				}
			}
			if stop != "" {
				m.Stop = stop
			}
		}
		out = append(out, m)
	}
	return out
}

func notation(steps []Step) string {
	var out []string
	for _, s := range steps {
		var word string
		switch {
		case s.Role == agentcore.RoleToolResult && s.Message == nil:
			word = "?" + s.Call.ID
		case s.NoCalls:
			word = "~" + s.Message.Text()
		default:
			word = s.Message.Text()
		}
		if s.Last {
			word += "."
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}

func TestATranscriptIsMadeValid(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"as it is", "u1 a u2 ax rx a u3", "u1 a u2 ax rx. a u3"},
		{"results in the calls' order, before what came between", "u1 ax,y ry u2 rx u3", "u1 ax,y rx ry. u2 u3"},
		{"a missing result", "u1 ax,y rx u2", "u1 ax,y rx ?y. u2"},
		{"a missing result at the end", "u1 ax", "u1 ax ?x."},
		{"a stray result", "u1 rx a u2", "u1 a u2"},
		{"a result before its call", "u1 rx ax u2", "u1 ax ?x. u2"},
		{"a doubled result", "u1 ax rx1 rx2 u2", "u1 ax rx1. u2"},
		{"a result long after", "u1 ax u2 a u3 rx", "u1 ax rx. u2 a u3"},
		{"a failed answer and its results", "u1 !ax rx u2", "u1 u2"},
		{"an aborted answer", "u1 ~ax u2", "u1 ~ax u2"},
		{"an aborted answer whose call was told so", "u1 ~ax !rx u2", "u1 ~ax u2"},
		{"an aborted answer of which a call ran", "u1 ~ax,y rx u2", "u1 ax,y rx ?y. u2"},
		{"an answer that was cut", "u1 <ax u2", "u1 ~ax u2"},
		{"an id used again", "u1 ax rx1 ax rx2 u2", "u1 ax rx1. ax rx2. u2"},
		{"an id used again, the first without a result", "u1 ax u2 ax rx2 u3", "u1 ax ?x. u2 ax rx2. u3"},
		{"an id used twice in one answer", "u1 ax,x rx u2", "u1 ax,x rx. u2"},
		{"nothing", "", ""},
	} {
		if got := notation(Transform(transcript(c.in), me)); got != c.want {
			t.Errorf("%s: %s becomes %s, want %s", c.name, c.in, got, c.want)
		}
	}
}

func TestAnyTranscriptBecomesValidAndKeepsItsPrefix(t *testing.T) {
	words := []string{"u", "a", "ax", "ax,y", "ay,z", "rx", "ry", "rz", "!ax", "~ax", "<ax", "ax,x"}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var all []string
		for range r.IntN(12) {
			all = append(all, words[r.IntN(len(words))])
		}
		messages := transcript(strings.Join(all, " "))
		steps := Transform(messages, me)
		open := map[string]bool{}
		for i, s := range steps {
			if s.Role == agentcore.RoleToolResult {
				if !open[s.Call.ID] {
					t.Fatalf("%v: result %d without its call: %s", all, i, notation(steps))
				}
				delete(open, s.Call.ID)
				if s.Last != (len(open) == 0) {
					t.Fatalf("%v: Last is wrong at %d: %s", all, i, notation(steps))
				}
				continue
			}
			if len(open) > 0 {
				t.Fatalf("%v: calls without results before %d: %s", all, i, notation(steps))
			}
			if s.Role == agentcore.RoleAssistant {
				for _, b := range s.Parts(true) {
					if call, ok := b.(agentcore.ToolCall); ok {
						open[call.ID] = true
					}
				}
			}
		}
		if len(open) > 0 {
			t.Fatalf("%v: calls without results at the end: %s", all, notation(steps))
		}
		// What follows a user's message changes nothing before it.
		longer := notation(Transform(append(slices.Clip(messages), transcript("u a u")...), me))
		if !strings.HasPrefix(longer, notation(steps)) {
			t.Fatalf("%v: %s became %s", all, notation(steps), longer)
		}
	}
}

func TestThinkingGoesBackToItsModelOnly(t *testing.T) {
	m := &agentcore.Message{Role: agentcore.RoleAssistant, Model: me, Stop: agentcore.StopEnd, Content: []agentcore.Block{
		agentcore.Thinking{Text: "hm", Signature: "s"}, agentcore.Thinking{Redacted: true, Signature: "r"},
		agentcore.Text{Text: " "}, agentcore.Text{Text: "hello", Signature: "t"}}}
	show := func(ref agentcore.ModelRef, asText bool) string {
		return fmt.Sprintf("%+v", Transform([]*agentcore.Message{m}, ref)[0].Parts(asText))
	}
	other := agentcore.ModelRef{Provider: "p", Format: "f", ID: "other"}
	for got, want := range map[string]string{
		show(me, true):     "[{Text:hm Signature:s Redacted:false} {Text: Signature:r Redacted:true} {Text:hello Signature:t}]",
		show(other, true):  "[{Text:hm Signature:} {Text:hello Signature:}]",
		show(other, false): "[{Text:hello Signature:}]",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestWhatAModelCannotSeeIsNamed(t *testing.T) {
	m := &agentcore.Message{Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Image{Data: []byte("x")},
		agentcore.Image{Data: []byte("y")}, agentcore.Text{Text: "two"}, agentcore.Image{Ref: "gone"}, agentcore.Document{Name: "a.pdf", Data: []byte("z")}}}
	got := fmt.Sprintf("%+v", UserParts(m, false, false))
	want := "[{Text:(image omitted: model does not support images) Signature:} {Text:two Signature:} {Text:(image omitted: model does not support images) Signature:} " +
		"{Text:(document a.pdf omitted: model does not take this kind of file) Signature:}]"
	if got != want {
		t.Errorf("got %s", got)
	}
	result := Step{Message: m}
	if got := result.ResultText(false); !strings.Contains(got, "tool image omitted") || strings.Count(got, "omitted: model") != 1 {
		t.Errorf("got %q", got)
	}
	m.Content = []agentcore.Block{agentcore.Document{Name: "a.pdf", Data: []byte("z"), Text: "what it says"}, agentcore.Document{Name: "b.pdf", Text: "gone, but it said"}}
	got = fmt.Sprintf("%+v", UserParts(m, false, false))
	if got != "[{Text:what it says Signature:} {Text:gone, but it said Signature:}]" {
		t.Errorf("documents with a text are %s", got)
	}
	parts := UserParts(m, false, true)
	if _, native := parts[0].(agentcore.Document); !native || len(parts) != 2 || parts[1] != agentcore.Block(agentcore.Text{Text: "gone, but it said"}) {
		t.Errorf("to a model that takes documents: %+v", parts)
	}
	if got := (Step{Message: &agentcore.Message{}}).ResultText(true); got != EmptyResult {
		t.Errorf("an empty result is %q", got)
	}
}

func TestIdsAndNamesAreRewrittenAlikeAndApart(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []string{"call_1", "a.b", "a/b", "a b", strings.Repeat("x", 65), strings.Repeat("x", 66), "", "日本", "functions.f:0"} {
		got := WireID(id, 40)
		if len(got) > 40 || got == "" || got != WireID(id, 40) || strings.ContainsFunc(got, func(r rune) bool { return !wireChar(byte(r)) || r > 127 }) {
			t.Errorf("%q becomes %q", id, got)
		}
		if was, dup := seen[got]; dup {
			t.Errorf("%q and %q both become %q", id, was, got)
		}
		seen[got] = id
		if short := ShortID(id); len(short) != 9 || strings.ContainsAny(short, "_-") || ShortID(short) != short {
			t.Errorf("%q becomes %q", id, short)
		}
	}
	if WireID("call_1", 0) != "call_1" || ShortID("abcdefghi") != "abcdefghi" {
		t.Error("a good id was rewritten")
	}
	tools := []agentcore.ToolSpec{{Name: "a.b"}, {Name: "a/b"}, {Name: "plain"}}
	for _, tool := range tools {
		if got := LocalName(tools, WireName(tool.Name)); got != tool.Name {
			t.Errorf("%q comes back as %q", tool.Name, got)
		}
	}
}

func TestOnlyNewMessagesAreEncoded(t *testing.T) {
	var s Segments
	s.maxBytes = 4000
	get := func(m *agentcore.Message, variant uint32) string {
		return string(s.Get(m, variant, func(dst []byte) []byte { return append(dst, m.Text()+fmt.Sprint(variant)...) }))
	}
	text := func(id, text string) *agentcore.Message {
		return &agentcore.Message{ID: id, Content: []agentcore.Block{agentcore.Text{Text: text}}}
	}
	for range 3 {
		if got := get(text("1", "a"), 0) + get(text("1", "a"), 1) + get(text("2", "b"), 0); got != "a0a1b0" {
			t.Fatalf("got %s", got)
		}
	}
	if encoded, reused := s.Counts(); encoded != 3 || reused != 6 {
		t.Errorf("%d encoded, %d reused", encoded, reused)
	}
	if got := get(text("1", "another"), 0); got != "another0" {
		t.Errorf("a changed copy is sent as %q", got)
	}
	if a, b := get(text("", "a"), 0), get(text("", "b"), 0); a != "a0" || b != "b0" {
		t.Errorf("messages without an id are mixed up: %q %q", a, b)
	}
	for i := range 1000 {
		get(text(fmt.Sprint("n", i), "x"), 0)
		get(text("2", "b"), 0) // used all along
	}
	before, _ := s.Counts()
	if get(text("2", "b"), 0); len(s.young)+len(s.old) > 100 {
		t.Errorf("%d segments are kept", len(s.young)+len(s.old))
	}
	if after, _ := s.Counts(); after != before {
		t.Error("what was used all along was dropped")
	}
}
