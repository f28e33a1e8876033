package openai

import (
	"encoding/json"
	"strings"

	"clawbot/agentcore"
	"clawbot/providers"
)

// appendInput encodes the transcript as items. A segment is the items of one
// message, each with a comma behind it.
func (m *Model) appendInput(body providers.Body, messages []*agentcore.Message) providers.Body {
	before := len(body)
	steps := providers.Transform(messages, m.info.Ref)
	for i := range steps {
		if segment := m.inputSegment(&steps[i]); len(segment) > 0 {
			body = append(body, segment)
		}
	}
	if len(body) == before {
		return append(body, []byte(`{"role":"user","content":"."}`))
	}
	last := body[len(body)-1]
	body[len(body)-1] = last[:len(last)-1]
	return body
}

func (m *Model) inputSegment(s *providers.Step) []byte {
	variant := uint32(0)
	if s.Same {
		variant |= variantSame
	}
	if s.NoCalls {
		variant |= variantNoCalls
	}
	switch {
	case s.Role == agentcore.RoleUser:
		return m.segments.Get(s.Message, 0, func(dst []byte) []byte { return m.appendInputUser(dst, s.Message) })
	case s.Role == agentcore.RoleAssistant:
		return m.segments.Get(s.Message, variant, func(dst []byte) []byte { return m.appendOutputItems(dst, s) })
	case s.Message == nil:
		return m.appendCallOutput(nil, s)
	}
	return m.segments.Get(s.Message, variant, func(dst []byte) []byte { return m.appendCallOutput(dst, s) })
}

func (m *Model) appendInputUser(dst []byte, msg *agentcore.Message) []byte {
	dst = append(dst, `{"role":"user","content":[`...)
	for i, b := range providers.UserParts(msg, m.info.Images, m.info.Documents) {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch b := b.(type) {
		case agentcore.Text:
			dst = append(providers.AppendString(append(dst, `{"type":"input_text","text":`...), b.Text), '}')
		case agentcore.Image:
			dst = appendInputImage(dst, b)
		case agentcore.Document:
			dst = append(dst, `{"type":"input_file","filename":`...)
			dst = providers.AppendString(dst, b.Name)
			dst = append(dst, `,"file_data":`...)
			dst = append(providers.AppendBase64(dst, "data:"+safeMIME(b.MIMEType)+";base64,", b.Data), '}')
		}
	}
	return append(dst, `]},`...)
}

func appendInputImage(dst []byte, img agentcore.Image) []byte {
	img = providers.FitImage(img)
	dst = append(dst, `{"type":"input_image","image_url":`...)
	return append(providers.AppendBase64(dst, "data:"+safeMIME(img.MIMEType)+";base64,", img.Data), '}')
}

// appendOutputItems encodes an assistant's message. A reasoning item is sent
// only before the item that it led to; alone it would be refused.
func (m *Model) appendOutputItems(dst []byte, s *providers.Step) []byte {
	var reasoning []byte
	for _, b := range s.Parts(true) {
		switch b := b.(type) {
		case agentcore.Thinking:
			if item := reasoningItem(b.Signature); item != nil {
				reasoning = append(append(reasoning, item...), ',')
			}
			continue
		case agentcore.Text:
			dst = append(dst, reasoning...)
			dst = append(dst, `{"role":"assistant","content":[{"type":"output_text","text":`...)
			dst = append(providers.AppendString(dst, b.Text), `}]},`...)
		case agentcore.ToolCall:
			dst = append(dst, reasoning...)
			dst = append(dst, `{"type":"function_call","call_id":`...)
			dst = providers.AppendString(dst, m.callID(s, b.ID))
			dst = append(dst, `,"name":`...)
			dst = providers.AppendString(dst, providers.WireName(b.Name))
			dst = append(dst, `,"arguments":`...)
			dst = append(providers.AppendString(dst, string(providers.Arguments(b.Arguments))), `},`...)
		}
		reasoning = nil
	}
	return dst
}

// callID returns a call's id as it is sent. An id of the form "call|item", from
// other programs' transcripts, is cut to its first part.
func (m *Model) callID(s *providers.Step, id string) string {
	if call, _, found := strings.Cut(id, "|"); found && call != "" {
		id = call
	}
	return s.WireID(id, m.traits.IDLength)
}

// reasoningItem returns a reasoning item as it is sent back: without its id,
// which means nothing where nothing is stored. Nil if it cannot be sent.
func reasoningItem(signature string) []byte {
	var item struct {
		Type      string          `json:"type"`
		Summary   json.RawMessage `json:"summary"`
		Encrypted string          `json:"encrypted_content"`
	}
	if !strings.HasPrefix(signature, "{") || json.Unmarshal([]byte(signature), &item) != nil ||
		item.Type != "reasoning" || item.Encrypted == "" {
		return nil
	}
	if len(item.Summary) == 0 || item.Summary[0] != '[' {
		item.Summary = json.RawMessage(`[]`)
	}
	return providers.AppendJSON(nil, item)
}

func (m *Model) appendCallOutput(dst []byte, s *providers.Step) []byte {
	dst = append(dst, `{"type":"function_call_output","call_id":`...)
	dst = providers.AppendString(dst, m.callID(s, s.Call.ID))
	dst = append(dst, `,"output":`...)
	text, images := s.ResultText(m.info.Images), s.Images(m.info.Images)
	if len(images) == 0 {
		return append(providers.AppendString(dst, text), `},`...)
	}
	dst = append(dst, '[')
	if text != "" {
		dst = append(providers.AppendString(append(dst, `{"type":"input_text","text":`...), text), `},`...)
	}
	for i, img := range images {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendInputImage(dst, img)
	}
	return append(dst, `]},`...)
}
