package sandbox

import (
	"net"
	"strings"
	"testing"
)

func listen(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

func TestACaptureKeepsBothEnds(t *testing.T) {
	for _, size := range []int{1, 3, 7, 100} {
		c := NewCapture(20)
		text := strings.Repeat("a", 10) + strings.Repeat("b", 25) + "0123456789"
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			_, _ = c.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		if got, want := c.String(), "aaaaaaaaaa\n[… 25 bytes left out …]\n0123456789"; got != want {
			t.Errorf("in writes of %d: %q", size, got)
		}
		if got := c.Last(4); got != "6789" {
			t.Errorf("last: %q", got)
		}
	}
}

func FuzzACaptureIsItsInputOrItsEnds(f *testing.F) {
	f.Add("hällo wörld, this is it", 8, 3)
	f.Add("", 2, 1)
	f.Fuzz(func(t *testing.T, text string, limit, size int) {
		if limit < 2 || limit > 1000 || size < 1 {
			return
		}
		c := NewCapture(limit)
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			_, _ = c.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		got := c.String()
		if len(text) <= limit/2*2 {
			if got != strings.ToValidUTF8(text, "\uFFFD") {
				t.Errorf("%q became %q", text, got)
			}
		} else if len(got) > 3*limit+60 {
			t.Errorf("%d bytes kept of a limit of %d", len(got), limit)
		}
		_ = c.Last(5)
	})
}
