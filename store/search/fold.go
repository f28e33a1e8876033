package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxText is how many bytes of a text are looked at.
const maxText = 64 << 10

// piece is a run of letters of one kind.
type piece struct {
	text string
	at   int  // where it begins in the text, in bytes
	run  bool // of a script without spaces: any part of it is found
}

// pieces cuts a text, in normal form C, into its runs of folded letters and
// numbers.
func pieces(text string) []piece {
	var out []piece
	var word strings.Builder
	at, run := 0, false
	end := func() {
		if word.Len() > 0 {
			out = append(out, piece{word.String(), at, run})
			word.Reset()
		}
	}
	for i, r := range text {
		letter, dense := classify(r)
		if !letter {
			end()
			continue
		}
		if word.Len() > 0 && dense != run {
			end()
		}
		if word.Len() == 0 {
			at, run = i, dense
		}
		fold(&word, r)
	}
	end()
	return out
}

// classify tells letters, numbers and marks from what is between words, and
// letters of scripts that are written without spaces from others.
func classify(r rune) (letter, dense bool) {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9', false
	}
	dense = unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) ||
		r == 'ー' || r == '々'
	return dense || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r), dense
}

// fold writes what r has in common with its other cases, widths and accents.
func fold(b *strings.Builder, r rune) {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		b.WriteByte(byte(r))
		return
	}
	for _, c := range norm.NFKC.String(string(r)) {
		switch {
		case unicode.Is(unicode.Mn, c):
		case unicode.In(c, unicode.Latin, unicode.Greek, unicode.Cyrillic):
			for _, d := range norm.NFD.String(string(unicode.ToLower(c))) {
				if !unicode.Is(unicode.Mn, d) {
					b.WriteRune(d)
				}
			}
		case unicode.IsLetter(c), unicode.IsNumber(c), unicode.IsMark(c):
			b.WriteRune(unicode.ToLower(c))
		}
	}
}

func clean(text string) string {
	if len(text) > maxText {
		text = text[:maxText]
	}
	return norm.NFC.String(strings.ToValidUTF8(text, " "))
}
