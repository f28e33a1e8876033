package anthropic

import (
	"slices"
	"strings"

	"clawbot/agentcore"
	"clawbot/providers"
)

// opaque marks, in a redacted thinking's signature, a block of a kind that
// clawbot does not know (a server's own tool call) and only sends back.
const opaque = "block:"

// Variants of a message's encoding.
const (
	variantSame uint32 = 1 << iota
	variantNoCalls
)

// appendMessages encodes steps. A segment is the content of one message without
// its brackets, so that messages of one role can be merged, as the API wants
// it; markers are put in between segments.
func (m *Model) appendMessages(body providers.Body, steps []providers.Step) providers.Body {
	role := agentcore.Role("")
	lead := len(steps) > 0 && steps[0].Role == agentcore.RoleAssistant
	if lead { // the API wants to hear the user first
		body = append(body, []byte(`{"role":"user","content":[{"type":"text","text":"(conversation continued)"}`))
		role = agentcore.RoleUser
	}
	last, previous := m.marked(steps)
	for i := range steps {
		s := &steps[i]
		segment := m.segment(s, i == len(steps)-1)
		if len(segment) == 0 {
			continue
		}
		wire := s.Role
		if wire == agentcore.RoleToolResult {
			wire = agentcore.RoleUser
		}
		body = append(body, opening(role, wire))
		role = wire
		if m.traits.CacheControl && (i == last || i == previous) {
			body = append(body, segment[:len(segment)-1], []byte(cacheMarker))
		} else {
			body = append(body, segment)
		}
	}
	if role == "" {
		return append(body, []byte(`{"role":"user","content":[{"type":"text","text":"."}]}`))
	}
	return append(body, []byte(`]}`))
}

// What stands between the blocks of a request; never changed.
var (
	between       = []byte(`,`)
	openUser      = []byte(`{"role":"user","content":[`)
	openAssistant = []byte(`{"role":"assistant","content":[`)
	turnUser      = []byte(`]},{"role":"user","content":[`)
	turnAssistant = []byte(`]},{"role":"assistant","content":[`)
)

// opening is what stands between a block of role before and one of role next.
func opening(before, next agentcore.Role) []byte {
	switch {
	case before == next:
		return between
	case before == "" && next == agentcore.RoleUser:
		return openUser
	case before == "":
		return openAssistant
	case next == agentcore.RoleUser:
		return turnUser
	}
	return turnAssistant
}

// marked returns which steps carry cache markers: the last of the user's, and
// the one that was the last a turn ago, where the cache was written then. With
// the system prompt's and the tools' that makes the four that are allowed.
func (m *Model) marked(steps []providers.Step) (last, previous int) {
	last, previous = -1, -1
	for i, s := range slices.Backward(steps) {
		if s.Role == agentcore.RoleAssistant {
			continue
		}
		if last < 0 {
			last = i
		} else if steps[i+1].Role == agentcore.RoleAssistant {
			return last, i
		}
	}
	return last, previous
}

func (m *Model) segment(s *providers.Step, final bool) []byte {
	switch s.Role {
	case agentcore.RoleUser:
		return m.segments.Get(s.Message, 0, func(dst []byte) []byte { return m.appendUser(dst, s.Message) })
	case agentcore.RoleToolResult:
		if s.Message == nil {
			return m.appendResult(nil, s)
		}
		return m.segments.Get(s.Message, 0, func(dst []byte) []byte { return m.appendResult(dst, s) })
	}
	if final {
		return m.appendAssistant(nil, s, true)
	}
	variant := uint32(0)
	if s.Same {
		variant |= variantSame
	}
	if s.NoCalls {
		variant |= variantNoCalls
	}
	return m.segments.Get(s.Message, variant, func(dst []byte) []byte { return m.appendAssistant(dst, s, false) })
}

func comma(dst []byte) []byte {
	if len(dst) > 0 {
		return append(dst, ',')
	}
	return dst
}

