package providertest

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"clawbot/agentcore"
)

// conversation checks what answers become.
func conversation(t *testing.T, f Format) {
	lima := Call{ID: "call00001", Name: "get_weather", Arguments: []string{`{"ci`, `ty":"Li`, `ma"}`}}
	oslo := Call{ID: "call00002", Name: "get_weather", Arguments: []string{`{"city":"Oslo"}`}}
	none := Call{ID: "call00003", Name: "get_weather", Arguments: nil}
	for _, c := range []struct {
		name   string
		answer Answer
		text   string
		think  string
		calls  []string
		stop   agentcore.StopReason
	}{
		{"text", Answer{Text: []string{"It ", "rains: 你", "好🦀"}, Stop: agentcore.StopEnd}, "It rains: 你好🦀", "", nil, agentcore.StopEnd},
		{"one call", Answer{Calls: []Call{lima}, Stop: agentcore.StopToolUse}, "", "", []string{`{"city":"Lima"}`}, agentcore.StopToolUse},
		{"three calls", Answer{Calls: []Call{lima, oslo, none}, Stop: agentcore.StopToolUse}, "", "",
			[]string{`{"city":"Lima"}`, `{"city":"Oslo"}`, `{}`}, agentcore.StopToolUse},
		{"a call after text", Answer{Text: []string{"I look."}, Calls: []Call{oslo}, Stop: agentcore.StopToolUse}, "I look.", "",
			[]string{`{"city":"Oslo"}`}, agentcore.StopToolUse},
		{"thinking before text", Answer{Thinking: "Hm, weather.", Signature: "c2ln", Text: []string{"Rain."}, Stop: agentcore.StopEnd}, "Rain.", "Hm, weather.", nil, agentcore.StopEnd},
		{"a text cut by its length", Answer{Text: []string{"It ra"}, Stop: agentcore.StopLength}, "It ra", "", nil, agentcore.StopLength},
		{"a call cut by its length", Answer{Text: []string{"I look."}, Calls: []Call{{ID: "call00004", Name: "get_weather", Arguments: []string{`{"city":"Os`}}},
			Stop: agentcore.StopLength}, "I look.", "", nil, agentcore.StopLength},
		{"a refusal", Answer{Text: []string{"I can't."}, Stop: agentcore.StopRefusal}, "I can't.", "", nil, agentcore.StopRefusal},
	} {
		if f.NoThinking && c.think != "" || f.NoRefusal && c.stop == agentcore.StopRefusal {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			c.answer.Usage = agentcore.Usage{Input: 11, Output: 7}
			got := f.play(t, c.answer)
			if got.err != nil {
				t.Fatal(got.err)
			}
			check(t, got.message, c.text, c.think, c.calls, c.stop)
			if u := got.message.Usage; u.Input != 11 || u.Output != 7 {
				t.Errorf("usage %+v, want 11 in and 7 out", u)
			}
		})
	}
	t.Run("an answer without text or calls is no success", func(t *testing.T) {
		if got := f.play(t, Answer{Stop: agentcore.StopEnd}); got.message.Stop != agentcore.StopError {
			t.Errorf("stop %q", got.message.Stop)
		}
	})
	t.Run("an id that the transcript has already is replaced", func(t *testing.T) {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			stream(w, f.Stream(Answer{Calls: []Call{{ID: "call00000", Name: "get_weather", Arguments: []string{`{}`}}}, Stop: agentcore.StopToolUse}))
		})
		req := &agentcore.Request{Tools: weatherTool(), Messages: []*agentcore.Message{userMessage("d1", "one"), assistantCall("d2", "call00000"),
			{ID: "d3", Role: agentcore.RoleToolResult, ToolCallID: "call00000", Content: []agentcore.Block{agentcore.Text{Text: "r"}}}}}
		got := ask(t.Context(), t, f.build(t, f.config(s.URL)), req)
		if calls := got.message.ToolCalls(); len(calls) != 1 || calls[0].ID == "call00000" || calls[0].ID == "" {
			t.Errorf("%+v, %v", calls, got.err)
		}
	})
	t.Run("it goes on after a tool, and sends back what it was sent", func(t *testing.T) { resume(t, f) })
}

