package logring

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestTheEndOfALogIsKeptWithinItsBounds(t *testing.T) {
	var r Ring
	if lines, next := r.Since(0); len(lines) != 0 || next != 0 {
		t.Errorf("before anything was written: %v %d", lines, next)
	}
	const n = 5000
	for i := range n {
		fmt.Fprintf(&r, "line %d %s\n", i, strings.Repeat("x", i%300))
	}
	lines, next := r.Since(0)
	bytes := 0
	for i, line := range lines {
		bytes += len(line)
		number := n - len(lines) + i
		if want := fmt.Sprintf("line %d %s", number, strings.Repeat("x", number%300)); line != want {
			t.Fatalf("line %d is %q, want %q", i, line, want)
		}
	}
	if next != n || bytes > Size || bytes < Size-400 || len(r.buf) != Size || cap(r.ends) > 4*len(lines) {
		t.Errorf("next %d, %d bytes in %d lines, %d of buffer, %d of ends", next, bytes, len(lines), len(r.buf), cap(r.ends))
	}
	if lines, _ := r.Since(n - 2); len(lines) != 2 {
		t.Errorf("the last two are %d", len(lines))
	}
	if lines, _ := r.Since(n + 9); len(lines) != 0 {
		t.Errorf("what is to come: %q", lines)
	}
	fmt.Fprint(&r, strings.Repeat("y", 3*Size))
	if lines, _ := r.Since(n); len(lines) != 1 || len(lines[0]) != maxLine {
		t.Errorf("a long line: %d lines", len(lines))
	}
}

func TestALineThatComesWakesWhoeverWaits(t *testing.T) {
	var r Ring
	more := r.More(0)
	select {
	case <-more:
		t.Error("woken by nothing")
	default:
	}
	fmt.Fprintln(&r, "one")
	<-more
	<-r.More(0)
	select {
	case <-r.More(1):
		t.Error("woken by what was seen")
	default:
	}
}

func TestAWriteAllocatesNothingOnceTheRingIsFull(t *testing.T) {
	var r Ring
	line := []byte(strings.Repeat("z", 200) + "\n")
	for range 3 * Size / len(line) {
		_, _ = r.Write(line)
	}
	if n := testing.AllocsPerRun(1000, func() { _, _ = r.Write(line) }); n > 1 {
		t.Errorf("%v allocations a line", n)
	}
}

func TestLinesOfBothHandlersAreReadAlike(t *testing.T) {
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var b bytes.Buffer
		slog.New(handler(&b)).With("channel", "telegram").Warn("it \"broke\"\nbadly", "err", "a = b", "n", 3, "empty", "", "odd key", "x")
		line := Parse(strings.TrimRight(b.String(), "\n"))
		if line.Level != "WARN" || line.Message != "it \"broke\"\nbadly" || line.Time == "" {
			t.Errorf("%s: %+v", name, line)
		}
		for key, want := range map[string]string{"channel": "telegram", "err": "a = b", "n": "3", "empty": "", "odd key": "x"} {
			if got := line.Get(key); got != want {
				t.Errorf("%s: %s is %q, want %q", name, key, got, want)
			}
		}
		if len(line.Fields) != 5 {
			t.Errorf("%s: %+v", name, line.Fields)
		}
	}
	for _, text := range []string{"", "plain words", `{"broken`, `time=x level`, `time="x`} {
		if line := Parse(text); line.Message != text {
			t.Errorf("%q is %+v", text, line)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`time=2026-01-01 level=INFO msg="a b" k=v`)
	f.Add(`{"time":"x","msg":1,"a":{"b":[1]}}`)
	f.Fuzz(func(_ *testing.T, text string) { Parse(text) })
}
