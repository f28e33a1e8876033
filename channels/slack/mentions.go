package slack

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// mentioned tells whether a text mentions the bot, and whether it begins with a
// mention of somebody else and so is meant for them.
func (me *identity) mentioned(raw string) (bot, other bool) {
	for rest := raw; ; {
		i := strings.Index(rest, "<@"+me.user)
		if i < 0 {
			break
		}
		rest = rest[i+2+len(me.user):]
		if strings.HasPrefix(rest, ">") || strings.HasPrefix(rest, "|") {
			return true, false
		}
	}
	return false, strings.HasPrefix(strings.TrimSpace(raw), "<@")
}

var unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// plain turns a text as Slack writes it into what the person saw: mentions of
// the bot are taken out, other people's get their names, links their addresses.
// See https://docs.slack.dev/messaging/formatting-message-text.
func (me *identity) plain(raw string, name func(user string) string) string {
	var out strings.Builder
	for rest := raw; rest != ""; {
		open := strings.IndexByte(rest, '<')
		shut := -1
		if open >= 0 {
			shut = strings.IndexByte(rest[open:], '>')
		}
		if shut < 0 {
			out.WriteString(unescape.Replace(rest))
			break
		}
		out.WriteString(unescape.Replace(rest[:open]))
		body := rest[open+1 : open+shut]
		rest = rest[open+shut+1:]
		target, label, _ := strings.Cut(body, "|")
		if target == "@"+me.user {
			rest = closeUp(&out, rest)
			continue
		}
		out.WriteString(me.sequence(target, unescape.Replace(label), name))
	}
	return command(strings.TrimSpace(out.String()))
}

// closeUp takes away the white space that a mention leaves double, and the
// comma or colon of a salutation. It returns what of rest is left.
func closeUp(out *strings.Builder, rest string) string {
	text := out.String()
	salutation := strings.TrimSpace(text) == ""
	if salutation {
		rest = strings.TrimLeft(strings.TrimLeftFunc(rest, unicode.IsSpace), ",:")
	}
	if last, _ := utf8.DecodeLastRuneInString(text); salutation || unicode.IsSpace(last) {
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		if rest != "" && strings.ContainsRune(",.!?:;", rune(rest[0])) {
			out.Reset()
			out.WriteString(strings.TrimRightFunc(text, unicode.IsSpace))
		}
	}
	return rest
}

// sequence is what people see of <target|label>.
func (me *identity) sequence(target, label string, name func(string) string) string {
	if target == "" {
		return "<>"
	}
	kind, rest := target[0], target[1:]
	switch kind {
	case '@':
		if label == "" {
			label = first(name(rest), rest)
		}
		return "@" + strings.TrimPrefix(label, "@")
	case '#':
		return "#" + first(label, rest)
	case '!':
		what, _, _ := strings.Cut(rest, "^")
		return first(label, "@"+what)
	}
	address := unescape.Replace(target)
	shown := strings.TrimPrefix(address, "mailto:")
	if label == "" || label == shown || strings.HasSuffix(strings.TrimRight(shown, "/"), "://"+label) {
		return shown
	}
	return label + " (" + shown + ")"
}

// command brings a command to the front that stands behind emoji: Slack writes
// those as words, ":tada: /status".
func command(text string) string {
	rest := text
	for strings.HasPrefix(rest, ":") {
		end := strings.IndexByte(rest[1:], ':')
		if end < 1 || strings.Trim(rest[1:1+end], "abcdefghijklmnopqrstuvwxyz0123456789_+'-") != "" {
			return text
		}
		rest = strings.TrimLeftFunc(rest[end+2:], unicode.IsSpace)
	}
	if strings.HasPrefix(rest, "/") {
		return rest
	}
	return text
}
