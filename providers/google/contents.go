package google

import (
	"encoding/base64"
	"strings"

	"clawbot/agentcore"
	"clawbot/providers"
)

// Variants of a message's encoding.
const (
	variantSame uint32 = 1 << iota
	variantNoCalls
	variantImages
)

// unsigned stands, by the vendor's word, for the signature of a call that
// another model made, which newer models demand of the first call of a message.
const unsigned = "skip_thought_signature_validator"

// resultImages introduces the images of results for models that don't take them
// inside a result.
const resultImages = "Tool result image:"

// A kind of content. Parts of results, and parts of a model, that follow one
// another share one content; each message of a user has its own.
type kind int

const (
	nothing kind = iota
	ofUser
	ofResults
	ofModel
)

// What stands between the parts of a request; never changed.
var (
	between   = []byte(`,`)
	openUser  = []byte(`{"role":"user","parts":[`)
	openModel = []byte(`{"role":"model","parts":[`)
	nextOne   = []byte(`]},`)
	lastOne   = []byte(`]}`)
)

// contents puts parts together.
type contents struct {
	body providers.Body
	open kind
}

func (c *contents) add(k kind, parts []byte) {
	if len(parts) == 0 {
		return
	}
	switch {
	case c.open == k && k != ofUser:
		c.body = append(c.body, between, parts)
		return
	case c.open != nothing:
		c.body = append(c.body, nextOne)
	}
	c.open = k
	opening := openUser
	if k == ofModel {
		opening = openModel
	}
	c.body = append(c.body, opening, parts)
}

// appendContents encodes steps. A segment is the parts of one message without
// their brackets.
func (m *Model) appendContents(body providers.Body, steps []providers.Step) providers.Body {
	c := contents{body: body}
	if len(steps) > 0 && steps[0].Role == agentcore.RoleAssistant { // the API wants to hear the user first
		c.add(ofUser, []byte(`{"text":"(conversation continued)"}`))
	}
	var images []byte
	for i := range steps {
		s := &steps[i]
		switch s.Role {
		case agentcore.RoleUser:
			c.add(ofUser, m.segment(s, 0, m.appendUser))
		case agentcore.RoleAssistant:
			c.add(ofModel, m.segment(s, 0, m.appendAssistant))
		case agentcore.RoleToolResult:
			c.add(ofResults, m.segment(s, 0, m.appendResult))
			if !m.imagesInResults() && len(s.Images(m.info.Images)) > 0 {
				images = append(images, m.segment(s, variantImages, m.appendResultImages)...)
			}
			if s.Last && len(images) > 0 {
				c.add(ofUser, append([]byte(`{"text":"`+resultImages+`"}`), images...))
				images = nil
			}
		}
	}
	switch c.open {
	case nothing:
		c.add(ofUser, []byte(`{"text":"."}`))
	case ofModel: // the API answers users, not itself
		c.add(ofUser, []byte(`{"text":"Go on."}`))
	}
	return append(c.body, lastOne)
}

func (m *Model) segment(s *providers.Step, variant uint32, encode func([]byte, *providers.Step) []byte) []byte {
	if s.Message == nil {
		return encode(nil, s)
	}
	if s.Same {
		variant |= variantSame
	}
	if s.NoCalls {
		variant |= variantNoCalls
	}
	return m.segments.Get(s.Message, variant, func(dst []byte) []byte { return encode(dst, s) })
}

// imagesInResults reports whether images are sent inside a functionResponse.
func (m *Model) imagesInResults() bool { return m.version >= 3 }

func comma(dst []byte) []byte {
	if len(dst) > 0 {
		return append(dst, ',')
	}
	return dst
}

func (m *Model) appendUser(dst []byte, s *providers.Step) []byte {
	for _, b := range providers.UserParts(s.Message, m.info.Images, m.info.Documents) {
		switch b := b.(type) {
		case agentcore.Text:
			dst = append(providers.AppendString(append(comma(dst), `{"text":`...), b.Text), '}')
		case agentcore.Image:
			dst = appendImage(comma(dst), b)
		case agentcore.Document:
			dst = appendData(comma(dst), b.MIMEType, b.Data)
		}
	}
	return dst
}

func appendImage(dst []byte, img agentcore.Image) []byte {
	img = providers.FitImage(img)
	if img.MIMEType == "" {
		img.MIMEType = "image/png"
	}
	return appendData(dst, img.MIMEType, img.Data)
}

