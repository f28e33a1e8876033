package discord

import (
	"slices"
	"strings"
	"unicode"
)

// longestToken is the longest "<…>" that stands for something, in bytes.
const longestToken = 64

// understand returns m's text with mentions of the bot, or of its own roles,
// taken out, and whether it has any. Other people, channels and emoji are named
// as a person reads them. @everyone and @here mean nobody in particular.
//
// A mention in code is text; Discord lists only those that are none.
func (c *Channel) understand(m *message, own []string) (text string, meant bool) {
	if m.Content == nil {
		return "", false
	}
	content := *m.Content
	if strings.IndexByte(content, '<') < 0 {
		return strings.TrimSpace(content), false
	}
	var out strings.Builder
	for {
		i := strings.IndexByte(content, '<')
		if i < 0 {
			break
		}
		out.WriteString(content[:i])
		content = content[i:]
		end := strings.IndexByte(content[:min(len(content), longestToken)], '>')
		if end < 0 {
			out.WriteByte('<')
			content = content[1:]
			continue
		}
		token := content[1:end]
		switch shown, isBot := c.name(m, token, own); {
		case isBot:
			meant = true
			content = closeGap(&out, content[end+1:])
		case shown != "":
			out.WriteString(shown)
			content = content[end+1:]
		default:
			out.WriteByte('<')
			content = content[1:]
		}
	}
	out.WriteString(content)
	return strings.TrimSpace(out.String()), meant
}

// name reads what stands between < and >: what to show instead, or that it is
// the bot.
func (c *Channel) name(m *message, token string, own []string) (shown string, isBot bool) {
	switch {
	case strings.HasPrefix(token, "@&"):
		id := token[2:]
		return "", slices.Contains(own, id) && slices.Contains(m.MentionRoles, id)
	case strings.HasPrefix(token, "@"):
		id := strings.TrimPrefix(token[1:], "!")
		for i := range m.Mentions {
			if m.Mentions[i].ID == id {
				if id == c.botID {
					return "", true
				}
				return "@" + sender(&m.Mentions[i], nil).Name, false
			}
		}
	case strings.HasPrefix(token, "#"):
		if name := c.world.channelName(token[1:]); name != "" {
			return "#" + name, false
		}
	case strings.HasPrefix(token, ":"), strings.HasPrefix(token, "a:"):
		_, rest, _ := strings.Cut(token, ":")
		if name, id, ok := strings.Cut(rest, ":"); ok && isSnowflake(id) {
			return ":" + name + ":", false
		}
	}
	return "", false
}

// closeGap joins what was before a mention and what comes after it.
func closeGap(out *strings.Builder, rest string) string {
	kept := out.String()
	trimmed := strings.TrimRightFunc(kept, unicode.IsSpace)
	if trimmed == "" {
		return strings.TrimLeftFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || r == ',' || r == ':' })
	}
	if len(trimmed) == len(kept) {
		return rest
	}
	rest = strings.TrimLeft(rest, " ")
	if rest != "" && strings.ContainsRune(",.!?:;", rune(rest[0])) {
		out.Reset()
		out.WriteString(trimmed)
	}
	return rest
}
