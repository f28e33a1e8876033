package channeltest

import (
	"unicode/utf16"
)

// findEntities finds mentions and commands in what a person typed, as
// Telegram's server does.
func findEntities(text string) []Entity {
	units := utf16.Encode([]rune(text))
	var out []Entity
	for i := 0; i < len(units); i++ {
		kind := ""
		switch units[i] {
		case '@':
			kind = "mention"
		case '/':
			kind = "bot_command"
		}
		if kind == "" || i > 0 && (word(units[i-1]) || units[i-1] == '/' || units[i-1] == '@') {
			continue
		}
		end := i + 1
		for end < len(units) && word(units[end]) {
			end++
		}
		if end == i+1 {
			continue
		}
		if kind == "bot_command" && end < len(units) && units[end] == '@' {
			for end++; end < len(units) && word(units[end]); end++ {
			}
		}
		out = append(out, Entity{Type: kind, Offset: i, Length: end - i})
		i = end - 1
	}
	return out
}

func word(u uint16) bool {
	return u == '_' || u >= '0' && u <= '9' || u >= 'a' && u <= 'z' || u >= 'A' && u <= 'Z'
}
