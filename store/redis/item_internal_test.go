package redis

import (
	"strings"
	"testing"

	"clawbot/store"
)

func FuzzAWordIsOneWordAndComesBack(f *testing.F) {
	for _, s := range []string{"", "a", "a b", "a,b\n", "é{}*\x00", ".", "-", "%2C"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		w := word(s)
		if w == "" || strings.ContainsAny(w, " ,\n\r\t") {
			t.Fatalf("%q is written as %q", s, w)
		}
		if back, err := unword(w); err != nil || back != s {
			t.Fatalf("%q comes back as %q: %v", s, back, err)
		}
	})
}

func FuzzDamagedItemsAreErrors(f *testing.F) {
	whole := "1 17 2 .id 3:nonce -1 - 0 . .c1,.c2\ndata"
	f.Add(whole)
	f.Add("1 0 0 1 3 17 .id .key\ndata")
	f.Add("2 0\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, item string) {
		_, _ = entry(0, item)
		_, _ = queued("s", store.Messages, item)
		_, _ = deadLetter(item)
		_, _ = replyOf(item)
		_, _ = intents(item, "3:nonce")
		_, _ = value("k", item)
	})
}

func TestWhatANewerVersionWroteIsNamedSo(t *testing.T) {
	for _, err := range []error{
		second(entry(0, "2 17 2 .id 3:nonce -1 - 0 . -\n")), second(queued("s", store.Messages, "2 0 0 1 3 17 .id .key\n")),
		second(deadLetter("2 17 .s .why\n1 0 0 1 3 17 .id .key\n")),
	} {
		if err == nil || !strings.Contains(err.Error(), "newer clawbot") {
			t.Errorf("error is %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func FuzzAURLIsReadOrRefusedWithoutItsPassword(f *testing.F) {
	for _, s := range []string{"redis://u:s3cret@h:1/0", "redis-sentinel://h,i/m/1", "rediss-cluster://[::1]:7", "redis://", "::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		target, err := parse(raw)
		if err == nil && len(target.addrs) == 0 {
			t.Fatalf("%q has no address", raw)
		}
		if err != nil && strings.Contains(raw, "s3cret") && strings.Contains(err.Error(), "s3cret") {
			t.Fatalf("%q is repeated: %v", raw, err)
		}
	})
}
