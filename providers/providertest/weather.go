package providertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"clawbot/agentcore"
)

// weather is testdata/weather/conversation.json.
type weather struct {
	System string
	Tools  []struct {
		Name, Description string
		Schema            json.RawMessage
	}
	Turns []weatherTurn
}

type weatherTurn struct {
	Say []struct {
		User   *string
		Result *string
	}
	Text          string
	Calls         []string
	Input, Output int64
}

// Weather plays testdata/weather, whose folder is dir: each request must be the
// bytes that are written down, and each stream must become what the
// conversation says, at once and a byte at a time. With UPDATE_WEATHER in the
// environment the requests are written down anew.
func Weather(t *testing.T, f Format, dir string) {
	for _, piece := range []int{1 << 20, 1} {
		t.Run(fmt.Sprintf("%d bytes a write", piece), func(t *testing.T) { f.playWeather(t, dir, piece) })
	}
}

func (f Format) playWeather(t *testing.T, dir string, piece int) {
	raw, err := os.ReadFile(filepath.Join(dir, "conversation.json"))
	if err != nil {
		t.Fatal(err)
	}
	var w weather
	if err := json.Unmarshal(raw, &w); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, f.Name)
	s := serve(t, func(out http.ResponseWriter, _ *http.Request, n int) {
		body, err := os.ReadFile(filepath.Join(own, fmt.Sprintf("%d.response.sse", n+1)))
		if err != nil {
			t.Error(err)
		}
		var pieces []string
		for len(body) > 0 {
			size := min(piece, len(body))
			pieces = append(pieces, string(body[:size]))
			body = body[size:]
		}
		stream(out, pieces)
	})
	m := f.build(t, f.config(s.URL))
	req := &agentcore.Request{System: w.System, MaxTokens: 1000}
	for _, tool := range w.Tools {
		req.Tools = append(req.Tools, agentcore.ToolSpec{Name: tool.Name, Description: tool.Description, Schema: tool.Schema})
	}
	var open []agentcore.ToolCall
	for n, turn := range w.Turns {
		req.Messages = append(req.Messages, turn.messages(n, open)...)
		got := ask(t.Context(), t, m, req)
		if got.err != nil {
			t.Fatal(got.err)
		}
		turn.check(t, n, got.message)
		sameRequest(t, filepath.Join(own, fmt.Sprintf("%d.request.json", n+1)), s.body(n))
		got.message.ID = fmt.Sprint("a", n)
		open = got.message.ToolCalls()
		req.Messages = append(slices.Clip(req.Messages), got.message)
	}
}

func (turn weatherTurn) messages(n int, open []agentcore.ToolCall) []*agentcore.Message {
	var out []*agentcore.Message
	for i, say := range turn.Say {
		if say.User != nil {
			out = append(out, userMessage(fmt.Sprint("u", n), *say.User))
			continue
		}
		out = append(out, &agentcore.Message{ID: fmt.Sprint("r", n, i), Role: agentcore.RoleToolResult, ToolCallID: open[i].ID, ToolName: open[i].Name,
			Content: []agentcore.Block{agentcore.Text{Text: *say.Result}}})
	}
	return out
}

func (turn weatherTurn) check(t *testing.T, n int, m *agentcore.Message) {
	t.Helper()
	stop := agentcore.StopEnd
	if len(turn.Calls) > 0 {
		stop = agentcore.StopToolUse
	}
	check(t, m, turn.Text, "", turn.Calls, stop)
	if m.Usage.Input != turn.Input || m.Usage.Output != turn.Output {
		t.Errorf("turn %d: usage %+v, want %d in and %d out", n+1, m.Usage, turn.Input, turn.Output)
	}
}

func sameRequest(t *testing.T, file, body string) {
	t.Helper()
	if os.Getenv("UPDATE_WEATHER") != "" {
		if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if body != string(want) {
		t.Errorf("the request is not %s:\n%s\n%s", file, body, want)
	}
}
