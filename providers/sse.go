package providers

import (
	"bytes"
	"errors"
	"io"
)

// MaxEvent bounds one event of a stream, in bytes. Inline images of a model
// are the longest honest events.
const MaxEvent = 16 << 20

// errEventTooLong is what a stream fails with whose event exceeds MaxEvent.
var errEventTooLong = errors.New("an event of the stream is longer than 16 MB")

// maxStray bounds how much of a body that is no event stream is kept for the
// error message.
const maxStray = 4 << 10

// SSE reads server-sent events as the WHATWG describes them: lines may end in
// CR, LF or CRLF, split between reads wherever they like; data lines are joined
// by LF; comments, ids and unknown fields are skipped, and so is a byte order
// mark. It differs in two things, because servers do: an event that is not
// closed by an empty line before the end counts, and one without data does not.
//
// It costs O(bytes) and copies an event only if it was split between reads or
// has several data lines.
type SSE struct {
	r   io.Reader
	max int

	buf     []byte
	pos     int // next unread byte
	scanned int // no line end before here
	end     int // bytes in buf
	skipLF  bool
	started bool
	err     error

	name  []byte
	data  []byte // of the open event: a slice of buf, or of joined
	own   bool   // data is in joined
	has   bool
	join  []byte
	stray []byte
}

// Event is one event. Its slices are valid until the next call of Next.
type Event struct {
	Name []byte
	Data []byte
}

// NewSSE returns a reader of the events in r. An event longer than max bytes is
// an error; 0 means [MaxEvent].
func NewSSE(r io.Reader, max int) *SSE {
	if max <= 0 {
		max = MaxEvent
	}
	return &SSE{r: r, max: max, buf: make([]byte, 4<<10)}
}

// Next returns the next event that has data. At the end it returns io.EOF; any
// other error is that of the underlying reader, or says that an event was too
// long. Errors are sticky.
func (s *SSE) Next() (Event, error) {
	s.name, s.data, s.join, s.has, s.own = s.name[:0], nil, s.join[:0], false, false
	for {
		line, err := s.line()
		if err != nil {
			if errors.Is(err, io.EOF) && s.has && len(s.data) > 0 {
				s.has = false
				return Event{Name: s.name, Data: s.data}, nil
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if s.has && len(s.data) > 0 {
				return Event{Name: s.name, Data: s.data}, nil
			}
			s.name, s.data, s.join, s.has, s.own = s.name[:0], nil, s.join[:0], false, false
			continue
		}
		if err := s.field(line); err != nil {
			s.err = err
			return Event{}, err
		}
	}
}

// Stray returns the beginning of what the body held that belongs to no event.
// A proxy's page or a bare JSON error shows up here.
func (s *SSE) Stray() []byte { return s.stray }

func (s *SSE) field(line []byte) error {
	name, value, found := bytes.Cut(line, []byte{':'})
	if found && len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "data":
		return s.addData(value)
	case "event":
		s.name = append(s.name[:0], value...)
	case "", "id", "retry":
	default:
		if room := maxStray - len(s.stray); room > 0 {
			s.stray = append(s.stray, line[:min(room, len(line))]...)
			s.stray = append(s.stray, '\n')
		}
	}
	return nil
}

func (s *SSE) addData(value []byte) error {
	if !s.has {
		s.has, s.data = true, value
		return nil
	}
	if len(s.data)+len(value) >= s.max {
		return errEventTooLong
	}
	s.keep()
	s.join = append(append(s.join, '\n'), value...)
	s.data = s.join
	return nil
}

// keep moves the open event out of the read buffer, which is about to change.
func (s *SSE) keep() {
	if s.has && !s.own {
		s.join = append(s.join[:0], s.data...)
		s.data, s.own = s.join, true
	}
}

// line returns the next line without its end. A CR ends a line at once; the LF
// that may follow it is skipped when it comes, so an event is never held back
// for one byte.
func (s *SSE) line() ([]byte, error) {
	for {
		if s.skipLF && s.pos < s.end {
			s.skipLF = false
			if s.buf[s.pos] == '\n' {
				s.pos++
				s.scanned = max(s.scanned, s.pos)
			}
		}
		if at := lineEnd(s.buf[s.scanned:s.end]); at >= 0 {
			at += s.scanned
			line := s.buf[s.pos:at]
			s.skipLF = s.buf[at] == '\r'
			s.pos, s.scanned = at+1, at+1
			return s.first(line), nil
		}
		s.scanned = s.end
		if s.err != nil {
			if errors.Is(s.err, io.EOF) && s.pos < s.end {
				line := s.buf[s.pos:s.end]
				s.pos = s.end
				return s.first(line), nil
			}
			return nil, s.err
		}
		s.fill()
	}
}

func (s *SSE) first(line []byte) []byte {
	if !s.started {
		s.started = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return line
}

func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

func (s *SSE) fill() {
	if s.pos > 0 || s.end == len(s.buf) {
		s.keep()
	}
	if s.pos > 0 {
		copy(s.buf, s.buf[s.pos:s.end])
		s.end -= s.pos
		s.scanned -= s.pos
		s.pos = 0
	}
	if s.end == len(s.buf) {
		if s.end >= s.max {
			s.err = errEventTooLong
			return
		}
		s.buf = append(s.buf, make([]byte, min(len(s.buf), s.max-len(s.buf)))...)
	}
	for range 100 {
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		if err != nil {
			s.err = err
			return
		}
		if n > 0 {
			return
		}
	}
	s.err = io.ErrNoProgress
}