func appendText(dst []byte, text string) []byte {
	dst = append(comma(dst), `{"type":"text","text":`...)
	return append(providers.AppendString(dst, text), '}')
}

func (m *Model) appendUser(dst []byte, msg *agentcore.Message) []byte {
	for _, b := range providers.UserParts(msg, m.info.Images, m.info.Documents) {
		switch b := b.(type) {
		case agentcore.Text:
			dst = appendText(dst, b.Text)
		case agentcore.Image:
			dst = appendImage(comma(dst), b)
		case agentcore.Document:
			dst = append(comma(dst), `{"type":"document","source":{"type":"base64","media_type":`...)
			dst = providers.AppendString(dst, b.MIMEType)
			dst = append(dst, `,"data":`...)
			dst = append(providers.AppendBase64(dst, "", b.Data), '}')
			if b.Name != "" {
				dst = append(dst, `,"title":`...)
				dst = providers.AppendString(dst, b.Name)
			}
			dst = append(dst, '}')
		}
	}
	return dst
}

func appendImage(dst []byte, img agentcore.Image) []byte {
	img = providers.FitImage(img)
	dst = append(dst, `{"type":"image","source":{"type":"base64","media_type":`...)
	dst = providers.AppendString(dst, img.MIMEType)
	dst = append(dst, `,"data":`...)
	return append(providers.AppendBase64(dst, "", img.Data), `}}`...)
}

func (m *Model) appendResult(dst []byte, s *providers.Step) []byte {
	dst = append(dst, `{"type":"tool_result","tool_use_id":`...)
	dst = providers.AppendString(dst, providers.WireID(s.Call.ID, m.traits.IDLength))
	dst = append(dst, `,"content":`...)
	text, images := s.ResultText(m.info.Images), s.Images(m.info.Images)
	if len(images) == 0 {
		dst = providers.AppendString(dst, text)
	} else {
		dst = append(dst, '[')
		if text != "" {
			dst = append(append(providers.AppendString(append(dst, `{"type":"text","text":`...), text), '}'), ',')
		}
		for i, img := range images {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendImage(dst, img)
		}
		dst = append(dst, ']')
	}
	if s.Failed() {
		dst = append(dst, `,"is_error":true`...)
	}
	return append(dst, '}')
}

// appendAssistant encodes an assistant's blocks; the last text of a message
// that ends the request must not end in white space.
func (m *Model) appendAssistant(dst []byte, s *providers.Step, final bool) []byte {
	parts := s.Parts(true)
	for i, b := range parts {
		switch b := b.(type) {
		case agentcore.Text:
			text := b.Text
			if final && i == len(parts)-1 {
				text = strings.TrimRight(text, " \t\r\n")
			}
			dst = appendText(dst, text)
		case agentcore.Thinking:
			dst = appendThinking(dst, b)
		case agentcore.ToolCall:
			dst = append(comma(dst), `{"type":"tool_use","id":`...)
			dst = providers.AppendString(dst, providers.WireID(b.ID, m.traits.IDLength))
			dst = append(dst, `,"name":`...)
			dst = providers.AppendString(dst, providers.WireName(b.Name))
			dst = append(dst, `,"input":`...)
			dst = append(append(dst, providers.Arguments(b.Arguments)...), '}')
		}
	}
	return dst
}

// appendThinking sends thinking back as it came. Without a signature it was cut
// short, and would be refused.
func appendThinking(dst []byte, t agentcore.Thinking) []byte {
	switch raw, isBlock := strings.CutPrefix(t.Signature, opaque); {
	case t.Redacted && isBlock:
		return append(comma(dst), raw...)
	case t.Redacted:
		dst = append(comma(dst), `{"type":"redacted_thinking","data":`...)
		return append(providers.AppendString(dst, t.Signature), '}')
	case t.Signature == "":
		return dst
	}
	dst = append(comma(dst), `{"type":"thinking","thinking":`...)
	dst = providers.AppendString(dst, t.Text)
	dst = append(dst, `,"signature":`...)
	return append(providers.AppendString(dst, t.Signature), '}')
}
