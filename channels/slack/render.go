package slack

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"clawbot/channels"
	"clawbot/channels/markdown"
)

const (
	// maxText is the longest text of a message in UTF-16 units. One markdown
	// block takes 12,000 characters; all blocks together were refused from about
	// 13,200 on, and nobody knows what exactly counts.
	maxText = 11_000
	// maxFallback is the longest text beside blocks: what notifications and
	// screen readers get. chat.update refuses more than 4,000 characters.
	maxFallback      = 3_000
	maxDraftFallback = 300
	maxStatus        = 1_000
	maxLabel         = 75
	maxValue         = 2_000
)

// measure is the length of rendered Markdown in UTF-16 units.
func measure(src string) int { return markdown.UTF16Len(markdown.SlackBlock(src)) }

// content is a message as Slack takes it.
type content struct {
	text   string // the fallback, mrkdwn
	blocks []slack.Block
	body   string // of the markdown block
	length int    // of body
	source string // the Markdown of the first block
}

// render turns what is to be shown into one markdown block, with the status and
// the buttons below, and a fallback text. Slack shows the blocks; chat.update
// with blocks does not mark the message as edited.
func render(out channels.Outgoing) content {
	src, most := out.Markdown, maxFallback
	if out.Draft {
		src, most = markdown.Repair(src), maxDraftFallback
	}
	var c content
	body := markdown.SlackBlock(src)
	if !markdown.Blank(body) {
		c.body, c.length = body, markdown.UTF16Len(body)
		c.blocks = append(c.blocks, slack.NewMarkdownBlock("", body))
		c.text, c.source = fallback(src, most), src
	}
	if status := statusLine(out.Status); status != "" {
		text := slack.NewTextBlockObject(slack.PlainTextType, status, true, false)
		c.blocks = append(c.blocks, slack.NewContextBlock("", text))
		if c.text == "" {
			c.text = markdown.SlackMrkdwn(markdown.Escape(status))
		}
	}
	for i, row := range out.Buttons {
		if len(row) > 0 {
			c.blocks = append(c.blocks, buttons(i, row))
		}
	}
	return c
}

// growing is the beginning of a text that is still being written, as far as it
// will be rendered alike however the text goes on: what it says as it stands and
// body, which it says once everything open is closed, differ from there.
func growing(src, body string) string {
	if body == "" {
		return ""
	}
	a, b := markdown.SlackBlock(src+"\nx"), body
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	if text := b[:n]; !markdown.Blank(text) {
		return text
	}
	return ""
}

// fallback renders as much of src as most characters have room for.
func fallback(src string, most int) string {
	if len(src) > most {
		src = src[:most]
		for !utf8.ValidString(src) {
			src = src[:len(src)-1]
		}
	}
	for {
		text := markdown.SlackMrkdwn(src)
		if len(src) <= 1 || markdown.UTF16Len(text) <= most {
			return text
		}
		src = src[:len(src)/2]
		for !utf8.ValidString(src) {
			src = src[:len(src)-1]
		}
	}
}

func statusLine(status string) string {
	status = strings.TrimFunc(status, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) })
	return clip(status, maxStatus)
}

// clip shortens s to most characters.
func clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

func buttons(row int, list []channels.Button) slack.Block {
	elements := make([]slack.BlockElement, 0, len(list))
	for i, b := range list {
		label := slack.NewTextBlockObject(slack.PlainTextType, clip(first(b.Label, b.Data, "?"), maxLabel), true, false)
		element := slack.NewButtonBlockElement(fmt.Sprintf("button:%d:%d", row, i), clip(b.Data, maxValue), label)
		if b.Style == "primary" || b.Style == "danger" {
			element.WithStyle(slack.Style(b.Style))
		}
		elements = append(elements, element)
	}
	return slack.NewActionBlock("", elements...)
}
