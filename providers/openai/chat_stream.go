package openai

import (
	"errors"
	"io"
	"strings"

	"clawbot/agentcore"
	"clawbot/providers"
)

// chatDecoder reads one Chat Completions stream.
type chatDecoder struct {
	model *Model
	req   *agentcore.Request
	out   *providers.Emitter

	text     *providers.Part
	thinking *providers.Part
	thought  []byte // kept only if it is sent back
	details  details
	field    string // where the thinking came in
	tags     thinkTags
	calls    providers.CallTable
	usage    agentcore.Usage
	reason   string
	refused  bool
	streamed bool // a delta said something
	seen     bool // a chunk of this format
}

func (m *Model) decodeChat(req *agentcore.Request, out *providers.Emitter, answer *providers.Answer) {
	d := chatDecoder{model: m, req: req, out: out}
	d.calls = providers.CallTable{Out: out, Tools: req.Tools}
	for !out.Over() {
		ev, err := answer.Next()
		switch {
		case errors.Is(err, io.EOF) && d.reason != "":
			d.finish()
			return
		case errors.Is(err, io.EOF):
			out.Fail(m.client.Ended("without finish_reason"))
			return
		case err != nil && d.reason != "" && providers.Interrupted(err):
			d.finish() // everything was said; only the farewell is missing
			return
		case err != nil:
			out.Fail(err)
			return
		case ev.Data[0] == '{':
			d.chunk(ev.Data)
		case strings.TrimSpace(string(ev.Data)) == "[DONE]":
			answer.Finish()
			d.finish()
			return
		}
	}
}

func (d *chatDecoder) chunk(data []byte) {
	var key []byte
	p := providers.NewDecoder(data)
	known, failed, said := false, false, false
	for p.Object(); p.Key(&key); {
		switch string(key) {
		case "choices":
			known = true
			failed = d.choices(&p) || failed
		case "usage":
			known = true
			d.addUsage(&p)
		case "error":
			failed = p.Holds() || failed
		case "message", "detail":
			said = said || p.Is('"')
			p.Skip()
		default:
			p.Skip()
		}
	}
	switch {
	case p.End() != nil:
		d.out.Fail(d.model.client.Malformed(data))
	case failed, said && !known:
		d.out.Fail(d.model.client.Failed(data))
	case !known && !d.seen && providers.FormatOf(data) != "":
		d.out.Fail(d.model.client.Malformed(data))
	}
	d.seen = d.seen || known
}

// delta is what one chunk adds.
type delta struct {
	content, refusal string
	thought          [3]string // by thoughtFields
	details          []byte    // reasoning_details
	calls            []byte
	legacy           []byte // function_call
}

// thoughtFields are the names under which servers send thinking. Some send the
// same text under several, so the first that is there counts.
var thoughtFields = [3]string{"reasoning_content", "reasoning", "reasoning_text"}

// choices reads the first choice; more are never asked for.
func (d *chatDecoder) choices(p *providers.Decoder) (failed bool) {
	for first := p.Array(); p.More(); first = false {
		if first {
			failed = d.choice(p)
		} else {
			p.Skip()
		}
	}
	return failed
}

func (d *chatDecoder) choice(p *providers.Decoder) (failed bool) {
	var key []byte
	var dl, whole delta
	var index int64
	reason := ""
	for p.Object(); p.Key(&key); {
		switch string(key) {
		case "delta":
			dl.read(p)
		case "message":
			whole.read(p)
		case "index":
			index = p.Int()
		case "finish_reason":
			reason = p.String()
		case "usage":
			d.addUsage(p)
		case "error":
			failed = p.Holds()
		default:
			p.Skip()
		}
	}
	if p.Err() != nil || index != 0 {
		return failed
	}
	d.streamed = d.streamed || !dl.empty()
	switch { // a message is of servers that don't stream, or says all once more
	case !d.streamed:
		dl = whole
	case dl.calls == nil && d.calls.Empty():
		dl.calls = whole.calls
	}
	d.add(&dl)
	if reason != "" {
		d.reason = reason
	}
	return failed
}

func (dl *delta) empty() bool {
	return dl.content == "" && dl.refusal == "" && dl.thought == [3]string{} && len(dl.details) < 3 && len(dl.calls) < 3 && dl.legacy == nil
}

func (dl *delta) read(p *providers.Decoder) {
	var key []byte
	for p.Object(); p.Key(&key); {
		switch string(key) {
		case "content":
			text, thought := p.Content()
			dl.content += text
			dl.thought[0] += thought
		case "reasoning_content":
			dl.thought[0] = p.String()
		case "reasoning":
			dl.thought[1] = p.String()
		case "reasoning_text":
			dl.thought[2] = p.String()
		case "reasoning_details":
			dl.details = p.Raw()
		case "tool_calls":
			dl.calls = p.Raw()
		case "function_call":
			dl.legacy = p.Raw()
		case "refusal":
			dl.refusal = p.String()
		default:
			p.Skip()
		}
	}
}

