package openai

import (
	"encoding/json"
	"strings"

	"clawbot/agentcore"
	"clawbot/providers"
)

// Variants of a message's encoding.
const (
	variantSame uint32 = 1 << iota
	variantNoCalls
	variantMark
	variantImages
)

// attachedImages introduces the images of results, which a tool message cannot
// carry itself.
const attachedImages = "Attached image(s) from tool result:"

const ephemeral = `,"cache_control":{"type":"ephemeral"}`

// appendChatMessages encodes the system prompt and the transcript. A segment is
// one whole message with a comma behind it, or the images of a result.
func (m *Model) appendChatMessages(body providers.Body, req *agentcore.Request) providers.Body {
	before := len(body)
	if system := providers.Clean(req.System); !providers.IsBlank(system) {
		body = append(body, m.systemMessage(system))
	}
	steps := providers.Transform(req.Messages, m.info.Ref)
	var images []byte
	for i := range steps {
		s := &steps[i]
		if segment := m.chatSegment(s, i == len(steps)-1); len(segment) > 0 {
			body = append(body, segment)
		}
		if s.Role != agentcore.RoleToolResult {
			continue
		}
		if len(s.Images(m.info.Images)) > 0 {
			images = append(images, m.segments.Get(s.Message, variantImages, func(dst []byte) []byte {
				for _, img := range s.Images(true) {
					dst = appendImageURL(append(dst, ','), img)
				}
				return dst
			})...)
		}
		if s.Last && len(images) > 0 {
			body = append(body, []byte(`{"role":"user","content":[{"type":"text","text":"`+attachedImages+`"}`), images, []byte(`]},`))
			images = nil
		}
	}
	if len(body) == before {
		body = append(body, []byte(`{"role":"user","content":"."},`))
	}
	// The last message's comma goes.
	last := body[len(body)-1]
	body[len(body)-1] = last[:len(last)-1]
	return body
}

func (m *Model) systemMessage(system string) []byte {
	dst := []byte(`{"role":"system","content":`)
	if m.traits.DeveloperRole {
		dst = []byte(`{"role":"developer","content":`)
	}
	dst = m.appendMarked(dst, system, m.traits.CacheControl)
	return append(dst, `},`...)
}

// appendMarked appends text as content, to be cached up to if mark is set.
func (m *Model) appendMarked(dst []byte, text string, mark bool) []byte {
	if !mark {
		return providers.AppendString(dst, text)
	}
	dst = providers.AppendString(append(dst, `[{"type":"text","text":`...), text)
	return append(dst, ephemeral+`}]`...)
}

func (m *Model) chatSegment(s *providers.Step, last bool) []byte {
	variant := uint32(0)
	if s.Same {
		variant |= variantSame
	}
	if s.NoCalls {
		variant |= variantNoCalls
	}
	mark := last && m.traits.CacheControl
	if mark {
		variant |= variantMark
	}
	switch {
	case s.Role == agentcore.RoleUser:
		return m.segments.Get(s.Message, variant, func(dst []byte) []byte { return m.appendChatUser(dst, s.Message, mark) })
	case s.Role == agentcore.RoleAssistant:
		return m.segments.Get(s.Message, variant, func(dst []byte) []byte { return m.appendChatAssistant(dst, s) })
	case s.Message == nil:
		return m.appendChatResult(nil, s, mark)
	}
	return m.segments.Get(s.Message, variant, func(dst []byte) []byte { return m.appendChatResult(dst, s, mark) })
}

func (m *Model) appendChatUser(dst []byte, msg *agentcore.Message, mark bool) []byte {
	parts := providers.UserParts(msg, m.info.Images, false)
	dst = append(dst, `{"role":"user","content":`...)
	if text, ok := onlyText(parts, "\n"); ok {
		return append(m.appendMarked(dst, text, mark), `},`...)
	}
	dst = append(dst, '[')
	for i, b := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch b := b.(type) {
		case agentcore.Text:
			dst = append(providers.AppendString(append(dst, `{"type":"text","text":`...), b.Text), '}')
		case agentcore.Image:
			dst = appendImageURL(dst, b)
		}
	}
	return append(dst, `]},`...)
}

