package openai

import (
	"encoding/json"
	"strings"

	"clawbot/providers"
)

// detailsMark begins the signature of thinking that came as OpenRouter's
// reasoning_details, which it wants back as it was.
const detailsMark = "details:"

// details joins the reasoning_details of a stream: pieces with the same index
// are one detail, whose text, summary and data grow.
// https://openrouter.ai/docs/use-cases/reasoning-tokens
type details struct {
	list []map[string]json.RawMessage
	at   map[string]int
}

// add takes the raw array of one delta and returns the text in it. What is not
// as documented is left out.
func (d *details) add(raw []byte) (text string) {
	var pieces []map[string]json.RawMessage
	if json.Unmarshal(raw, &pieces) != nil {
		return ""
	}
	var out strings.Builder
	for _, piece := range pieces {
		for _, field := range []string{"text", "summary"} {
			out.WriteString(stringOf(piece[field]))
		}
		d.join(piece)
	}
	return out.String()
}

func (d *details) join(piece map[string]json.RawMessage) {
	key := string(piece["type"]) + " " + string(piece["index"])
	i, known := d.at[key]
	if !known || len(piece["index"]) == 0 {
		if d.at == nil {
			d.at = make(map[string]int)
		}
		d.at[key] = len(d.list)
		d.list = append(d.list, piece)
		return
	}
	whole := d.list[i]
	for field, value := range piece {
		switch field {
		case "text", "summary", "data":
			if more := stringOf(value); more != "" {
				whole[field] = providers.AppendString(nil, stringOf(whole[field])+more)
			}
		default:
			if string(value) != "null" {
				whole[field] = value
			}
		}
	}
}

func stringOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// signature is what keeps the details with the thinking; empty if there are
// none.
func (d *details) signature() string {
	if len(d.list) == 0 {
		return ""
	}
	raw, err := json.Marshal(d.list)
	if err != nil {
		return "" // the pieces were JSON
	}
	return detailsMark + string(raw)
}

// detailsOf returns the array that a signature keeps.
func detailsOf(signature string) (json.RawMessage, bool) {
	raw, ok := strings.CutPrefix(signature, detailsMark)
	return json.RawMessage(raw), ok && json.Valid([]byte(raw))
}
