package providers

import (
	"slices"
	"sync"

	"clawbot/agentcore"
)

// segmentBytes bounds a model's cache of encoded messages.
const segmentBytes = 16 << 20

// Segments keeps messages as they were encoded, so that a turn encodes only
// what is new. A segment is keyed by the message's id and by what of the
// request its encoding depends on (variant); messages without an id are not
// kept. A copy of a message whose content was replaced is told apart by its
// size, block by block.
//
// It is bounded: what was not used since the other half was filled is dropped.
// It is safe for concurrent use, and ready when zero.
type Segments struct {
	mu       sync.Mutex
	young    map[segmentKey][]byte
	old      map[segmentKey][]byte
	size     int
	encoded  int
	reused   int
	maxBytes int // segmentBytes unless a test says otherwise
}

type segmentKey struct {
	id      string
	variant uint32
	shape   uint64
}

// Get returns the segment of m, calling encode to append it to an empty slice
// if it is not there. The result is shared: it must not be changed.
func (s *Segments) Get(m *agentcore.Message, variant uint32, encode func(dst []byte) []byte) []byte {
	if m == nil || m.ID == "" {
		s.mu.Lock()
		s.encoded++
		s.mu.Unlock()
		return encode(nil)
	}
	key := segmentKey{m.ID, variant, shapeOf(m)}
	s.mu.Lock()
	seg, ok := s.young[key]
	if !ok {
		if seg, ok = s.old[key]; ok {
			s.put(key, seg)
		}
	}
	if ok {
		s.reused++
		s.mu.Unlock()
		return seg
	}
	s.encoded++
	s.mu.Unlock()
	seg = encode(nil)
	seg = slices.Clip(seg)
	s.mu.Lock()
	s.put(key, seg)
	s.mu.Unlock()
	return seg
}

func (s *Segments) put(key segmentKey, seg []byte) {
	limit := s.maxBytes
	if limit == 0 {
		limit = segmentBytes
	}
	cost := len(seg) + len(key.id) + 64
	if cost > limit/4 {
		return
	}
	if s.young == nil || s.size+cost > limit/2 {
		s.old, s.young, s.size = s.young, make(map[segmentKey][]byte), 0
	}
	s.young[key] = seg
	s.size += cost
}

// Counts returns how many segments were encoded and how many reused.
func (s *Segments) Counts() (encoded, reused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.encoded, s.reused
}

// shapeOf is a cheap fingerprint of what a copy of a message may differ in.
func shapeOf(m *agentcore.Message) uint64 {
	h := uint64(14695981039346656037)
	mix := func(n int) { h = (h ^ uint64(n)) * 1099511628211 }
	mix(len(m.Content))
	mix(len(m.Stop))
	if m.IsError {
		mix(1)
	}
	for _, b := range m.Content {
		switch b := b.(type) {
		case agentcore.Text:
			mix(len(b.Text))
		case agentcore.Thinking:
			mix(len(b.Text) + len(b.Signature)<<32)
		case agentcore.Image:
			mix(len(b.Data) + 1<<40)
		case agentcore.Document:
			mix(len(b.Data) + 1<<41)
			mix(len(b.Text) + 1<<42)
		case agentcore.ToolCall:
			mix(len(b.Arguments) + len(b.ID)<<32)
		}
	}
	return h
}
