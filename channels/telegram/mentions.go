package telegram

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
)

// understand returns m's text with mentions of the bot taken out, and whether
// it names the bot: by a mention, or by a command that is not another bot's.
//
// A command counts as one when nothing but emoji, punctuation and white space
// stands before it; the text then begins with it, without "@bot". Entities count
// UTF-16 units.
func (me *identity) understand(m *message) (text string, named bool) {
	text, entities := m.Text, m.Entities
	if text == "" {
		text, entities = m.Caption, m.CaptionEntities
	}
	if len(entities) == 0 {
		return strings.TrimSpace(text), false
	}
	u := utterance{me: me, units: utf16.Encode([]rune(text))}
	entities = slices.Clone(entities)
	slices.SortStableFunc(entities, func(a, b entity) int { return cmp.Compare(a.Offset, b.Offset) })
	for _, e := range entities {
		if e.Offset >= u.end && e.Length > 0 && e.Length <= len(u.units)-e.Offset {
			u.take(e)
		}
	}
	return u.text(), u.named
}

// utterance is a text from which pieces are cut.
type utterance struct {
	me    *identity
	units []uint16
	kept  []uint16
	end   int // what lies before is in kept, or cut
	named bool
}

func (u *utterance) take(e entity) {
	word := string(utf16.Decode(u.units[e.Offset : e.Offset+e.Length]))
	switch e.Type {
	case "mention":
		if strings.EqualFold(word, "@"+u.me.Username) {
			u.cut(e)
		}
	case "text_mention":
		if e.User != nil && e.User.ID == u.me.ID {
			u.cut(e)
		}
	case "bot_command":
		u.command(e, word)
	}
}

// cut takes a mention out, and the white space that it leaves double.
func (u *utterance) cut(e entity) {
	u.named = true
	u.keep(e.Offset)
	u.end = e.Offset + e.Length
	if len(u.kept) == 0 || blank(u.kept[len(u.kept)-1]) {
		for u.end < len(u.units) && (blank(u.units[u.end]) || len(u.kept) == 0 && (u.units[u.end] == ',' || u.units[u.end] == ':')) {
			u.end++
		}
		if u.end < len(u.units) && strings.ContainsRune(",.!?:;", rune(u.units[u.end])) {
			for len(u.kept) > 0 && blank(u.kept[len(u.kept)-1]) {
				u.kept = u.kept[:len(u.kept)-1]
			}
		}
	}
}

func (u *utterance) command(e entity, word string) {
	name, bot, directed := strings.Cut(word, "@")
	if directed && !strings.EqualFold(bot, u.me.Username) {
		return
	}
	u.keep(e.Offset)
	leading := wordless(utf16.Decode(u.kept))
	if leading {
		u.kept = u.kept[:0]
	}
	u.named = u.named || leading || directed
	u.kept = append(u.kept, utf16.Encode([]rune(name))...)
	u.end = e.Offset + e.Length
}

// keep copies what lies before offset.
func (u *utterance) keep(offset int) {
	u.kept = append(u.kept, u.units[u.end:offset]...)
	u.end = offset
}

func (u *utterance) text() string {
	u.keep(len(u.units))
	return strings.TrimSpace(string(utf16.Decode(u.kept)))
}

func blank(u uint16) bool { return unicode.IsSpace(rune(u)) }

// wordless tells whether there are neither letters nor digits in a text. The
// digit of a keycap emoji is none.
func wordless(text []rune) bool {
	for i, r := range text {
		keycap := i+1 < len(text) && (text[i+1] == 0xFE0F || text[i+1] == 0x20E3)
		if unicode.IsLetter(r) || unicode.IsDigit(r) && !keycap {
			return false
		}
	}
	return true
}
