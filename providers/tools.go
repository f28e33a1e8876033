package providers

import (
	"bytes"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"

	"clawbot/agentcore"
)

// WireName returns name as vendors accept it: [A-Za-z0-9_-], at most 64
// characters. A name that had to be changed ends in a hash of the original, so
// that two names never become one; it is the same in every request.
func WireName(name string) string { return wire(name, 64) }

// WireID returns a tool call id as vendors accept it, at most length
// characters; 0 means 64. Pairs stay pairs, for it depends on id alone.
func WireID(id string, length int) string {
	if length <= 0 {
		length = 64
	}
	return wire(id, length)
}

func wire(s string, length int) string {
	ok := s != "" && len(s) <= length
	for i := 0; i < len(s) && ok; i++ {
		ok = wireChar(s[i])
	}
	if ok {
		return s
	}
	h := fnv.New64a()
	h.Write([]byte(s))
	suffix := strconv.FormatUint(h.Sum64(), 36)
	suffix = suffix[max(0, len(suffix)-8):]
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() < length-len(suffix)-1; i++ {
		if wireChar(s[i]) {
			b.WriteByte(s[i])
		} else if s[i] < 0x80 || s[i] >= 0xC0 {
			b.WriteByte('_')
		}
	}
	return b.String() + "_" + suffix
}

func wireChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// LocalName maps a name that a model used back to the tool it was told of.
func LocalName(tools []agentcore.ToolSpec, name string) string {
	for i := range tools {
		if tools[i].Name == name {
			return name
		}
	}
	for i := range tools {
		if WireName(tools[i].Name) == name {
			return tools[i].Name
		}
	}
	return name
}

// Schema returns a tool's schema, {"type":"object","properties":{}} if it has
// none.
func Schema(t agentcore.ToolSpec) []byte {
	s := bytes.TrimSpace(t.Schema)
	if len(s) == 0 || s[0] != '{' {
		return []byte(`{"type":"object","properties":{}}`)
	}
	return s
}

// ToolCache keeps encoded lists of tools, the same bytes for the same tools.
// It is safe for concurrent use, and ready when zero.
type ToolCache struct {
	mu      sync.Mutex
	entries []toolEntry // most recent last
}

type toolEntry struct {
	tools   []agentcore.ToolSpec
	encoded []byte
}

// maxToolLists bounds the lists kept: one per role and channel is the use.
const maxToolLists = 16

// Get returns tools as encode encoded them. The result must not be changed.
func (c *ToolCache) Get(tools []agentcore.ToolSpec, encode func([]agentcore.ToolSpec) []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range slices.Backward(c.entries) {
		if sameTools(e.tools, tools) {
			copy(c.entries[i:], c.entries[i+1:])
			c.entries[len(c.entries)-1] = e
			return e.encoded
		}
	}
	if len(c.entries) == maxToolLists {
		c.entries = append(c.entries[:0], c.entries[1:]...)
	}
	e := toolEntry{tools: append([]agentcore.ToolSpec(nil), tools...), encoded: encode(tools)}
	c.entries = append(c.entries, e)
	return e.encoded
}

func sameTools(a, b []agentcore.ToolSpec) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Description != b[i].Description || !bytes.Equal(a[i].Schema, b[i].Schema) {
			return false
		}
	}
	return true
}

// ShortID returns id as nine alphanumerics, which is all that Mistral takes: id
// itself if it is that already, else a hash of it.
func ShortID(id string) string {
	const length, letters = 9, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	ok := len(id) == length
	for i := 0; i < len(id) && ok; i++ {
		ok = wireChar(id[i]) && id[i] != '_' && id[i] != '-'
	}
	if ok {
		return id
	}
	h := fnv.New64a()
	h.Write([]byte(id))
	n := h.Sum64()
	var out [length]byte
	for i := range out {
		out[i] = letters[n%62]
		n /= 62
	}
	return string(out[:])
}
