package providertest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"clawbot/agentcore"
)

// Run runs the suite.
func Run(t *testing.T, f Format) {
	t.Run("conversation", func(t *testing.T) { conversation(t, f) })
	t.Run("requests", func(t *testing.T) { requests(t, f) })
	t.Run("trouble", func(t *testing.T) { trouble(t, f) })
	t.Run("connection", func(t *testing.T) { connection(t, f) })
}

// outcome is what a model call came to.
type outcome struct {
	message *agentcore.Message
	err     *agentcore.Error
	events  int
}

// ask makes one call and checks what must hold of every stream.
func ask(ctx context.Context, t testing.TB, m agentcore.Model, req *agentcore.Request) outcome {
	t.Helper()
	var a agentcore.Assembler
	var out outcome
	next := 0
	for ev, err := range m.Stream(ctx, req) {
		switch {
		case out.message != nil || out.err != nil:
			t.Fatal("something follows the end of the stream")
		case err != nil:
			failure, ok := errors.AsType[*agentcore.Error](err)
			if !ok {
				t.Fatalf("the error is a %T, not an *agentcore.Error: %v", err, err)
			}
			out.err = failure
			if strings.Contains(failure.Error()+failure.UserMessage(), testKey) {
				t.Errorf("the error shows the key: %v", failure)
			}
		case ev.Type == agentcore.StreamDone:
			out.message = a.Finish(ev)
			if ev.Model.Provider != "acme" || ev.Model.ID == "" {
				t.Errorf("the end names the model %+v", ev.Model)
			}
		default:
			if ev.Index > next {
				t.Fatalf("the block %d begins after %d blocks", ev.Index, next)
			}
			next = max(next, ev.Index+1)
			a.Add(ev)
		}
		out.events++
	}
	if out.message == nil && out.err == nil {
		t.Fatal("the stream ended with neither an end nor an error")
	}
	if out.err != nil {
		out.message = a.Partial(agentcore.StopError, out.err)
	}
	return out
}

func userMessage(id, text string) *agentcore.Message {
	return &agentcore.Message{ID: id, Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Text{Text: text}}}
}

func question() *agentcore.Request {
	return &agentcore.Request{Messages: []*agentcore.Message{userMessage("u1", "how is it?")}}
}

// weatherTool is a tool that requests name.
func weatherTool() []agentcore.ToolSpec {
	return []agentcore.ToolSpec{{Name: "get_weather", Description: "Tells the weather",
		Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}}
}

// play serves answer and asks once.
func (f Format) play(t *testing.T, answer Answer) outcome {
	t.Helper()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { stream(w, f.Stream(answer)) })
	req := question()
	req.Tools = weatherTool()
	return ask(t.Context(), t, f.build(t, f.config(s.URL)), req)
}
