package google

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"clawbot/agentcore"
	"clawbot/providers"
)

// decoder reads one stream. Each chunk is a whole answer that continues the one
// before; the stream has no last word of its own, so it is read to its end.
type decoder struct {
	model *Model
	req   *agentcore.Request
	out   *providers.Emitter

	part    *providers.Part // the text or thinking that goes on
	written []byte          // of it, for the signature that may follow
	signed  string          // its signature
	pending usage
	reason  string
	said    string // finishMessage
	noted   bool   // that a picture can't be shown
	seen    bool   // a chunk of this format
}

// usage is usageMetadata; later chunks overwrite earlier ones.
type usage struct {
	prompt, tools, cached, output, thoughts int64
}

func (d *decoder) run(answer *providers.Answer) {
	for !d.out.Over() {
		ev, err := answer.Next()
		switch {
		case errors.Is(err, io.EOF) && d.reason != "":
			d.finish()
			return
		case errors.Is(err, io.EOF):
			d.out.Fail(d.model.client.Ended("without finishReason"))
			return
		case err != nil && d.reason != "" && providers.Interrupted(err):
			d.finish() // everything was said; only the farewell is missing
			return
		case err != nil:
			d.out.Fail(err)
			return
		case ev.Data[0] == '{':
			d.event(ev.Data)
		case strings.TrimSpace(string(ev.Data)) == "[DONE]" && d.reason != "": // a gateway's habit
			answer.Finish()
			d.finish()
			return
		case ev.Data[0] == '[':
			d.list(ev.Data)
		}
	}
}

// list reads the answer of a server that ignores alt=sse: one list of chunks.
func (d *decoder) list(data []byte) {
	p := providers.NewDecoder(data)
	for p.Array(); p.More() && !d.out.Over(); {
		if chunk := p.Raw(); len(chunk) > 0 && chunk[0] == '{' {
			d.event(chunk)
		}
	}
	if p.Err() != nil && !d.out.Over() {
		d.out.Fail(d.model.client.Malformed(data))
	}
}

func (d *decoder) event(data []byte) {
	var key []byte
	var feedback []byte
	known, failed := false, false
	p := providers.NewDecoder(data)
	for p.Object(); p.Key(&key); {
		switch string(key) {
		case "candidates":
			known = true
			d.candidates(&p)
		case "usageMetadata", "usage_metadata":
			known = true
			d.pending.read(&p)
		case "promptFeedback", "prompt_feedback":
			known, feedback = true, p.Raw()
		case "modelVersion", "responseId", "createTime":
			known = true
			p.Skip()
		case "error":
			failed = p.Holds() || failed
		default:
			p.Skip()
		}
	}
	switch {
	case p.End() != nil:
		d.out.Fail(d.model.client.Malformed(data))
		return
	case failed:
		d.out.Fail(d.model.client.Failed(data))
		return
	case !known && !d.seen && providers.FormatOf(data) != "":
		d.out.Fail(d.model.client.Malformed(data))
		return
	}
	d.seen = d.seen || known
	if feedback != nil {
		d.feedback(feedback)
	}
}

// feedback ends the stream if the prompt was refused.
func (d *decoder) feedback(data []byte) {
	var key []byte
	reason, said := "", ""
	p := providers.NewDecoder(data)
	for p.Object(); p.Key(&key); {
		switch string(key) {
		case "blockReason", "block_reason":
			reason = p.String()
		case "blockReasonMessage", "block_reason_message":
			said = p.String()
		default:
			p.Skip()
		}
	}
	if reason != "" && reason != "BLOCK_REASON_UNSPECIFIED" && reason != "BLOCKED_REASON_UNSPECIFIED" {
		d.out.Fail(d.model.client.Declined("promptFeedback.blockReason", reason, said))
	}
}

// candidates reads the first candidate; more are never asked for.
func (d *decoder) candidates(p *providers.Decoder) {
	for first := p.Array(); p.More(); first = false {
		if first {
			d.candidate(p)
		} else {
			p.Skip()
		}
	}
}

func (d *decoder) candidate(p *providers.Decoder) {
	var key []byte
	for p.Object(); p.Key(&key); {
		switch string(key) {
		case "content":
			for p.Object(); p.Key(&key); {
				if string(key) != "parts" {
					p.Skip()
					continue
				}
				for p.Array(); p.More(); {
					d.readPart(p)
				}
			}
		case "finishReason", "finish_reason":
			if reason := p.String(); reason != "" && reason != "FINISH_REASON_UNSPECIFIED" {
				d.reason = reason
			}
		case "finishMessage", "finish_message":
			d.said = p.String()
		default:
			p.Skip()
		}
	}
}