// onlyText returns the joined texts of parts if there is nothing else.
func onlyText(parts []agentcore.Block, sep string) (string, bool) {
	texts := make([]string, 0, len(parts))
	for _, b := range parts {
		t, ok := b.(agentcore.Text)
		if !ok {
			return "", false
		}
		texts = append(texts, t.Text)
	}
	return strings.Join(texts, sep), true
}

func appendImageURL(dst []byte, img agentcore.Image) []byte {
	img = providers.FitImage(img)
	dst = append(dst, `{"type":"image_url","image_url":{"url":`...)
	return append(providers.AppendBase64(dst, "data:"+safeMIME(img.MIMEType)+";base64,", img.Data), `}}`...)
}

// safeMIME returns a MIME type that needs no escaping.
func safeMIME(mime string) string {
	for _, c := range mime {
		if c != '/' && c != '.' && c != '+' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return "application/octet-stream"
		}
	}
	return mime
}

// appendChatAssistant encodes an assistant's message; nothing if nothing of it
// is left.
func (m *Model) appendChatAssistant(dst []byte, s *providers.Step) []byte {
	var text, thought strings.Builder
	field := ""
	var details json.RawMessage
	var calls []agentcore.ToolCall
	for _, b := range s.Parts(true) {
		switch b := b.(type) {
		case agentcore.Text:
			text.WriteString(b.Text)
		case agentcore.Thinking:
			if raw, ok := detailsOf(b.Signature); ok {
				details = raw
			} else if !b.Redacted {
				if thought.Len() > 0 {
					thought.WriteByte('\n')
				}
				thought.WriteString(b.Text)
				field = b.Signature
			}
		case agentcore.ToolCall:
			calls = append(calls, b)
		}
	}
	if text.Len() == 0 && len(calls) == 0 {
		return dst
	}
	dst = append(dst, `{"role":"assistant","content":`...)
	if text.Len() == 0 && !m.traits.EmptyContent {
		dst = append(dst, `null`...)
	} else {
		dst = providers.AppendString(dst, text.String())
	}
	if details != nil && m.traits.ReplayThinking {
		dst = append(append(dst, `,"reasoning_details":`...), details...)
	}
	dst = m.appendThought(dst, field, thought.String())
	if len(calls) > 0 {
		dst = m.appendChatCalls(append(dst, `,"tool_calls":[`...), s, calls)
	}
	return append(dst, `},`...)
}

// appendThought sends thinking back under the field it came in.
func (m *Model) appendThought(dst []byte, field, thought string) []byte {
	switch {
	case m.traits.ReasoningContent:
		field = "reasoning_content"
	case !m.traits.ReplayThinking || thought == "":
		return dst
	case field != "reasoning_content" && field != "reasoning" && field != "reasoning_text":
		return dst
	}
	dst = append(append(append(dst, `,"`...), field...), `":`...)
	return providers.AppendString(dst, thought)
}

func (m *Model) appendChatCalls(dst []byte, s *providers.Step, calls []agentcore.ToolCall) []byte {
	for i, c := range calls {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"id":`...)
		dst = providers.AppendString(dst, s.WireID(c.ID, m.traits.IDLength))
		dst = append(dst, `,"type":"function","function":{"name":`...)
		dst = providers.AppendString(dst, providers.WireName(c.Name))
		dst = append(dst, `,"arguments":`...)
		dst = append(providers.AppendString(dst, string(providers.Arguments(c.Arguments))), '}')
		if c.Signature != "" { // Gemini behind this format
			dst = append(dst, `,"extra_content":{"google":{"thought_signature":`...)
			dst = append(providers.AppendString(dst, c.Signature), `}}`...)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func (m *Model) appendChatResult(dst []byte, s *providers.Step, mark bool) []byte {
	dst = append(dst, `{"role":"tool","tool_call_id":`...)
	dst = providers.AppendString(dst, s.WireID(s.Call.ID, m.traits.IDLength))
	dst = append(dst, `,"content":`...)
	text := s.ResultText(m.info.Images)
	if text == "" {
		text = "(see attached image)"
	}
	return append(m.appendMarked(dst, text, mark), `},`...)
}