func check(t *testing.T, m *agentcore.Message, text, think string, calls []string, stop agentcore.StopReason) {
	t.Helper()
	var gotText, gotThink strings.Builder
	for _, b := range m.Content {
		switch b := b.(type) {
		case agentcore.Text:
			gotText.WriteString(b.Text)
		case agentcore.Thinking:
			gotThink.WriteString(b.Text)
		}
	}
	if gotText.String() != text || gotThink.String() != think || m.Stop != stop {
		t.Errorf("text %q thinking %q stop %q; want %q, %q, %q", gotText.String(), gotThink.String(), m.Stop, text, think, stop)
	}
	got := m.ToolCalls()
	if len(got) != len(calls) {
		t.Fatalf("%d calls, want %d", len(got), len(calls))
	}
	ids := map[string]bool{}
	for i, c := range got {
		if string(c.Arguments) != calls[i] || c.Name != "get_weather" || c.ID == "" || ids[c.ID] {
			t.Errorf("call %d is %+v with arguments %s, want %s", i, c, c.Arguments, calls[i])
		}
		ids[c.ID] = true
	}
}

// resume plays a turn with two calls and looks at the request after it.
func resume(t *testing.T, f Format) {
	first := Answer{Text: []string{"I look."}, Stop: agentcore.StopToolUse, Calls: []Call{
		{ID: "call00001", Name: "get_weather", Arguments: []string{`{"city":`, `"Lima"}`}},
		{ID: "call00002", Name: "get_weather", Arguments: []string{`{"city":"Oslo"}`}}}}
	if !f.NoThinking {
		first.Thinking, first.Signature = "Two cities.", "c2lnbmF0dXJl"
	}
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 0 {
			stream(w, f.Stream(first))
			return
		}
		stream(w, f.Stream(Answer{Text: []string{"Both are fine."}, Stop: agentcore.StopEnd}))
	})
	m := f.build(t, f.config(s.URL))
	req := question()
	req.System, req.Tools = "Be brief.", weatherTool()
	got := ask(t.Context(), t, m, req)
	if got.err != nil {
		t.Fatal(got.err)
	}
	got.message.ID = "a1"
	next := *req
	next.Messages = append(next.Messages, got.message)
	picture := []byte{0x89, 'P', 'N', 'G', 1, 2, 3, 4}
	for i, c := range got.message.ToolCalls() {
		r := &agentcore.Message{ID: "r" + c.ID, Role: agentcore.RoleToolResult, ToolCallID: c.ID, ToolName: c.Name,
			Content: []agentcore.Block{agentcore.Text{Text: []string{"sunny in Lima", "snow in Oslo"}[i]}}}
		if i == 1 {
			r.Content = append(r.Content, agentcore.Image{MIMEType: "image/png", Data: picture})
		}
		next.Messages = append(next.Messages, r)
	}
	if got := ask(t.Context(), t, m, &next); got.err != nil || got.message.Text() != "Both are fine." {
		t.Fatalf("%q, %v", got.message.Text(), got.err)
	}
	body := s.body(1)
	for _, part := range []string{"how is it?", "I look.", "Lima", "Oslo", "sunny in Lima", "snow in Oslo", "get_weather", "Be brief.", "iVBORwECAwQ="} {
		if !strings.Contains(body, part) {
			t.Errorf("the second request lacks %q:\n%s", part, body)
		}
	}
	if i, j := strings.Index(body, "sunny in Lima"), strings.Index(body, "snow in Oslo"); i > j {
		t.Error("the results are swapped")
	}
	samePrefix(t, s.body(0), body)
}

// samePrefix checks that the second body begins with the first, but for closing
// brackets and cache markers, so that vendors' prompt caches hit.
func samePrefix(t *testing.T, first, second string) {
	t.Helper()
	a, b := unmarked(first), unmarked(second)
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	if rest := bytes.Trim(a[n:], "]}"); len(rest) > 0 {
		t.Errorf("the second request differs from the first at byte %d:\n%s\n%s", n, a, b)
	}
}

func unmarked(body string) []byte {
	return []byte(strings.ReplaceAll(body, `,"cache_control":{"type":"ephemeral"}`, ""))
}
