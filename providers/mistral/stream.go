package mistral

import (
	"errors"
	"io"
	"strings"

	"clawbot/agentcore"
	"clawbot/providers"
)

// decoder reads one stream.
type decoder struct {
	model *Model
	out   *providers.Emitter

	part   *providers.Part // the text or thinking that goes on
	calls  providers.CallTable
	usage  agentcore.Usage
	reason string
	seen   bool // a chunk of this format
}

func (d *decoder) run(answer *providers.Answer) {
	for !d.out.Over() {
		ev, err := answer.Next()
		switch {
		case errors.Is(err, io.EOF) && d.reason != "":
			d.finish()
			return
		case errors.Is(err, io.EOF):
			d.out.Fail(d.model.client.Ended("without finish_reason"))
			return
		case err != nil && d.reason != "" && providers.Interrupted(err):
			d.finish() // everything was said; only the farewell is missing
			return
		case err != nil:
			d.out.Fail(err)
			return
		case ev.Data[0] == '{':
			d.event(ev.Data)
		case strings.TrimSpace(string(ev.Data)) == "[DONE]":
			answer.Finish()
			d.finish()
			return
		}
	}
}

func (d *decoder) event(data []byte) {
	var key []byte
	p := providers.NewDecoder(data)
	known, failed, said := false, false, false
	for p.Object(); p.Key(&key); {
		switch string(key) {
		case "choices":
			known = true
			d.choices(&p)
		case "usage":
			known = true
			d.addUsage(&p)
		case "error":
			failed = p.Holds() || failed
		case "object":
			failed = failed || string(p.Raw()) == `"error"`
		case "message", "detail":
			said = said || p.Is('"') || p.Is('[')
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

// choices reads the first choice; more are never asked for.
func (d *decoder) choices(p *providers.Decoder) {
	var key []byte
	for first := p.Array(); p.More(); first = false {
		if !first {
			p.Skip()
			continue
		}
		ours := true
		for p.Object(); p.Key(&key); {
			switch string(key) {
			case "index":
				ours = p.Int() == 0
			case "delta":
				if ours {
					d.delta(p)
				} else {
					p.Skip()
				}
			case "message": // of servers that don't stream; else it says all once more
				if ours && d.part == nil && d.calls.Empty() {
					d.delta(p)
				} else {
					p.Skip()
				}
			case "finish_reason", "finishReason":
				if reason := p.String(); reason != "" && ours {
					d.reason = reason
				}
			default:
				p.Skip()
			}
		}
	}
}

func (d *decoder) delta(p *providers.Decoder) {
	var key []byte
	for p.Object(); p.Key(&key); {
		switch string(key) {
		case "content":
			text, thought := p.Content()
			d.add(agentcore.StreamThinking, thought)
			d.add(agentcore.StreamText, text)
		case "reasoning_content": // of servers that imitate the API
			d.add(agentcore.StreamThinking, p.String())
		case "tool_calls", "toolCalls":
			if raw := p.Raw(); p.Err() == nil {
				d.calls.Deltas(raw)
			}
		default:
			p.Skip()
		}
	}
}

// add goes on with the block of a kind, or begins the next. Thinking that comes
// back after text is a block of its own, as it is when it is sent back.
func (d *decoder) add(kind agentcore.StreamEventType, delta string) {
	if delta == "" {
		return
	}
	if d.part == nil || d.part.Kind != kind {
		if d.part != nil {
			d.out.End(d.part)
		}
		d.part = d.out.Part(kind)
	}
	d.out.Delta(d.part, delta)
}

func (d *decoder) addUsage(p *providers.Decoder) {
	var key []byte
	var prompt, output, cached int64
	for p.Object(); p.Key(&key); {
		switch string(key) {
		case "prompt_tokens", "promptTokens":
			prompt = p.Int()
		case "completion_tokens", "completionTokens":
			output = p.Int()
		case "num_cached_tokens", "numCachedTokens":
			cached = max(cached, p.Int())
		case "prompt_tokens_details", "promptTokensDetails", "prompt_token_details":
			for p.Object(); p.Key(&key); {
				switch string(key) {
				case "cached_tokens", "cachedTokens":
					cached = max(cached, p.Int())
				default:
					p.Skip()
				}
			}
		default:
			p.Skip()
		}
	}
	if prompt > 0 || output > 0 {
		d.usage = agentcore.Usage{Input: max(prompt-cached, 0), Output: max(output, 0), CacheRead: max(cached, 0)}
	}
}

func (d *decoder) finish() {
	d.calls.End()
	switch strings.ToLower(d.reason) {
	case "length", "model_length", "max_tokens":
		d.out.Done(agentcore.StopLength, d.usage)
	case "tool_calls", "tool_call":
		d.out.Done(agentcore.StopToolUse, d.usage)
	case "content_filter":
		d.out.Done(agentcore.StopRefusal, d.usage)
	case "error":
		d.out.Fail(d.model.client.Stopped("finish_reason", d.reason))
	default: // the API's list is open, and everything else on it was an end
		d.out.Done(agentcore.StopEnd, d.usage)
	}
}
