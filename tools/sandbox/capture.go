package sandbox

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// Capture keeps both ends of an output of any length in bounded memory. It is
// safe for concurrent use.
type Capture struct {
	mu    sync.Mutex
	half  int
	head  []byte
	tail  []byte // a ring once it is full
	at    int    // where the ring's next byte goes
	total int64
}

// NewCapture returns a capture that keeps at most limit bytes.
func NewCapture(limit int) *Capture { return &Capture{half: max(limit/2, 1)} }

// Write implements [io.Writer]; it never fails.
func (c *Capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	c.total += int64(n)
	if room := c.half - len(c.head); room > 0 {
		take := min(room, len(p))
		c.head = append(c.head, p[:take]...)
		p = p[take:]
	}
	if len(p) > c.half {
		p = p[len(p)-c.half:]
	}
	if room := c.half - len(c.tail); room > 0 {
		take := min(room, len(p))
		c.tail = append(c.tail, p[:take]...)
		p = p[take:]
	}
	for len(p) > 0 {
		k := copy(c.tail[c.at:], p)
		c.at = (c.at + k) % c.half
		p = p[k:]
	}
	return n, nil
}

// Total is how many bytes were written.
func (c *Capture) Total() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// String returns what was kept, and between the ends how much was not.
func (c *Capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := int64(len(c.head) + len(c.tail))
	if c.total == kept && c.at == 0 {
		return strings.ToValidUTF8(string(c.head)+string(c.tail), "\uFFFD")
	}
	head, tail := string(trimEnd(c.head)), string(c.tail[c.at:])+string(c.tail[:c.at])
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return strings.ToValidUTF8(fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", head, c.total-kept, tail), "\uFFFD")
}

// Last returns at most n bytes of the end, whole characters and, if possible,
// whole lines.
func (c *Capture) Last(n int) string {
	c.mu.Lock()
	var all string
	if len(c.tail) > 0 {
		all = string(c.tail[c.at:]) + string(c.tail[:c.at])
	}
	if len(all) < n && int64(len(c.head)+len(c.tail)) == c.total {
		all = string(c.head) + all
	}
	c.mu.Unlock()
	if len(all) > n {
		all = all[len(all)-n:]
		if i := strings.IndexByte(all, '\n'); i >= 0 && i < len(all)-1 {
			all = all[i+1:]
		}
	}
	return strings.ToValidUTF8(all, "\uFFFD")
}

// trimEnd leaves out a character that was cut.
func trimEnd(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i > len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}
