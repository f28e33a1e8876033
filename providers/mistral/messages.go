package mistral

import (
	"strings"

	"clawbot/agentcore"
	"clawbot/providers"
)

// Variants of a message's encoding.
const (
	variantSame uint32 = 1 << iota
	variantNoCalls
)

// What stands in where the API wants a role to come that the transcript lacks;
// never changed.
var (
	afterResults   = []byte(`{"role":"assistant","content":"Ok."},`)
	afterAssistant = []byte(`{"role":"user","content":"Go on."},`)
	noMessages     = []byte(`{"role":"user","content":"."},`)
)

// appendMessages encodes the system prompt and the transcript. A segment is one
// whole message with a comma behind it. Two rules of the API are kept between
// segments: a user does not follow results, and no assistant comes last.
func (m *Model) appendMessages(body providers.Body, req *agentcore.Request) providers.Body {
	if system := providers.Clean(req.System); !providers.IsBlank(system) {
		dst := providers.AppendString([]byte(`{"role":"system","content":`), system)
		body = append(body, append(dst, `},`...))
	}
	ids := idTable{}
	last := agentcore.Role("")
	steps := providers.Transform(req.Messages, m.info.Ref)
	for i := range steps {
		s := &steps[i]
		segment := m.segment(s, &ids)
		if len(segment) == 0 {
			continue
		}
		if s.Role == agentcore.RoleUser && last == agentcore.RoleToolResult {
			body = append(body, afterResults)
		}
		last = s.Role
		body = append(body, segment)
	}
	switch last {
	case agentcore.RoleAssistant:
		body = append(body, afterAssistant)
	case "":
		body = append(body, noMessages)
	}
	// The last message's comma goes.
	end := body[len(body)-1]
	body[len(body)-1] = end[:len(end)-1]
	return body
}

// segment returns the encoding of a step. One whose ids had to give way to
// others of this transcript is not kept, for it depends on them.
func (m *Model) segment(s *providers.Step, ids *idTable) []byte {
	variant := uint32(0)
	if s.Same {
		variant |= variantSame
	}
	if s.NoCalls {
		variant |= variantNoCalls
	}
	encode := m.appendUser
	usual := true
	switch s.Role {
	case agentcore.RoleAssistant:
		usual = ids.begin(s)
		encode = m.appendAssistant
	case agentcore.RoleToolResult:
		usual = ids.usual(s.Call.ID)
		encode = m.appendResult
	}
	if s.Message == nil || !usual {
		return encode(nil, s, ids)
	}
	return m.segments.Get(s.Message, variant, func(dst []byte) []byte { return encode(dst, s, ids) })
}

func (m *Model) appendUser(dst []byte, s *providers.Step, _ *idTable) []byte {
	dst = append(dst, `{"role":"user","content":`...)
	dst = m.appendContent(dst, providers.UserParts(s.Message, m.info.Images, false), "\n")
	return append(dst, `},`...)
}

// appendContent encodes blocks as a string if they are text, joined by sep, and
// as a list of chunks otherwise.
func (m *Model) appendContent(dst []byte, blocks []agentcore.Block, sep string) []byte {
	texts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		if t, ok := b.(agentcore.Text); ok {
			texts = append(texts, t.Text)
		}
	}
	if len(texts) == len(blocks) {
		return providers.AppendString(dst, strings.Join(texts, sep))
	}
	dst = append(dst, '[')
	for i, b := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch b := b.(type) {
		case agentcore.Text:
			dst = append(providers.AppendString(append(dst, `{"type":"text","text":`...), b.Text), '}')
		case agentcore.Thinking:
			dst = append(dst, `{"type":"thinking","thinking":[{"type":"text","text":`...)
			dst = append(providers.AppendString(dst, b.Text), `}]}`...)
		case agentcore.Image:
			b = providers.FitImage(b)
			dst = append(append(append(dst, `{"type":"image_url",`...), m.words.imageURL...), ':')
			dst = append(providers.AppendBase64(dst, "data:"+safeMIME(b.MIMEType)+";base64,", b.Data), '}')
		}
	}
	return append(dst, ']')
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

// appendAssistant encodes an assistant's message; nothing if nothing of it is
// left. Its thinking comes first, as the model wrote it.
func (m *Model) appendAssistant(dst []byte, s *providers.Step, ids *idTable) []byte {
	var content []agentcore.Block
	var calls []agentcore.ToolCall
	said := false
	for _, b := range s.Parts(true) {
		switch b := b.(type) {
		case agentcore.Text:
			said = true
			content = append(content, b)
		case agentcore.Thinking:
			if m.traits.ReplayThinking && !b.Redacted && !providers.IsBlank(b.Text) {
				content = append(content, b)
			}
		case agentcore.ToolCall:
			calls = append(calls, b)
		}
	}
	if !said && len(calls) == 0 {
		return dst
	}
	dst = append(dst, `{"role":"assistant","content":`...)
	dst = m.appendContent(dst, content, "\n")
	if len(calls) > 0 {
		dst = append(m.field(dst, m.words.toolCalls), '[')
		for i, c := range calls {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = providers.AppendString(append(dst, `{"id":`...), ids.wire(c.ID))
			dst = append(dst, `,"type":"function","function":{"name":`...)
			dst = providers.AppendString(dst, providers.WireName(c.Name))
			dst = append(dst, `,"arguments":`...)
			dst = append(providers.AppendString(dst, string(providers.Arguments(c.Arguments))), `}}`...)
		}
		dst = append(dst, ']')
	}
	return append(dst, `},`...)
}

// failed and silent are how a result says that it is an error, and that it is
// empty.
const (
	failed = "[tool error] "
	silent = "(no tool output)"
)

func (m *Model) appendResult(dst []byte, s *providers.Step, ids *idTable) []byte {
	dst = append(dst, `{"role":"tool","name":`...)
	dst = providers.AppendString(dst, providers.WireName(s.Call.Name))
	dst = providers.AppendString(m.field(dst, m.words.toolCallID), ids.wire(s.Call.ID))
	dst = append(dst, `,"content":`...)
	text := s.ResultText(m.info.Images)
	switch text {
	case providers.EmptyResult:
		text = silent
	case "":
		text = "(see attached image)"
	}
	if s.Failed() {
		text = failed + text
	}
	content := []agentcore.Block{agentcore.Text{Text: text}}
	for _, img := range s.Images(m.info.Images) {
		content = append(content, img)
	}
	return append(m.appendContent(dst, content, ""), `},`...)
}
