package providers

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// events reads all of r, as name=data.
func events(r io.Reader, max int) (out []string, err error) {
	s := NewSSE(r, max)
	for {
		ev, err := s.Next()
		if err != nil {
			return out, err
		}
		out = append(out, string(ev.Name)+"="+string(ev.Data))
	}
}

func TestEventsAreReadHoweverTheirLinesEnd(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"data: a\n\ndata: b\n\n", "=a|=b"},
		{"data: a\r\n\r\ndata: b\r\n\r\n", "=a|=b"},
		{"data: a\r\rdata: b\r\r", "=a|=b"},
		{"data: a\r\ndata: b\r\n\r\n", "=a\nb"},
		{"data:a\n\n", "=a"},
		{"data:  a\n\n", "= a"},
		{"data: a\ndata: b\ndata:\n\n", "=a\nb\n"},
		{"event: x\ndata: a\n\ndata: b\n\n", "x=a|=b"},
		{"\ufeffdata: a\n\n", "=a"},
		{": hello\n\n:\n\ndata: a\n: in between\nid: 3\nretry: 9\n\n", "=a"},
		{"event: ping\n\nevent: ping\ndata:\n\ndata: a\n\n", "=a"},
		{"data: a", "=a"},
		{"data: a\n", "=a"},
		{"data: a\r", "=a"},
		{"data\n\n", ""},
		{"", ""},
		{"\n\n\n", ""},
		{"data: 你好🦀\n\n", "=你好🦀"},
	} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "a byte at a time": iotest.OneByteReader,
			"half reads": iotest.HalfReader, "end with the data": iotest.DataErrReader,
		} {
			got, err := events(wrap(strings.NewReader(c.in)), 0)
			if strings.Join(got, "|") != c.want || !errors.Is(err, io.EOF) {
				t.Errorf("%q read %s: %q, %v; want %q", c.in, name, got, err, c.want)
			}
		}
	}
}

func TestAnEventIsThereBeforeTheLineFeedThatMayFollow(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = w.Write([]byte("data: a\r\n\r")) }()
	if ev, err := NewSSE(r, 0).Next(); err != nil || string(ev.Data) != "a" {
		t.Errorf("%q, %v", ev.Data, err)
	}
}

func TestALongEventIsReadWholeAndATooLongOneRefused(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	for _, in := range []string{"data: " + long + "\n\n", "data: a\ndata: " + long + "\n\n"} {
		if got, err := events(strings.NewReader(in), 1<<20); len(got) != 1 || !errors.Is(err, io.EOF) || !strings.HasSuffix(got[0], long) {
			t.Errorf("%d events, %v", len(got), err)
		}
	}
	endless := io.MultiReader(strings.NewReader("data: "), repeat('x'))
	if _, err := events(endless, 1<<20); !errors.Is(err, errEventTooLong) {
		t.Errorf("an endless line: %v", err)
	}
	lines := io.MultiReader(strings.NewReader(strings.Repeat("data: "+strings.Repeat("y", 1000)+"\n", 2000)), repeat('\n'))
	if _, err := events(lines, 1<<20); !errors.Is(err, errEventTooLong) {
		t.Errorf("an endless event: %v", err)
	}
}

type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

func TestABodyThatIsNoStreamIsKeptForTheError(t *testing.T) {
	s := NewSSE(strings.NewReader(`{"error":{"message":"no"}}`), 0)
	if _, err := s.Next(); !errors.Is(err, io.EOF) || !strings.Contains(string(s.Stray()), `"no"`) {
		t.Errorf("%v, %q", err, s.Stray())
	}
	if s = NewSSE(strings.NewReader(strings.Repeat("junk\n", 1<<16)), 0); true {
		if _, err := s.Next(); !errors.Is(err, io.EOF) || len(s.Stray()) > 2*maxStray {
			t.Errorf("%v, %d bytes kept", err, len(s.Stray()))
		}
	}
}

// FuzzSSE checks that what is read does not depend on how it arrives.
func FuzzSSE(f *testing.F) {
	f.Add([]byte("data: a\r\n\r\ndata: b\n\n:c\revent: x\rdata\r\r"))
	f.Add([]byte("\xef\xbb\xbfdata: {}\ndata: 1\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		want, err := events(bytes.NewReader(in), 0)
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		got, err := events(iotest.OneByteReader(bytes.NewReader(in)), 0)
		if !errors.Is(err, io.EOF) || strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Errorf("%q a byte at a time: %q, %v; at once: %q", in, got, err, want)
		}
	})
}
