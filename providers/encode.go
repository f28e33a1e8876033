package providers

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. What is no UTF-8 is cleaned first
// (see [Clean]), so that no vendor is ever sent half a surrogate pair.
func AppendString(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = Clean(s)
	}
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c != 0xE2 {
			continue
		}
		if c == 0xE2 && !lineSeparator(s[i:]) {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case 0xE2:
			dst = append(dst, '\\', 'u', '2', '0', '2', hexDigits[s[i+2]&0xF])
			i += 2
			start = i + 1
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// lineSeparator reports whether s begins with U+2028 or U+2029, which some
// JavaScript servers stumble over.
func lineSeparator(s string) bool {
	return len(s) >= 3 && s[1] == 0x80 && s[2]&^1 == 0xA8
}

// AppendBase64 appends data as a JSON string in standard base64, after prefix,
// which must need no escaping.
func AppendBase64(dst []byte, prefix string, data []byte) []byte {
	dst = append(append(dst, '"'), prefix...)
	dst = base64.StdEncoding.AppendEncode(dst, data)
	return append(dst, '"')
}

// AppendJSON appends v, which must marshal, without escaping HTML.
func AppendJSON(dst []byte, v any) []byte {
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return append(dst, "null"...)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})
}

// Arguments returns a call's arguments as a JSON object on one line, as every
// vendor wants them back. What is not an object, because the model's text was
// cut or malformed, becomes {}; the transcript keeps what the model sent.
func Arguments(raw json.RawMessage) []byte {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) {
		return []byte("{}")
	}
	if !utf8.Valid(raw) {
		raw = []byte(Clean(string(raw)))
	}
	var buf bytes.Buffer
	buf.Grow(len(raw))
	if err := json.Compact(&buf, raw); err != nil {
		return []byte("{}")
	}
	return buf.Bytes()
}
