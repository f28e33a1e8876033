package modeltest

import (
	"encoding/json"
	"strconv"
)

// googleWire writes Gemini's chunks. A call is sent whole, when its arguments are
// complete.
type googleWire struct {
	req  *Request
	open Call // its arguments grow
	busy bool
}

func (g *googleWire) part(b []byte, part string) []byte {
	b = append(b, `data: {"candidates": [{"content": {"parts": [`...)
	b = append(b, part...)
	b = append(b, `],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 1},"modelVersion": `...)
	return append(appendJSON(b, g.req.Model), "}\r\n\r\n"...)
}

func (g *googleWire) begin(b []byte) []byte { return b }

func (g *googleWire) thinking(b []byte, delta string) []byte {
	return g.part(b, `{"text": `+string(appendJSON(nil, delta))+`,"thought": true}`)
}

func (g *googleWire) text(b []byte, delta string) []byte {
	return g.part(b, `{"text": `+string(appendJSON(nil, delta))+`}`)
}

func (g *googleWire) call(b []byte, _ int, c Call) []byte {
	g.open, g.busy = Call{ID: c.ID, Name: c.Name}, true
	return b
}

func (g *googleWire) arguments(b []byte, _ int, delta string) []byte {
	g.open.Arguments += delta
	return b
}

func (g *googleWire) blockEnd(b []byte) []byte {
	if !g.busy {
		return b
	}
	g.busy = false
	return g.part(b, googleCall(g.open))
}

func googleCall(c Call) string {
	args := c.Arguments
	if !json.Valid([]byte(args)) {
		args = "{}" // the API sends a call whole or not at all
	}
	return `{"functionCall": {"name": ` + string(appendJSON(nil, c.Name)) + `,"args": ` + args + `,"id": ` + string(appendJSON(nil, c.ID)) + `}}`
}

var googleStops = map[string]string{"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}

func googleStop(stop string) string {
	if s := googleStops[stop]; s != "" {
		return s
	}
	return stop
}

func (g *googleWire) end(b []byte, stop string, u Usage) []byte {
	b = append(b, `data: {"candidates": [{"content": {"parts": [{"text": ""}],"role": "model"},"finishReason": `...)
	b = append(appendJSON(b, googleStop(stop)), `,"index": 0}],"usageMetadata": `...)
	data, err := json.Marshal(googleUsage(u))
	if err != nil {
		panic("modeltest: encode an event: " + err.Error())
	}
	return append(append(b, data...), "}\r\n\r\n"...)
}

func googleUsage(u Usage) map[string]any {
	return map[string]any{
		"promptTokenCount": u.Input, "cachedContentTokenCount": u.Cached, "candidatesTokenCount": u.Output, "totalTokenCount": u.Input + u.Output,
	}
}

func (g *googleWire) fail(b []byte, text string) []byte {
	return append(b, `data: {"error": {"code": 503,"message": `+string(appendJSON(nil, text))+`,"status": "UNAVAILABLE"}}`+"\r\n\r\n"...)
}

func (g *googleWire) whole(turn Turn, stop string, u Usage) any {
	parts := []json.RawMessage{}
	if turn.Text != "" {
		parts = append(parts, json.RawMessage(`{"text":`+string(appendJSON(nil, turn.Text))+`}`))
	}
	for _, c := range turn.Calls {
		parts = append(parts, json.RawMessage(googleCall(c)))
	}
	return map[string]any{
		"candidates":    []any{map[string]any{"content": map[string]any{"role": "model", "parts": parts}, "finishReason": googleStop(stop), "index": 0}},
		"usageMetadata": googleUsage(u), "modelVersion": g.req.Model, "responseId": strconv.Itoa(g.req.Number),
	}
}
