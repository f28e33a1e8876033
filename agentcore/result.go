package agentcore

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	defaultResultBytes = 256 << 10
	maxMediaBytes      = 20 << 20 // images and documents of one result
	maxDetailsBytes    = 1 << 20
)

func errorResult(text string) Result {
	return Result{Content: []Block{Text{Text: text}}, IsError: true}
}

func (r *run) resultMessage(call ToolCall, result Result) *Message {
	id, now := r.l.stamp()
	return &Message{
		ID: id, Role: RoleToolResult, Time: now, Content: result.Content,
		ToolCallID: call.ID, ToolName: call.Name, IsError: result.IsError, Details: result.Details,
	}
}

// bounded returns content of bounded size and of known shape: no pointers, no
// nil blocks, valid UTF-8, and never nothing at all.
func (r *run) bounded(content []Block) []Block {
	limit := r.l.cfg.MaxResultBytes
	if limit <= 0 {
		limit = defaultResultBytes
	}
	if len(content) == 1 {
		if t, ok := content[0].(Text); ok && t.Text != "" && len(t.Text) <= limit && utf8.ValidString(t.Text) {
			return content
		}
	}
	out := make([]Block, 0, len(content))
	media := maxMediaBytes
	for _, b := range content {
		switch b := value(b).(type) {
		case nil, ToolCall:
		case Text:
			b.Text = headAndTail(b.Text, limit)
			limit = max(limit-len(b.Text), 0)
			out = append(out, b)
		case Image:
			out = append(out, fit(b, len(b.Data), &media, "image"))
		case Document:
			out = append(out, fit(b, len(b.Data), &media, "document"))
		default:
			out = append(out, b)
		}
	}
	if len(out) == 0 || len(out) == 1 && out[0] == Block(Text{}) {
		out = []Block{Text{Text: "(no output)"}}
	}
	return out
}

// fit replaces media for which there is no room left by a text that says so.
func fit[B Block](b B, size int, left *int, kind string) Block {
	if size > *left {
		return Text{Text: fmt.Sprintf("(%s of %d bytes left out: too large)", kind, size)}
	}
	*left -= size
	return b
}

// headAndTail keeps the ends of a text that is longer than limit bytes, and
// says between them how much is missing.
func headAndTail(text string, limit int) string {
	if len(text) > limit {
		head, tail := limit/2, len(text)-(limit-limit/2)
		for head > 0 && !utf8.RuneStart(text[head]) {
			head--
		}
		for tail < len(text) && !utf8.RuneStart(text[tail]) {
			tail++
		}
		text = fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", text[:head], tail-head, text[tail:])
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return text
}

// boundedDetails keeps details valid JSON of bounded size.
func boundedDetails(details json.RawMessage) json.RawMessage {
	switch {
	case len(details) == 0:
		return nil
	case len(details) > maxDetailsBytes:
		return json.RawMessage(fmt.Sprintf(`{"leftOut":%d}`, len(details)))
	case !json.Valid(details):
		text, _ := json.Marshal(string(details)) // a string always encodes
		return text
	}
	return details
}
