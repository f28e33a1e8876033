package telegram

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// richDepth bounds how deep blocks are looked into; Telegram allows 16.
const richDepth = 64

// flatten gives a message that has only rich text the plain text of it, see
// https://core.telegram.org/bots/api#richmessage: each kind of block keeps what
// it says under "text", which is a text, an object with a text, or a list of
// these.
func (m *message) flatten() {
	if len(m.Rich) == 0 || m.Text != "" || m.Caption != "" {
		return
	}
	var v any
	if json.Unmarshal(m.Rich, &v) != nil {
		return
	}
	var b strings.Builder
	collect(&b, v, false, 0)
	m.Text = strings.TrimSpace(b.String())
	// Mentions and commands have no entities there.
	var word string
	for at := 0; at < len(m.Text); at += len(word) + 1 {
		word, _, _ = strings.Cut(m.Text[at:], " ")
		var kind string
		switch {
		case strings.HasPrefix(word, "@"):
			kind = "mention"
		case strings.HasPrefix(word, "/") && at == 0:
			kind = "bot_command"
		default:
			continue
		}
		name := strings.TrimRight(word, ",.:;!?")
		m.Entities = append(m.Entities, entity{Type: kind, Offset: units(m.Text[:at]), Length: units(name)})
	}
}

// collect writes the texts of v; in a text, strings count as such.
func collect(b *strings.Builder, v any, text bool, depth int) {
	if depth > richDepth {
		return
	}
	switch v := v.(type) {
	case string:
		if text {
			b.WriteString(v)
		}
	case []any:
		for _, each := range v {
			collect(b, each, text, depth+1)
			if !text {
				line(b)
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			collect(b, v[key], key == "text", depth+1)
		}
	}
}

// line ends the line that was begun.
func line(b *strings.Builder) {
	if s := b.String(); s != "" && s[len(s)-1] != '\n' {
		b.WriteByte('\n')
	}
}