func appendData(dst []byte, mime string, data []byte) []byte {
	dst = append(dst, `{"inlineData":{"mimeType":`...)
	dst = providers.AppendString(dst, mime)
	dst = append(dst, `,"data":`...)
	return append(providers.AppendBase64(dst, "", data), `}}`...)
}

// appendAssistant encodes a model's parts, each with the signature that it came
// with.
func (m *Model) appendAssistant(dst []byte, s *providers.Step) []byte {
	calls := 0
	for _, b := range s.Parts(true) {
		switch b := b.(type) {
		case agentcore.Text:
			dst = providers.AppendString(append(comma(dst), `{"text":`...), b.Text)
			dst = append(appendSignature(dst, b.Signature), '}')
		case agentcore.Thinking:
			dst = appendThinking(dst, b)
		case agentcore.ToolCall:
			if calls++; calls == 1 && m.version >= 3 && !signed(b.Signature) {
				b.Signature = unsigned
			}
			dst = append(comma(dst), `{"functionCall":{`...)
			dst = m.appendID(dst, s, b.ID)
			dst = providers.AppendString(append(dst, `"name":`...), wireName(b.Name))
			dst = append(dst, `,"args":`...)
			dst = append(append(dst, providers.Arguments(b.Arguments)...), '}')
			dst = append(appendSignature(dst, b.Signature), '}')
		}
	}
	return dst
}

// appendThinking sends thinking back only for its signature: without one, the
// model has no use for its own summary. A redacted one is a signature that came
// without anything to sign.
func appendThinking(dst []byte, t agentcore.Thinking) []byte {
	if !signed(t.Signature) {
		return dst
	}
	dst = providers.AppendString(append(comma(dst), `{"text":`...), t.Text)
	if !t.Redacted {
		dst = append(dst, `,"thought":true`...)
	}
	return append(appendSignature(dst, t.Signature), '}')
}

func appendSignature(dst []byte, signature string) []byte {
	if !signed(signature) {
		return dst
	}
	return providers.AppendString(append(dst, `,"thoughtSignature":`...), signature)
}

// signed reports whether s can be a signature: the API takes nothing but base64
// there, and what it says itself.
func signed(s string) bool {
	if s == "" || s == unsigned {
		return s != ""
	}
	s = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(s), "=")
	_, err := base64.RawStdEncoding.DecodeString(s)
	return err == nil
}

// appendID encodes the id of a call, or of its result, with a comma behind it:
// on both or on neither. The API itself knows only ids that it gave.
func (m *Model) appendID(dst []byte, s *providers.Step, id string) []byte {
	switch {
	case m.sendIDs:
		id = s.WireID(id, m.traits.IDLength)
	case !s.Same || id == "" || providers.MadeUp(id):
		return dst
	}
	return append(providers.AppendString(append(dst, `"id":`...), id), ',')
}

// wantsIDs reports whether a model behind this format is one of another vendor,
// whose calls and results find each other by id.
func wantsIDs(name string) bool {
	return strings.HasPrefix(name, "claude-") || strings.HasPrefix(name, "gpt-oss-")
}

func (m *Model) appendResult(dst []byte, s *providers.Step) []byte {
	dst = append(comma(dst), `{"functionResponse":{`...)
	dst = m.appendID(dst, s, s.Call.ID)
	dst = providers.AppendString(append(dst, `"name":`...), wireName(s.Call.Name))
	field := `,"response":{"output":`
	if s.Failed() {
		field = `,"response":{"error":`
	}
	text := s.ResultText(m.info.Images)
	if text == "" {
		text = "(see attached image)"
	}
	dst = append(providers.AppendString(append(dst, field...), text), '}')
	if images := s.Images(m.info.Images); len(images) > 0 && m.imagesInResults() {
		dst = append(dst, `,"parts":[`...)
		for i, img := range images {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendImage(dst, img)
		}
		dst = append(dst, ']')
	}
	return append(dst, `}}`...)
}

// appendResultImages encodes the images of a result, each with a comma before
// it.
func (m *Model) appendResultImages(dst []byte, s *providers.Step) []byte {
	for _, img := range s.Images(m.info.Images) {
		dst = appendImage(append(dst, ','), img)
	}
	return dst
}
