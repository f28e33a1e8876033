package channeltest

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Telegram's limits, in UTF-16 units after entities are taken out.
const (
	maxText     = 4096
	maxCaption  = 1024
	maxEntities = 100
)

// checkText checks a text with its entities as Telegram would and returns them
// as they are stored: outer white space trimmed, entities cut to the text.
func checkText(text string, entities []Entity, limit int) (string, []Entity, *tgError) {
	if !utf8.ValidString(text) {
		return "", nil, refuse(400, "Bad Request: strings must be encoded in UTF-8")
	}
	units := utf16.Encode([]rune(text))
	if err := checkEntities(units, entities); err != nil {
		return "", nil, err
	}
	trimmed := strings.TrimRightFunc(text, unicode.IsSpace)
	lead := len(trimmed) - len(strings.TrimLeftFunc(trimmed, unicode.IsSpace))
	shift := len(utf16.Encode([]rune(trimmed[:lead])))
	trimmed = trimmed[lead:]
	length := len(utf16.Encode([]rune(trimmed)))
	if length > limit {
		return "", nil, refuse(400, "Bad Request: message is too long")
	}
	var kept []Entity
	for _, e := range entities {
		if e.Offset -= shift; e.Offset+e.Length <= length && len(kept) < maxEntities {
			kept = append(kept, e)
		}
	}
	return trimmed, kept, nil
}

// checkEntities refuses what Telegram refuses or silently drops: the fake is
// the stricter of the two, so that a wrong renderer is seen.
func checkEntities(units []uint16, entities []Entity) *tgError {
	for _, e := range entities {
		if e.Length <= 0 || e.Offset < 0 || e.Offset+e.Length > len(units) {
			return badEntity(e, "out of bounds")
		}
		first, last := units[e.Offset], units[e.Offset+e.Length-1]
		if first >= 0xDC00 && first < 0xE000 || last >= 0xD800 && last < 0xDC00 {
			return badEntity(e, "begins or ends in the middle of a UTF-16 symbol")
		}
		if unicode.IsSpace(rune(first)) || unicode.IsSpace(rune(last)) {
			return badEntity(e, "has white space at its edge")
		}
		if !entityTypes[e.Type] {
			return badEntity(e, "has an unknown type")
		}
		if e.Type == "text_link" && !strings.Contains(e.URL, ":") {
			return badEntity(e, "has no valid URL")
		}
	}
	return checkNesting(entities)
}

var entityTypes = map[string]bool{
	"bold": true, "italic": true, "underline": true, "strikethrough": true, "spoiler": true, "code": true, "pre": true,
	"text_link": true, "text_mention": true, "custom_emoji": true, "blockquote": true, "expandable_blockquote": true,
	"mention": true, "hashtag": true, "cashtag": true, "bot_command": true, "url": true, "email": true, "phone_number": true,
}

func checkNesting(entities []Entity) *tgError {
	sorted := slices.Clone(entities)
	slices.SortStableFunc(sorted, func(a, b Entity) int {
		return cmp.Or(a.Offset-b.Offset, b.Length-a.Length)
	})
	var open []Entity
	for _, e := range sorted {
		for len(open) > 0 && open[len(open)-1].Offset+open[len(open)-1].Length <= e.Offset {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			outer := open[len(open)-1]
			if e.Offset+e.Length > outer.Offset+outer.Length {
				return badEntity(e, "overlaps another one")
			}
			if verbatim(outer.Type) || verbatim(e.Type) && !quote(outer.Type) {
				return badEntity(e, "can't nest with "+outer.Type)
			}
		}
		for _, o := range open {
			if quote(e.Type) && quote(o.Type) {
				return badEntity(e, "is a quote in a quote")
			}
			if e.Type == o.Type {
				return badEntity(e, "is nested in its own type")
			}
		}
		open = append(open, e)
	}
	return nil
}

func verbatim(kind string) bool { return kind == "pre" || kind == "code" }
func quote(kind string) bool    { return kind == "blockquote" || kind == "expandable_blockquote" }

func badEntity(e Entity, why string) *tgError {
	return refuse(400, "Bad Request: can't parse entities: entity %s at %d+%d %s", e.Type, e.Offset, e.Length, why)
}

// checkButtons checks an inline keyboard.
func checkButtons(rows [][]SentButton) *tgError {
	n := 0
	for _, row := range rows {
		for _, b := range row {
			n++
			switch {
			case strings.TrimSpace(b.Text) == "":
				return refuse(400, "Bad Request: can't parse inline keyboard button: text must be non-empty")
			case b.CallbackData == "" && b.URL == "":
				return refuse(400, "Bad Request: can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
			case len(b.CallbackData) > 64:
				return refuse(400, "Bad Request: BUTTON_DATA_INVALID")
			case b.Style != "" && b.Style != "primary" && b.Style != "danger" && b.Style != "success":
				return refuse(400, "Bad Request: BUTTON_STYLE_INVALID")
			}
		}
		if len(row) > 8 {
			return refuse(400, "Bad Request: too many buttons in a row")
		}
	}
	if n > 100 {
		return refuse(400, "Bad Request: REPLY_MARKUP_TOO_LONG")
	}
	return nil
}
