package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"clawbot/agentcore"
	"clawbot/providers"
)

// responsesDecoder reads one Responses stream. Every text comes several times,
// as deltas and as snapshots of growing scope; a snapshot only fills in what
// the deltas left out.
type responsesDecoder struct {
	model   *Model
	req     *agentcore.Request
	out     *providers.Emitter
	items   []*item
	usage   agentcore.Usage
	refused bool
	seen    bool
}

// item is one content part of an output item, a function call or a reasoning
// item.
type item struct {
	kind   agentcore.StreamEventType
	output int64
	part   int64
	block  *providers.Part
	got    []byte
}

// event is what one event carries, of every kind.
type event struct {
	kind              []byte
	output, content   int64
	delta             string
	text, args        string
	item, part, reply []byte
}

func (m *Model) decodeResponses(req *agentcore.Request, out *providers.Emitter, answer *providers.Answer) {
	d := responsesDecoder{model: m, req: req, out: out}
	for !out.Over() {
		ev, err := answer.Next()
		switch {
		case errors.Is(err, io.EOF):
			out.Fail(m.client.Ended("before response.completed"))
			return
		case err != nil:
			out.Fail(err)
			return
		case ev.Data[0] != '{':
			continue
		}
		if d.event(ev.Data) {
			answer.Finish()
			return
		}
	}
}

func parseEvent(data []byte) (event, error) {
	var ev event
	var key []byte
	p := providers.NewDecoder(data)
	for p.Object(); p.Key(&key); {
		switch string(key) {
		case "type":
			if raw := p.Raw(); len(raw) > 2 {
				ev.kind = raw[1 : len(raw)-1]
			}
		case "output_index":
			ev.output = p.Int()
		case "content_index", "summary_index":
			ev.content = p.Int()
		case "delta":
			ev.delta = p.String()
		case "text", "refusal":
			ev.text = p.String()
		case "arguments":
			ev.args = p.String()
		case "item":
			ev.item = p.Raw()
		case "part":
			ev.part = p.Raw()
		case "response":
			ev.reply = p.Raw()
		default:
			p.Skip()
		}
	}
	return ev, p.End()
}

// event handles one event and reports whether it was the last.
func (d *responsesDecoder) event(data []byte) (done bool) {
	ev, err := parseEvent(data)
	if err != nil {
		d.out.Fail(d.model.client.Malformed(data))
		return true
	}
	switch string(ev.kind) {
	case "response.output_text.delta", "response.text.delta":
		d.add(d.at(agentcore.StreamText, ev.output, ev.content), ev.delta)
	case "response.output_text.done", "response.text.done":
		d.snapshot(d.at(agentcore.StreamText, ev.output, ev.content), ev.text)
	case "response.refusal.delta":
		d.refused = true
		d.add(d.at(agentcore.StreamText, ev.output, ev.content), ev.delta)
	case "response.refusal.done":
		d.refused = true
		d.snapshot(d.at(agentcore.StreamText, ev.output, ev.content), ev.text)
	case "response.content_part.added", "response.content_part.done":
		d.contentPart(ev.output, ev.content, ev.part)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		d.add(d.at(agentcore.StreamThinking, ev.output, 0), ev.delta)
	case "response.reasoning_summary_part.added":
		if t := d.at(agentcore.StreamThinking, ev.output, 0); len(t.got) > 0 {
			d.add(t, "\n\n")
		}
	case "response.function_call_arguments.delta":
		d.add(d.at(agentcore.StreamToolCall, ev.output, 0), ev.delta)
	case "response.function_call_arguments.done":
		d.snapshot(d.at(agentcore.StreamToolCall, ev.output, 0), ev.args)
	case "response.output_item.added":
		d.outputItem(ev.output, ev.item, false)
	case "response.output_item.done":
		d.outputItem(ev.output, ev.item, true)
	case "response.completed", "response.done", "response.incomplete", "response.failed", "response.cancelled":
		d.finish(ev.reply)
		return true
	case "error":
		d.out.Fail(d.model.client.Failed(data))
		return true
	default:
		return d.other(&ev, data)
	}
	d.seen = true
	return false
}

// other handles what is no event of a stream: a whole response, or something of
// another format. Unknown events are skipped.
func (d *responsesDecoder) other(ev *event, data []byte) bool {
	switch {
	case bytes.HasPrefix(ev.kind, []byte("response.")):
		return false
	case !d.seen && bytes.Contains(data[:min(len(data), 512)], []byte(`"object":`)) && providers.FormatOf(data) == providers.FormatResponses:
		d.finish(data)
		return true
	case !d.seen && len(ev.kind) == 0 && bytes.Contains(data, []byte(`"error"`)):
		d.out.Fail(d.model.client.Failed(data))
		return true
	case !d.seen && providers.FormatOf(data) != "":
		d.out.Fail(d.model.client.Malformed(data))
		return true
	}
	return false
}

// at returns the item at a place in the output, beginning it if it is new.
func (d *responsesDecoder) at(kind agentcore.StreamEventType, output, part int64) *item {
	for _, t := range slices.Backward(d.items) {
		if t.output == output && t.part == part && t.kind == kind {
			return t
		}
	}
	t := &item{kind: kind, output: output, part: part, block: d.out.Part(kind)}
	d.items = append(d.items, t)
	return t
}

