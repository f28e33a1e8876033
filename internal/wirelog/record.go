package wirelog

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"clawbot/internal/redact"
)

// record is the file of one call. What is written to it is held back line by
// line, since a secret may come in two pieces. It is used by the transport's
// goroutines, which read the request while the response comes.
type record struct {
	redact *redact.Redactor

	mu     sync.Mutex
	file   *os.File
	line   []byte
	failed bool // the disk is full, perhaps: the call goes on
}

// maxLine bounds the text that is held back for its end.
const maxLine = 1 << 20

func (r *record) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(r, format, args...) // Write keeps its failure
}

// Write implements [io.Writer]; it never fails.
func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line = append(r.line, p...)
	end := bytes.LastIndexByte(r.line, '\n') + 1
	if end == 0 && len(r.line) > maxLine {
		end = len(r.line)
	}
	r.flush(end)
	return len(p), nil
}

// flush writes the first n bytes of what is held back.
func (r *record) flush(n int) {
	if n > 0 && !r.failed && r.file != nil {
		_, err := r.file.WriteString(r.redact.String(string(r.line[:n])))
		r.failed = err != nil
	}
	r.line = append(r.line[:0], r.line[n:]...)
}

func (r *record) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush(len(r.line))
	if r.file != nil {
		_ = r.file.Close() // nothing is left to do about it
		r.file = nil
	}
}

// request notes a request and returns it with a body that is noted as it is
// read.
func (r *record) request(req *http.Request) *http.Request {
	r.printf("--- %s\n%s %s\n", time.Now().UTC().Format(time.RFC3339Nano), req.Method, req.URL.Redacted())
	r.headers(req.Header)
	if req.Body == nil {
		return req
	}
	own := *req
	own.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(req.Body, r), req.Body}
	return &own
}

// response notes an answer; the record is closed with its body.
func (r *record) response(resp *http.Response) {
	r.printf("\n\n--- %s\n%s %s\n", time.Now().UTC().Format(time.RFC3339Nano), resp.Proto, resp.Status)
	r.headers(resp.Header)
	resp.Body = &body{resp.Body, r}
}

// headers notes header fields without the values of those that let somebody in,
// whether or not their values are known secrets.
func (r *record) headers(h http.Header) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		value := strings.Join(h[name], ", ")
		for _, word := range []string{"auth", "key", "token", "secret", "cookie"} {
			if strings.Contains(strings.ToLower(name), word) && !strings.Contains(strings.ToLower(name), "tokens") {
				value = redact.Mask
			}
		}
		r.printf("%s: %s\n", name, value)
	}
	r.printf("\n")
}

type body struct {
	io.ReadCloser
	rec *record
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	_, _ = b.rec.Write(p[:n])
	if err != nil && err != io.EOF {
		b.rec.printf("\n--- the answer broke off: %v\n", err)
	}
	return n, err
}

func (b *body) Close() error {
	defer b.rec.close()
	return b.ReadCloser.Close()
}
