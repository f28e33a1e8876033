package logring

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
)

// Line is what a line of slog's text or JSON handler says.
type Line struct {
	Time    string  `json:"time,omitempty"`
	Level   string  `json:"level,omitempty"` // DEBUG, INFO, WARN, ERROR, or with an offset
	Message string  `json:"msg"`
	Fields  []Field `json:"fields,omitempty"`
}

// Field is an attribute, in the order of the line.
type Field struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Parse reads a line. One that is in neither form is a message.
func Parse(text string) Line {
	var line Line
	fields, ok := parseJSON(text)
	if !ok {
		if fields, ok = parseText(text); !ok {
			return Line{Message: text}
		}
	}
	for _, f := range fields {
		switch {
		case f.Key == "time" && line.Time == "":
			line.Time = f.Value
		case f.Key == "level" && line.Level == "":
			line.Level = f.Value
		case f.Key == "msg" && line.Message == "":
			line.Message = f.Value
		default:
			line.Fields = append(line.Fields, f)
		}
	}
	return line
}

// Get returns a field's value, empty if the line has none.
func (l *Line) Get(key string) string {
	for _, f := range l.Fields {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

func parseJSON(text string) (fields []Field, ok bool) {
	if !strings.HasPrefix(text, "{") {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, false
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, false
		}
		name, _ := key.(string)
		var s string
		if json.Unmarshal(value, &s) != nil {
			s = string(value)
		}
		fields = append(fields, Field{name, s})
	}
	return fields, true
}

func parseText(text string) (fields []Field, ok bool) {
	if !strings.HasPrefix(text, "time=") {
		return nil, false
	}
	for text = strings.TrimLeft(text, " "); text != ""; text = strings.TrimLeft(text, " ") {
		var f Field
		if f.Key, text, ok = word(text, '='); !ok || !strings.HasPrefix(text, "=") {
			return nil, false
		}
		if f.Value, text, ok = word(text[1:], ' '); !ok {
			return nil, false
		}
		fields = append(fields, f)
	}
	return fields, true
}

// word takes a word, quoted or up to end, from the beginning of s.
func word(s string, end rune) (value, rest string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		q, err := strconv.QuotedPrefix(s)
		if err != nil {
			return "", "", false
		}
		value, err = strconv.Unquote(q)
		return value, s[len(q):], err == nil
	}
	i := strings.IndexFunc(s, func(r rune) bool { return r == end || unicode.IsSpace(r) })
	if i < 0 {
		i = len(s)
	}
	return s[:i], s[i:], true
}
