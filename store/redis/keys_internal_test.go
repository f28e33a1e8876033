package redis

import (
	"fmt"
	"strings"
	"testing"
)

// slot is the cluster's slot of a key: CRC16 (XMODEM) of what stands in the
// first braces, or of all.
func slot(key string) uint16 {
	if start := strings.IndexByte(key, '{'); start >= 0 {
		if end := strings.IndexByte(key[start+1:], '}'); end > 0 {
			key = key[start+1 : start+1+end]
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}

func TestTheSlotOfAKnownKey(t *testing.T) {
	// From the cluster specification: CRC16 of "123456789" is 0x31C3.
	if got := slot("123456789"); got != 0x31C3 {
		t.Fatalf("slot %x", got)
	}
}

func TestAllKeysOfACallShareASlot(t *testing.T) {
	l := newLayout("some:prefix")
	seen := map[uint16]bool{}
	for i := range 2000 {
		id := fmt.Sprintf("slack:T1:C%d:%d.%d", i, i*7, i)
		keys := append(l.session(id), l.seen(id, "event{x}}"), l.dead(id))
		for _, key := range keys {
			if slot(key) != slot(keys[0]) {
				t.Fatalf("%s and %s are in two slots", key, keys[0])
			}
		}
		seen[slot(keys[0])] = true
		if term := l.term("tg:1/" + id); slot(term[0]) != slot(term[1]) {
			t.Fatalf("a term's keys are in two slots: %q", term)
		}
	}
	if len(seen) != partitions {
		t.Errorf("%d slots are used, want %d", len(seen), partitions)
	}
	state := append(l.state(), l.deletion("n"))
	count := []string{l.counter("a{b}"), l.reservation("{x}"), l.windows()}
	for _, keys := range [][]string{state, count, l.probe()} {
		for _, key := range keys {
			if slot(key) != slot(keys[0]) {
				t.Errorf("%s and %s are in two slots", key, keys[0])
			}
		}
	}
}

func TestNoTwoSessionsShareAKey(t *testing.T) {
	l := newLayout("p")
	seen := map[string]string{}
	for _, id := range []string{"a", "a:in", "a:log", "in", "s:a", "a@in", "a.in"} {
		for _, key := range l.session(id)[:6] {
			if other, ok := seen[key]; ok {
				t.Errorf("%s and %s share %s", id, other, key)
			}
			seen[key] = id
		}
	}
}
