package search

import (
	"strings"
	"unicode/utf8"
)

// maxWord bounds a word, in bytes; of a longer one the beginning counts.
const maxWord = 48

// Words are what a text is found by, each once, in no certain order: folded
// words, and of runs without spaces all pairs of letters and the last letter.
// They are letters, numbers and marks, nothing else.
func Words(text string) []string {
	var out []string
	seen := map[string]bool{}
	add := func(word string) {
		if !seen[word] {
			seen[word] = true
			out = append(out, word)
		}
	}
	for _, p := range pieces(clean(text)) {
		if !p.run {
			add(cut(p.text))
			continue
		}
		for pair := range pairs(p.text) {
			add(pair)
		}
		_, n := utf8.DecodeLastRuneInString(p.text)
		add(p.text[len(p.text)-n:])
	}
	return out
}

// pairs yields the pairs of neighbouring letters.
func pairs(run string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		_, first := utf8.DecodeRuneInString(run)
		for len(run) > first {
			_, second := utf8.DecodeRuneInString(run[first:])
			if !yield(run[:first+second]) {
				return
			}
			run, first = run[first:], second
		}
	}
}

func cut(word string) string {
	if len(word) <= maxWord {
		return word
	}
	return strings.ToValidUTF8(word[:maxWord], "")
}
