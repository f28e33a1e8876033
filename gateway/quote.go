package gateway

import (
	"strings"
	"unicode"
)

// codeBlock quotes text so that nothing in it ends the quotation.
func codeBlock(text string) string {
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	return fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

// codeSpan quotes one line.
func codeSpan(text string) string {
	text = strings.Join(strings.FieldsFunc(text, unicode.IsControl), " ")
	mark := strings.Repeat("`", longestRun(text, '`')+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return mark + text + mark
}

func longestRun(text string, c byte) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// escapeMarkdown makes somebody's words read as they are: names and reasons
// must not format, link or mention.
func escapeMarkdown(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			continue
		case r < 0x80 && (unicode.IsPunct(r) || unicode.IsSymbol(r)) && !strings.ContainsRune(`.,;:()'"/?%=`, r):
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}