func (d *responsesDecoder) add(t *item, delta string) {
	t.got = append(t.got, delta...)
	d.out.Delta(t.block, delta)
}

// snapshot adds what of whole the deltas left out. Arguments that differ from
// what was streamed replace it.
func (d *responsesDecoder) snapshot(t *item, whole string) {
	switch {
	case len(whole) > len(t.got) && whole[:len(t.got)] == string(t.got):
		d.add(t, whole[len(t.got):])
	case t.kind == agentcore.StreamToolCall && whole != "" && whole != string(t.got):
		t.got = append(t.got[:0], whole...)
		t.block.Replace = agentcore.ToolCall{Arguments: json.RawMessage(whole)}
	}
}

func (d *responsesDecoder) contentPart(output, index int64, raw []byte) {
	var part struct{ Type, Text, Refusal string }
	if raw == nil || json.Unmarshal(raw, &part) != nil {
		return
	}
	switch part.Type {
	case "output_text", "text":
		d.snapshot(d.at(agentcore.StreamText, output, index), part.Text)
	case "refusal":
		d.refused = true
		d.snapshot(d.at(agentcore.StreamText, output, index), part.Refusal)
	}
}

// outputItem takes a snapshot of an item, the last one if done.
func (d *responsesDecoder) outputItem(output int64, raw []byte, done bool) {
	var it struct {
		Type, Name, Arguments string
		CallID                string `json:"call_id"`
		ID                    string
		Content               []json.RawMessage
		Summary               []struct{ Text string }
	}
	if raw == nil || json.Unmarshal(raw, &it) != nil {
		return
	}
	switch it.Type {
	case "message":
		for i, part := range it.Content {
			d.contentPart(output, int64(i), part)
		}
	case "function_call":
		t := d.at(agentcore.StreamToolCall, output, 0)
		id := it.CallID
		if id == "" {
			id = it.ID
		}
		d.out.Call(t.block, id, providers.LocalName(d.req.Tools, it.Name))
		d.snapshot(t, it.Arguments)
	case "reasoning":
		t := d.at(agentcore.StreamThinking, output, 0)
		for i := 0; i < len(it.Summary) && len(t.got) == 0; i++ {
			d.add(t, it.Summary[i].Text)
		}
		if done {
			t.block.Replace = agentcore.Thinking{Text: providers.Clean(string(t.got)), Signature: string(raw), Redacted: len(t.got) == 0}
		}
	}
}

func (d *responsesDecoder) finish(reply []byte) {
	var r struct {
		Status     string
		Error      json.RawMessage
		Output     []json.RawMessage
		Incomplete struct{ Reason string } `json:"incomplete_details"`
		Usage      struct {
			Input   int64 `json:"input_tokens"`
			Output  int64 `json:"output_tokens"`
			Details struct {
				Cached int64 `json:"cached_tokens"`
			} `json:"input_tokens_details"`
		}
	}
	if reply == nil || json.Unmarshal(reply, &r) != nil {
		d.out.Fail(d.model.client.Malformed(reply))
		return
	}
	d.missed(r.Output)
	d.usage = agentcore.Usage{Input: max(r.Usage.Input-r.Usage.Details.Cached, 0), Output: r.Usage.Output, CacheRead: r.Usage.Details.Cached}
	stop := agentcore.StopEnd
	switch r.Status {
	case "completed", "":
		if d.out.Calls() > 0 {
			stop = agentcore.StopToolUse
		} else if d.refused {
			stop = agentcore.StopRefusal
		}
	case "incomplete":
		stop = agentcore.StopLength
		if r.Incomplete.Reason == "content_filter" {
			stop = agentcore.StopRefusal
		}
	default:
		if len(r.Error) > 0 && string(r.Error) != "null" {
			d.out.Fail(d.model.client.Failed(r.Error))
		} else {
			d.out.Fail(d.model.client.Stopped("status", r.Status))
		}
		return
	}
	d.settleCalls()
	d.out.Done(stop, d.usage)
}

// missed takes from the whole output the kinds of items of which the stream had
// none. Items are not matched one by one: servers number them differently.
func (d *responsesDecoder) missed(output []json.RawMessage) {
	had := map[string]bool{}
	for _, t := range d.items {
		switch {
		case t.kind == agentcore.StreamText && len(t.got) > 0:
			had["message"] = true
		case t.kind == agentcore.StreamToolCall:
			had["function_call"] = true
		case t.kind == agentcore.StreamThinking && t.block.Replace != nil:
			had["reasoning"] = true
		}
	}
	for i, raw := range output {
		var head struct{ Type string }
		if json.Unmarshal(raw, &head) == nil && !had[head.Type] {
			d.outputItem(int64(i), raw, true)
		}
	}
}

// settleCalls completes the calls whose arguments were replaced.
func (d *responsesDecoder) settleCalls() {
	for _, t := range d.items {
		c, ok := t.block.Replace.(agentcore.ToolCall)
		if !ok {
			continue
		}
		if t.block.ID() == "" {
			d.out.Call(t.block, providers.NewCallID(), "")
		}
		c.ID, c.Name = t.block.ID(), t.block.Name()
		c.Arguments = json.RawMessage(providers.Clean(string(c.Arguments)))
		t.block.Replace = c
	}
}
