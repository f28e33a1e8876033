package telegram

import (
	"strings"
	"unicode"

	"github.com/go-telegram/bot/models"

	"clawbot/channels"
	"clawbot/channels/markdown"
)

// measure is the length of rendered Markdown in UTF-16 units.
func measure(src string) int {
	text, _ := markdown.Telegram(src)
	return markdown.UTF16Len(text)
}

// render turns what is to be shown into text and entities.
func render(out channels.Outgoing) (string, []models.MessageEntity) {
	src := out.Markdown
	if out.Draft {
		src = markdown.Repair(src)
	}
	text, entities := markdown.Telegram(src)
	list := make([]models.MessageEntity, 0, len(entities)+1)
	for _, e := range entities {
		list = append(list, models.MessageEntity{
			Type: models.MessageEntityType(e.Type), Offset: e.Offset, Length: e.Length, URL: e.URL, Language: e.Language,
		})
	}
	return addStatus(text, list, out.Status)
}

// addStatus puts the status line below the text, in italics.
func addStatus(text string, entities []models.MessageEntity, status string) (string, []models.MessageEntity) {
	status = strings.TrimFunc(status, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) })
	if status == "" {
		return text, entities
	}
	if text != "" {
		text += "\n\n"
	}
	return text + status, append(entities, models.MessageEntity{
		Type: models.MessageEntityTypeItalic, Offset: markdown.UTF16Len(text), Length: markdown.UTF16Len(status),
	})
}

// button is an inline button. The typed client's own would send an empty
// copy_text with each.
type button struct {
	Text  string `json:"text"`
	Data  string `json:"callback_data"`
	Style string `json:"style,omitempty"`
}

type inlineKeyboard struct {
	Rows [][]button `json:"inline_keyboard"`
}

// keyboard renders buttons. It returns a nil interface for none, which removes
// a keyboard on edit.
func keyboard(rows [][]channels.Button) models.ReplyMarkup {
	if len(rows) == 0 {
		return nil
	}
	out := inlineKeyboard{Rows: make([][]button, 0, len(rows))}
	for _, row := range rows {
		buttons := make([]button, 0, len(row))
		for _, b := range row {
			buttons = append(buttons, button{b.Label, b.Data, b.Style})
		}
		out.Rows = append(out.Rows, buttons)
	}
	return out
}
