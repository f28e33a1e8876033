package anthropic

import (
	"encoding/json"
	"errors"
	"io"

	"clawbot/agentcore"
	"clawbot/providers"
)

// decoder reads one stream. Blocks are told apart by the server's index, which
// may skip; unknown events and blocks are no reason to fail.
type decoder struct {
	model  *Model
	req    *agentcore.Request
	out    *providers.Emitter
	blocks []*block // by the server's index
	usage  agentcore.Usage
	reason string
	began  bool
}

type block struct {
	part      *providers.Part
	kind      string
	signature string
	text      []byte // of thinking, which is sent back whole; arguments of an opaque block
	start     json.RawMessage
	input     json.RawMessage
	deltas    bool
	closed    bool
}

// maxIndex bounds the server's index.
const maxIndex = 4096

// event is what one event carries, of every kind.
type event struct {
	kind       []byte
	index      int64
	delta      delta
	start      []byte // content_block
	message    []byte
	usage      []byte
	failure    []byte
	stopReason string
}

type delta struct {
	kind                             []byte
	text, thinking, json, signature  string
	hasText, hasThinking, hasPartial bool
}

func (d *decoder) run(answer *providers.Answer) {
	for !d.out.Over() {
		ev, err := answer.Next()
		if errors.Is(err, io.EOF) {
			d.out.Fail(d.model.client.Ended("before message_stop"))
			return
		}
		if err != nil {
			d.out.Fail(err)
			return
		}
		if ev.Data[0] != '{' { // a keep-alive in disguise
			continue
		}
		if done := d.event(ev.Data); done {
			answer.Finish()
			d.finish()
			return
		}
	}
}

func (d *decoder) event(data []byte) (done bool) {
	ev, err := parse(data)
	if err != nil {
		d.out.Fail(d.model.client.Malformed(data))
		return false
	}
	switch string(ev.kind) {
	case "content_block_delta":
		d.delta(&ev)
	case "content_block_start":
		d.start(&ev)
	case "content_block_stop":
		if b := d.at(ev.index); b != nil {
			d.close(b)
		}
	case "message_start":
		d.began = true
		d.messageStart(ev.message)
	case "message_delta":
		if ev.stopReason != "" {
			d.reason = ev.stopReason
		}
		d.addUsage(ev.usage)
	case "message_stop":
		return true
	case "error":
		d.out.Fail(d.model.client.Failed(data))
	case "message":
		return d.whole(data)
	case "ping":
	default:
		d.unknown(&ev, data)
	}
	return false
}

// unknown skips events of kinds to come, and stops at what is no event of this
// format.
func (d *decoder) unknown(ev *event, data []byte) {
	switch {
	case ev.failure != nil:
		d.out.Fail(d.model.client.Failed(data))
	case !d.began && (len(ev.kind) == 0 || providers.FormatOf(data) != ""):
		d.out.Fail(d.model.client.Malformed(data))
	}
}

func parse(data []byte) (event, error) {
	var ev event
	var key []byte
	d := providers.NewDecoder(data)
	for d.Object(); d.Key(&key); {
		switch string(key) {
		case "type":
			ev.kind = unquote(&d)
		case "index":
			ev.index = d.Int()
		case "delta":
			parseDelta(&d, &ev)
		case "content_block":
			ev.start = d.Raw()
		case "message":
			ev.message = d.Raw()
		case "usage":
			ev.usage = d.Raw()
		case "error":
			if !d.Null() {
				ev.failure = d.Raw()
			}
		default:
			d.Skip()
		}
	}
	return ev, d.End()
}

func parseDelta(d *providers.Decoder, ev *event) {
	var key []byte
	for d.Object(); d.Key(&key); {
		switch string(key) {
		case "type":
			ev.delta.kind = unquote(d)
		case "text":
			ev.delta.text, ev.delta.hasText = d.String(), true
		case "thinking":
			ev.delta.thinking, ev.delta.hasThinking = d.String(), true
		case "partial_json":
			ev.delta.json, ev.delta.hasPartial = d.String(), true
		case "signature":
			ev.delta.signature = d.String()
		case "stop_reason":
			ev.stopReason = d.String()
		default:
			d.Skip()
		}
	}
}

// unquote reads a string that is a plain word, without copying it.
func unquote(d *providers.Decoder) []byte {
	raw := d.Raw()
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	return raw[1 : len(raw)-1]
}

func (d *decoder) at(index int64) *block {
	if index < 0 || index >= int64(len(d.blocks)) {
		return nil
	}
	return d.blocks[index]
}