// part is one part as it came.
type part struct {
	text      string
	thought   bool
	signature string
	call      []byte
	data      bool
}

func (d *decoder) readPart(p *providers.Decoder) {
	var key []byte
	var is part
	for p.Object(); p.Key(&key); {
		switch string(key) {
		case "text":
			is.text = p.String()
		case "thought":
			is.thought = p.Bool()
		case "thoughtSignature", "thought_signature":
			is.signature = p.String()
		case "functionCall", "function_call":
			is.call = p.Raw()
		case "inlineData", "inline_data", "fileData", "file_data":
			is.data = true
			p.Skip()
		default:
			p.Skip()
		}
	}
	if p.Err() == nil {
		d.add(&is)
	}
}

func (d *decoder) add(is *part) {
	switch {
	case len(is.call) > 0 && is.call[0] == '{':
		d.close()
		d.call(is)
		return
	case is.data && !d.noted:
		d.noted = true
		is.text += "(The model made a file, which can't be shown here.)"
	}
	kind := agentcore.StreamText
	if is.thought {
		kind = agentcore.StreamThinking
	}
	if is.text == "" && (is.signature == "" || d.part == nil || d.part.Kind != kind || !is.thought) {
		if is.signature != "" { // a signature of its own goes back as it came
			d.close()
			d.out.Part(agentcore.StreamThinking).Replace = agentcore.Thinking{Redacted: true, Signature: is.signature}
		}
		return
	}
	if d.part == nil || d.part.Kind != kind {
		d.close()
		d.part = d.out.Part(kind)
	}
	d.written = append(d.written, is.text...)
	if is.signature != "" {
		d.signed = is.signature
	}
	d.out.Delta(d.part, is.text)
}

// close ends the part that goes on; what comes next begins another.
func (d *decoder) close() {
	if d.part == nil {
		return
	}
	if d.signed != "" {
		text := providers.Clean(string(d.written))
		d.part.Replace = agentcore.Text{Text: text, Signature: d.signed}
		if d.part.Kind == agentcore.StreamThinking {
			d.part.Replace = agentcore.Thinking{Text: text, Signature: d.signed}
		}
	}
	d.out.End(d.part)
	d.part, d.written, d.signed = nil, d.written[:0], ""
}

// call shows a call, which always comes whole.
func (d *decoder) call(is *part) {
	var key, args []byte
	id, name := "", ""
	p := providers.NewDecoder(is.call)
	for p.Object(); p.Key(&key); {
		switch string(key) {
		case "name":
			name = p.String()
		case "id":
			id = p.String()
		case "args":
			args = readArgs(&p)
		default:
			p.Skip()
		}
	}
	if id == "" {
		id = providers.NewCallID()
	}
	call := d.out.Part(agentcore.StreamToolCall)
	name = localName(d.req.Tools, name)
	if !d.out.Call(call, id, name) || !d.out.Delta(call, string(args)) {
		return
	}
	if is.signature != "" {
		call.Replace = agentcore.ToolCall{ID: call.ID(), Name: name, Arguments: json.RawMessage(providers.Clean(string(args))), Signature: is.signature}
	}
	d.out.End(call)
}

// readArgs reads an object, or the string of one that some gateways make of it.
func readArgs(p *providers.Decoder) []byte {
	switch {
	case p.Is('{'):
		return p.Raw()
	case p.Is('"'):
		return []byte(p.String())
	}
	p.Skip()
	return nil
}

func (u *usage) read(p *providers.Decoder) {
	var key []byte
	for p.Object(); p.Key(&key); {
		var field *int64
		switch string(key) {
		case "promptTokenCount", "prompt_token_count":
			field = &u.prompt
		case "toolUsePromptTokenCount", "tool_use_prompt_token_count":
			field = &u.tools
		case "cachedContentTokenCount", "cached_content_token_count":
			field = &u.cached
		case "candidatesTokenCount", "candidates_token_count":
			field = &u.output
		case "thoughtsTokenCount", "thoughts_token_count":
			field = &u.thoughts
		}
		if field == nil || !p.Is('0') {
			p.Skip()
			continue
		}
		*field = max(p.Int(), 0)
	}
}

func (u *usage) total() agentcore.Usage {
	return agentcore.Usage{Input: max(u.prompt+u.tools-u.cached, 0), Output: u.output + u.thoughts, CacheRead: u.cached}
}
