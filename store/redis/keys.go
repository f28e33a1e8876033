package redis

import (
	"fmt"
	"hash/fnv"
)

// partitions is part of the format: keys move if it changes.
const partitions = 64

// layout names the keys below a prefix.
type layout struct {
	prefix string
	parts  [partitions]string // "<prefix>:{pNN}:"
}

func newLayout(prefix string) layout {
	l := layout{prefix: prefix}
	for i := range l.parts {
		l.parts[i] = fmt.Sprintf("%s:{p%02d}:", prefix, i)
	}
	return l
}

// part is what all keys of a session or term begin with.
func (l *layout) part(name string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return l.parts[h.Sum32()%partitions]
}

// session returns the keys that scripts/session.lua names. A slash is in no
// session id, so no two sessions share a key.
func (l *layout) session(id string) []string {
	part := l.part(id)
	base := part + "s:" + id
	return []string{base, base + "/in", base + "/sig", base + "/log", base + "/open", base + "/reply", part + "due", part + "act"}
}

func (l *layout) seen(session, event string) string {
	return l.part(session) + "dd:" + session + "/" + event
}
func (l *layout) dead(session string) string { return l.part(session) + "dead" }
func (l *layout) term(name string) []string {
	key := l.part(name) + "term:" + name
	return []string{key, key + "/v"}
}

// all returns the key of that name in every partition.
func (l *layout) all(name string) []string {
	keys := make([]string, partitions)
	for i, part := range l.parts {
		keys[i] = part + name
	}
	return keys
}

func (l *layout) state() []string {
	tag := l.prefix + ":{state}:"
	return []string{tag + "values", tag + "names", tag + "version"}
}

func (l *layout) deletion(nonce string) string { return l.prefix + ":{state}:deleted:" + nonce }
func (l *layout) counter(key string) string    { return l.prefix + ":{count}:sum:" + key }
func (l *layout) reservation(id string) string { return l.prefix + ":{count}:res:" + id }
func (l *layout) windows() string              { return l.prefix + ":{count}:windows" }
func (l *layout) blob(nonce string) string     { return l.part(nonce) + "blob:" + nonce }
func (l *layout) reference(ref string) []string {
	part := l.part(ref)
	return []string{part + "ref:" + ref, part + "refs"}
}
func (l *layout) mark() string                { return l.prefix + ":meta" }
func (l *layout) channel(topic string) string { return l.prefix + ":bus:" + topic }
func (l *layout) probe() []string {
	tag := l.parts[0] + "probe"
	return []string{tag + "/s", tag + "/l", tag + "/h", tag + "/z"}
}