func (d *decoder) start(ev *event) {
	if ev.index < 0 || ev.index >= maxIndex {
		d.out.Fail(d.model.client.Malformed([]byte("a content block's index is out of range")))
		return
	}
	var head struct {
		Type, ID, Name, Text, Thinking, Signature, Data string
		Input                                           json.RawMessage
	}
	if json.Unmarshal(ev.start, &head) != nil {
		d.out.Fail(d.model.client.Malformed(ev.start))
		return
	}
	for int64(len(d.blocks)) <= ev.index {
		d.blocks = append(d.blocks, nil)
	}
	if old := d.blocks[ev.index]; old != nil {
		d.close(old) // a server that never counts
	}
	b := &block{kind: head.Type, signature: head.Signature, input: head.Input}
	d.blocks[ev.index] = b
	switch head.Type {
	case "text":
		b.part = d.out.Part(agentcore.StreamText)
		d.out.Delta(b.part, head.Text)
	case "thinking":
		b.part = d.out.Part(agentcore.StreamThinking)
		d.thinking(b, head.Thinking)
	case "redacted_thinking":
		b.part = d.out.Part(agentcore.StreamThinking)
		b.part.Replace = agentcore.Thinking{Redacted: true, Signature: head.Data}
	case "tool_use":
		b.part = d.out.Part(agentcore.StreamToolCall)
		d.out.Call(b.part, head.ID, providers.LocalName(d.req.Tools, head.Name))
	default:
		b.part = d.out.Part(agentcore.StreamThinking)
		b.start = append(json.RawMessage(nil), ev.start...)
	}
}

func (d *decoder) thinking(b *block, text string) {
	b.text = append(b.text, text...)
	d.out.Delta(b.part, text)
}

func (d *decoder) delta(ev *event) {
	b := d.at(ev.index)
	if b == nil {
		b = d.implied(ev)
	}
	if b == nil || b.closed {
		return
	}
	b.signature += ev.delta.signature
	switch {
	case b.start != nil:
		b.text = append(b.text, ev.delta.json...)
	case b.kind == "text" && ev.delta.hasText:
		d.out.Delta(b.part, ev.delta.text)
	case b.kind == "thinking" && ev.delta.hasThinking:
		d.thinking(b, ev.delta.thinking)
	case b.kind == "tool_use" && ev.delta.json != "":
		b.deltas = true
		d.out.Delta(b.part, ev.delta.json)
	}
}

// implied begins the block of a delta that came without a start.
func (d *decoder) implied(ev *event) *block {
	switch {
	case ev.index < 0 || ev.index >= maxIndex:
		return nil
	case ev.delta.hasText:
		ev.start = []byte(`{"type":"text"}`)
	case ev.delta.hasThinking:
		ev.start = []byte(`{"type":"thinking"}`)
	default:
		return nil
	}
	d.start(ev)
	return d.at(ev.index)
}

func (d *decoder) close(b *block) {
	if b.closed {
		return
	}
	b.closed = true
	switch {
	case b.start != nil:
		b.part.Replace = agentcore.Thinking{Redacted: true, Signature: opaque + string(withInput(b.start, b.text))}
	case b.kind == "thinking" && b.signature != "":
		b.part.Replace = agentcore.Thinking{Text: providers.Clean(string(b.text)), Signature: b.signature}
	case b.kind == "tool_use" && !b.deltas && len(b.input) > 2:
		d.out.Delta(b.part, string(b.input))
	}
	d.out.End(b.part)
}

// withInput puts the input that was streamed into an opaque block.
func withInput(start json.RawMessage, input []byte) []byte {
	var fields map[string]json.RawMessage
	if len(input) == 0 || !json.Valid(input) || json.Unmarshal(start, &fields) != nil {
		return start
	}
	fields["input"] = input
	return providers.AppendJSON(nil, fields)
}

func (d *decoder) messageStart(message []byte) {
	var key []byte
	p := providers.NewDecoder(message)
	for p.Object(); p.Key(&key); {
		if string(key) == "usage" {
			d.addUsage(p.Raw())
		} else {
			p.Skip()
		}
	}
}

// addUsage overwrites what raw names; a null keeps what was there.
func (d *decoder) addUsage(raw []byte) {
	if raw == nil {
		return
	}
	var key []byte
	p := providers.NewDecoder(raw)
	for p.Object(); p.Key(&key); {
		var field *int64
		switch string(key) {
		case "input_tokens":
			field = &d.usage.Input
		case "output_tokens":
			field = &d.usage.Output
		case "cache_read_input_tokens":
			field = &d.usage.CacheRead
		case "cache_creation_input_tokens":
			field = &d.usage.CacheWrite
		}
		if field == nil || !p.Is('0') {
			p.Skip()
			continue
		}
		*field = max(p.Int(), 0)
	}
}

// whole reads the answer of a server that does not stream.
func (d *decoder) whole(data []byte) bool {
	var message struct {
		Content    []json.RawMessage
		StopReason string `json:"stop_reason"`
	}
	if json.Unmarshal(data, &message) != nil {
		d.out.Fail(d.model.client.Malformed(data))
		return false
	}
	d.messageStart(data)
	for i, raw := range message.Content {
		d.start(&event{index: int64(i), start: raw})
		if b := d.at(int64(i)); b != nil {
			d.close(b)
		}
	}
	d.reason = message.StopReason
	return true
}

func (d *decoder) finish() {
	for _, b := range d.blocks {
		if b != nil {
			d.close(b)
		}
	}
	stop := agentcore.StopEnd
	switch d.reason {
	case "end_turn", "stop_sequence", "":
	case "tool_use":
		stop = agentcore.StopToolUse
	case "max_tokens", "model_context_window_exceeded":
		stop = agentcore.StopLength
	case "pause_turn":
		stop = agentcore.StopPause
	case "refusal":
		stop = agentcore.StopRefusal
	default:
		d.out.Fail(d.model.client.Stopped("stop_reason", d.reason))
		return
	}
	d.out.Done(stop, d.usage)
}
