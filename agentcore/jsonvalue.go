package agentcore

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"unicode/utf8"
)

// Bounds on the arguments of one call. No model's output comes near them; they
// keep the memory that a hostile one can make us use small.
const (
	maxArguments    = 1 << 20 // bytes
	maxDepth        = 100     // nested arrays and objects
	maxValues       = 250_000 // values, each times its depth, as validating them costs
	maxNumberDigits = 1000
	maxExponent     = 400 // of a number: arithmetic on it is exact
)

// parseJSON decodes one JSON value strictly into what encoding/json makes with
// UseNumber: nil, bool, json.Number, string, []any and map[string]any.
// Duplicate keys, invalid UTF-8, deep nesting and numbers beyond all use are
// errors. plain reports that no number has a fraction or an exponent.
func parseJSON(data []byte) (v any, plain bool, err error) {
	if len(data) > maxArguments {
		return nil, false, &jsonError{what: fmt.Sprintf("%d bytes are too much: the limit is %d", len(data), maxArguments)}
	}
	if !utf8.Valid(data) {
		return nil, false, &jsonError{what: "not valid UTF-8"}
	}
	p := jsonParser{data: data, plain: true}
	p.space()
	v, err = p.value(0)
	if err != nil {
		return nil, false, err
	}
	if p.space(); p.pos < len(data) {
		return nil, false, p.unexpected("after the value")
	}
	return v, p.plain, nil
}

// jsonError says what is wrong with JSON text.
type jsonError struct {
	path string // JSON Pointer, where known
	what string
}

func (e *jsonError) Error() string { return e.what }

type jsonParser struct {
	data  []byte
	pos   int
	plain bool
	count int // towards maxValues
}

func (p *jsonParser) space() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *jsonParser) unexpected(where string) error {
	if p.pos >= len(p.data) {
		return &jsonError{what: "the JSON text ends too early " + where}
	}
	r, _ := utf8.DecodeRune(p.data[p.pos:])
	return &jsonError{what: fmt.Sprintf("invalid JSON: unexpected %q %s, at byte %d", r, where, p.pos)}
}

func (p *jsonParser) value(depth int) (any, error) {
	if p.pos >= len(p.data) {
		return nil, p.unexpected("where a value is expected")
	}
	if p.count += depth + 1; p.count > maxValues {
		return nil, &jsonError{what: "too many values for one call; send less at once"}
	}
	switch c := p.data[p.pos]; {
	case c == '{':
		return p.object(depth + 1)
	case c == '[':
		return p.array(depth + 1)
	case c == '"':
		return p.string()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case p.literal("true"):
		return true, nil
	case p.literal("false"):
		return false, nil
	case p.literal("null"):
		return nil, nil
	}
	return nil, p.unexpected("where a value is expected")
}

func (p *jsonParser) literal(word string) bool {
	if len(p.data)-p.pos < len(word) || string(p.data[p.pos:p.pos+len(word)]) != word {
		return false
	}
	p.pos += len(word)
	return true
}

func (p *jsonParser) object(depth int) (any, error) {
	if depth > maxDepth {
		return nil, tooDeep()
	}
	p.pos++
	obj := make(map[string]any)
	for p.space(); !p.literal("}"); p.space() {
		if len(obj) > 0 {
			if !p.literal(",") {
				return nil, p.unexpected("in an object")
			}
			p.space()
		}
		if p.pos >= len(p.data) || p.data[p.pos] != '"' {
			return nil, p.unexpected("where a key is expected")
		}
		key, err := p.string()
		if err != nil {
			return nil, err
		}
		if _, ok := obj[key]; ok {
			return nil, &jsonError{path: pointer(key), what: "Duplicate key"}
		}
		if p.space(); !p.literal(":") {
			return nil, p.unexpected("after a key")
		}
		p.space()
		if obj[key], err = p.value(depth); err != nil {
			return nil, under(key, err)
		}
	}
	return obj, nil
}

