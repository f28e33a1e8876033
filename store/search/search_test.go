package search

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWhatIsFound(t *testing.T) {
	for _, c := range []struct {
		text, query string
		found       bool
	}{
		{"The deployment failed on Tuesday", "tuesday DEPLOYMENT", true},
		{"The deployment failed on Tuesday", "deploy", true},
		{"The deployment failed on Tuesday", "dep", false}, // too short to be a beginning
		{"The deployment failed on Tuesday", "deployment monday", false},
		{"Café Ångström Żółw", "cafe angstrom", true},
		{"Cafe\u0301 a\u0300 la mode", "CAFÉ À", true},
		{"ＡＢＣ１２３", "abc123", true},
		{"ｶﾀｶﾅ", "カタカナ", true},
		{"我们在东京塔见面", "东京", true},
		{"我们在东京塔见面", "东京塔见面", true},
		{"我们在东京塔见面", "京东", false},
		{"京东和东北", "东京", false},
		{"见面，东京", "京", true},
		{"東京タワーで会いましょう", "タワー", true},
		{"오늘 회의는 세 시입니다", "회의", true},
		{"\u110b\u1169\u1102\u1173\u11af", "오늘", true}, // typed as single jamo
		{"พบกันที่สถานีรถไฟ", "สถานี", true},
		{"हिन्दी में लिखा", "हिन्दी", true},
		{"שלום לכולם", "שלום", true},
		{"Привет, мир", "ПРИВЕТ", true},
		{"x", "", false},
		{"x", "!!! --- \"\"", false},
		{"AND OR NOT NEAR", "and or NOT near", true},
		{`say "hello" (twice)`, `"hello`, true},
		{"a*b", "a* b*", true},
		{"words: col:on ^caret", "col:on ^caret", true},
		{strings.Repeat("a", 100), strings.Repeat("a", 100), true},
		{"invalid \xff\xfe text", "text", true},
		{"naïve", "naive", true},
		{"STRASSE", "strasse", true},
		{"emoji 👍 works", "👍", false},
	} {
		passage, found := Parse(c.query).Match(c.text, 200)
		if found != c.found {
			t.Errorf("%q in %q: %v", c.query, c.text, found)
		}
		if found && passage == "" {
			t.Errorf("%q in %q: no passage", c.query, c.text)
		}
		if found && !indexed(c.text, c.query) {
			t.Errorf("%q in %q: an index would not find it", c.query, c.text)
		}
	}
}

// indexed reports whether an index of Words would offer the text for the query.
func indexed(text, query string) bool {
	words := Words(text)
	for _, term := range Parse(query).Terms() {
		if !slices.ContainsFunc(words, func(w string) bool { return w == term.Word || term.Prefix && strings.HasPrefix(w, term.Word) }) {
			return false
		}
	}
	return true
}

func TestThePassageIsAroundWhatWasFound(t *testing.T) {
	text := strings.Repeat("before ", 100) + "needle" + strings.Repeat(" after", 100)
	passage, ok := Parse("needle").Match(text, 100)
	if !ok || !strings.Contains(passage, "needle") || len(passage) > 120 || !strings.HasPrefix(passage, "…") || !strings.HasSuffix(passage, "…") {
		t.Errorf("%v %q", ok, passage)
	}
	passage, _ = Parse("needle").Match("needle\n\nat once", 100)
	if passage != "needle at once" {
		t.Errorf("%q", passage)
	}
}

func FuzzAnIndexOffersAllThatMatches(f *testing.F) {
	f.Add("The deployment failed", "deploy", 10)
	f.Add("我们在东京塔见面", "东京", 3)
	f.Add("\xff\u0301a", "\u0301", 0)
	f.Add("ﬁne ½ ﷺ", "fine", 200)
	f.Fuzz(func(t *testing.T, text, query string, size int) {
		passage, ok := Parse(query).Match(text, min(max(size, 1), 1000))
		if !utf8.ValidString(passage) {
			t.Errorf("passage %q", passage)
		}
		if ok && !indexed(text, query) {
			t.Errorf("%q matches %q, and an index would not offer it", query, text)
		}
		for _, w := range append(Words(text), Words(query)...) {
			if w == "" || strings.ContainsAny(w, " \"*\x00") || strings.ToLower(w) != w && !strings.ContainsFunc(w, func(r rune) bool { return r > 127 }) {
				t.Errorf("word %q", w)
			}
		}
	})
}

func BenchmarkWords(b *testing.B) {
	text := strings.Repeat("The deployment of the service failed because nobody had looked at it. ", 6)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Words(text)
	}
}
