package providers

import "io"

// Body is a request body in segments, most of them shared with the cache; it is
// sent as it is, never put together. Its segments must not be changed.
type Body [][]byte

func (b Body) size() int64 {
	n := 0
	for _, s := range b {
		n += len(s)
	}
	return int64(n)
}

// Bytes puts the body together, for tests and logs.
func (b Body) Bytes() []byte {
	out := make([]byte, 0, b.size())
	for _, s := range b {
		out = append(out, s...)
	}
	return out
}

func (b Body) reader() io.ReadCloser { return &bodyReader{rest: b} }

type bodyReader struct {
	rest Body
	off  int
}

func (r *bodyReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && len(r.rest) > 0 {
		k := copy(p[n:], r.rest[0][r.off:])
		n += k
		r.off += k
		if r.off == len(r.rest[0]) {
			r.rest, r.off = r.rest[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (r *bodyReader) WriteTo(w io.Writer) (int64, error) {
	var total int64
	for len(r.rest) > 0 {
		n, err := w.Write(r.rest[0][r.off:])
		total += int64(n)
		r.off += n
		if err != nil {
			return total, err
		}
		r.rest, r.off = r.rest[1:], 0
	}
	return total, nil
}

func (r *bodyReader) Close() error { return nil }