func (p *jsonParser) array(depth int) (any, error) {
	if depth > maxDepth {
		return nil, tooDeep()
	}
	p.pos++
	items := []any{}
	for p.space(); !p.literal("]"); p.space() {
		if len(items) > 0 {
			if !p.literal(",") {
				return nil, p.unexpected("in an array")
			}
			p.space()
		}
		item, err := p.value(depth)
		if err != nil {
			return nil, under(fmt.Sprint(len(items)), err)
		}
		items = append(items, item)
	}
	return items, nil
}

func tooDeep() error {
	return &jsonError{what: fmt.Sprintf("nested more than %d levels deep", maxDepth)}
}

// under puts key before the path of an error that has one.
func under(key string, err error) error {
	if e := (*jsonError)(nil); errors.As(err, &e) && e.path != "" {
		e.path = pointer(key) + e.path
	}
	return err
}

// pointer makes a key a token of a JSON Pointer (RFC 6901), its slash included.
func pointer(key string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

func (p *jsonParser) string() (string, error) {
	start := p.pos
	escaped := false
	for p.pos++; p.pos < len(p.data); p.pos++ {
		switch c := p.data[p.pos]; {
		case c == '"':
			p.pos++
			if !escaped {
				return string(p.data[start+1 : p.pos-1]), nil
			}
			var s string
			if err := json.Unmarshal(p.data[start:p.pos], &s); err != nil {
				return "", &jsonError{what: fmt.Sprintf("invalid JSON: a bad escape in the string at byte %d", start)}
			}
			return s, nil
		case c == '\\':
			escaped = true
			p.pos++
		case c < ' ':
			return "", p.unexpected("in a string (escape it)")
		}
	}
	return "", p.unexpected("in a string")
}

func (p *jsonParser) number() (any, error) {
	start := p.pos
	p.literal("-")
	if !p.literal("0") && p.digits() == 0 {
		return nil, p.unexpected("in a number")
	}
	if p.literal(".") {
		p.plain = false
		if p.digits() == 0 {
			return nil, p.unexpected("in a number")
		}
	}
	if p.literal("e") || p.literal("E") {
		p.plain = false
		if !p.literal("+") {
			p.literal("-")
		}
		if p.digits() == 0 {
			return nil, p.unexpected("in a number")
		}
	}
	text := string(p.data[start:p.pos])
	if !reasonable(text) {
		return nil, &jsonError{what: fmt.Sprintf("the number at byte %d is too large or too precise", start)}
	}
	return json.Number(text), nil
}

func (p *jsonParser) digits() int {
	start := p.pos
	for p.pos < len(p.data) && p.data[p.pos] >= '0' && p.data[p.pos] <= '9' {
		p.pos++
	}
	return p.pos - start
}

// reasonable reports whether exact arithmetic on the number is cheap.
func reasonable(number string) bool {
	if len(number) > maxNumberDigits {
		return false
	}
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		exp := strings.TrimLeft(strings.TrimLeft(number[i+1:], "+-"), "0")
		n := 0
		for _, c := range exp {
			if n = n*10 + int(c-'0'); n > maxExponent {
				return false
			}
		}
	}
	return true
}

// hashJSON hashes a decoded value; the order of keys does not matter.
func hashJSON(seed maphash.Seed, v any) uint64 {
	switch v := v.(type) {
	case string:
		return maphash.String(seed, v)
	case json.Number:
		return maphash.String(seed, string(v)) ^ 1
	case bool:
		if v {
			return 3
		}
		return 5
	case []any:
		h := uint64(7)
		for _, item := range v {
			h = h*0x9E3779B97F4A7C15 + hashJSON(seed, item)
		}
		return h
	case map[string]any:
		h := uint64(11)
		for key, item := range v {
			h += (maphash.String(seed, key) | 1) * (hashJSON(seed, item) + 13)
		}
		return h
	}
	return 17
}