func (d *chatDecoder) add(dl *delta) {
	d.addThought(dl)
	if dl.content != "" {
		d.addContent(dl.content)
	}
	if dl.refusal != "" {
		d.refused = true
		d.addText(dl.refusal)
	}
	if dl.calls != nil {
		d.calls.Deltas(dl.calls)
	}
	if dl.legacy != nil {
		d.calls.Legacy(dl.legacy)
	}
}

func (d *chatDecoder) addThought(dl *delta) {
	inDetails := ""
	if dl.details != nil {
		inDetails = d.details.add(dl.details)
	}
	for i, text := range dl.thought {
		if text != "" {
			d.think(text, thoughtFields[i])
			return
		}
	}
	if inDetails != "" {
		d.think(inDetails, detailsMark)
	}
}

func (d *chatDecoder) think(text, field string) {
	if d.thinking == nil {
		d.thinking = d.out.Part(agentcore.StreamThinking)
		d.tags.native = field != tagField
		d.field = field
	}
	if d.keepsThought() {
		d.thought = append(d.thought, text...)
	}
	d.out.Delta(d.thinking, text)
}

func (d *chatDecoder) keepsThought() bool {
	return d.field != "" && d.field != tagField && (d.model.traits.ReplayThinking || d.model.traits.ReasoningContent)
}

// keepThought gives the thinking what it must be sent back with.
func (d *chatDecoder) keepThought() {
	details := d.details.signature()
	switch {
	case d.thinking == nil && details != "" && d.model.traits.ReplayThinking:
		part := d.out.Part(agentcore.StreamThinking)
		part.Replace = agentcore.Thinking{Redacted: true, Signature: details}
		d.out.End(part)
	case d.thinking == nil || !d.keepsThought():
	case details != "":
		d.thinking.Replace = agentcore.Thinking{Text: providers.Clean(string(d.thought)), Signature: details}
	case d.field != detailsMark:
		d.thinking.Replace = agentcore.Thinking{Text: providers.Clean(string(d.thought)), Signature: d.field}
	}
}

// addContent takes thinking in tags out of the text.
func (d *chatDecoder) addContent(content string) {
	if d.tags.passed {
		d.addText(content)
		return
	}
	text, thought := d.tags.next(content)
	if thought != "" {
		d.think(thought, tagField)
	}
	if text != "" {
		d.addText(text)
	}
}

func (d *chatDecoder) addText(text string) {
	if d.text == nil {
		d.text = d.out.Part(agentcore.StreamText)
	}
	d.out.Delta(d.text, text)
}

func (d *chatDecoder) addUsage(p *providers.Decoder) {
	if !p.Is('{') {
		p.Skip()
		return
	}
	var key []byte
	var prompt, output, read, write int64
	for p.Object(); p.Key(&key); {
		switch string(key) {
		case "prompt_tokens", "input_tokens":
			prompt = p.Int()
		case "completion_tokens", "output_tokens":
			output = p.Int()
		case "prompt_cache_hit_tokens":
			read = p.Int()
		case "prompt_tokens_details":
			for p.Object(); p.Key(&key); {
				switch string(key) {
				case "cached_tokens":
					read = max(read, p.Int())
				case "cache_write_tokens":
					write = p.Int()
				default:
					p.Skip()
				}
			}
		default:
			p.Skip()
		}
	}
	if prompt == 0 && output == 0 {
		return
	}
	d.usage = agentcore.Usage{Input: max(prompt-read-write, 0), Output: max(output, 0), CacheRead: max(read, 0), CacheWrite: max(write, 0)}
}

func (d *chatDecoder) finish() {
	text, thought := d.tags.end()
	if thought != "" {
		d.think(thought, tagField)
	}
	if text != "" {
		d.addText(text)
	}
	d.keepThought()
	d.calls.End()
	stop, ok := stopReason(d.reason)
	switch {
	case !ok:
		d.out.Fail(d.model.client.Stopped("finish_reason", d.reason))
		return
	case d.refused && stop == agentcore.StopEnd:
		stop = agentcore.StopRefusal
	}
	d.out.Done(stop, d.usage)
}

// stopReason maps what servers call the end of a message. Whether its calls may
// run is not decided here.
func stopReason(reason string) (agentcore.StopReason, bool) {
	switch strings.ToLower(reason) {
	case "", "stop", "end", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed":
		return agentcore.StopEnd, true
	case "length", "max_tokens", "model_length", "max_output_tokens":
		return agentcore.StopLength, true
	case "tool_calls", "tool_call", "function_call", "tool_use":
		return agentcore.StopToolUse, true
	case "content_filter", "safety", "refusal", "sensitive":
		return agentcore.StopRefusal, true
	}
	return agentcore.StopError, false
}
