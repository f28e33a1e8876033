// Package logring keeps the latest lines of a log in memory, so that they can be
// looked at while the program runs. A line is copied once, into a buffer of a
// fixed size; what it says is read only when somebody looks.
package logring

import (
	"bytes"
	"sync"
)

// Size of a Ring in bytes.
const Size = 128 << 10

// maxLine is how much of one line is kept, in bytes.
const maxLine = 8 << 10

// Ring is an [io.Writer] that keeps the end of what was written. A write is a
// line, as slog's handlers write them. The zero value is ready, and takes its
// memory with the first line. It is safe for concurrent use.
type Ring struct {
	mu      sync.Mutex
	buf     []byte
	ends    []int64 // where the kept lines end, counted in bytes ever written
	start   int64   // where the first kept line begins
	first   int64   // its number
	waiting chan struct{}
}

// Write keeps a line. It never fails.
func (r *Ring) Write(line []byte) (int, error) {
	n := len(line)
	line = bytes.TrimRight(line, "\n")
	line = line[:min(len(line), maxLine)]
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.buf == nil {
		r.buf = make([]byte, Size)
	}
	end := r.end()
	for end+int64(len(line))-r.start > Size {
		r.start = r.ends[0]
		r.ends = r.ends[1:]
		r.first++
	}
	at := int(end % Size)
	if rest := copy(r.buf[at:], line); rest < len(line) {
		copy(r.buf, line[rest:])
	}
	r.ends = append(r.ends, end+int64(len(line)))
	if r.waiting != nil {
		close(r.waiting)
		r.waiting = nil
	}
	return n, nil
}

func (r *Ring) end() int64 {
	if n := len(r.ends); n > 0 {
		return r.ends[n-1]
	}
	return r.start
}

// Since returns the kept lines from number from on, oldest first, and the number
// of the line that comes next. The first line ever written is number 0.
func (r *Ring) Since(from int64) (lines []string, next int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next = r.first + int64(len(r.ends))
	for i := max(from-r.first, 0); i < int64(len(r.ends)); i++ {
		start := r.start
		if i > 0 {
			start = r.ends[i-1]
		}
		lines = append(lines, r.copy(start, r.ends[i]))
	}
	return lines, next
}

func (r *Ring) copy(start, end int64) string {
	out := make([]byte, end-start)
	at := int(start % Size)
	if n := copy(out, r.buf[at:]); n < len(out) {
		copy(out[n:], r.buf)
	}
	return string(out)
}

// More returns a channel that is closed when line number from is written; it
// may be already.
func (r *Ring) More(from int64) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first+int64(len(r.ends)) > from {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	if r.waiting == nil {
		r.waiting = make(chan struct{})
	}
	return r.waiting
}
