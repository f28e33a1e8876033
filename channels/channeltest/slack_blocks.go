package channeltest

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// SlackBlock is a block of a message, as far as the fake knows blocks.
type SlackBlock struct {
	Type     string          `json:"type"`
	ID       string          `json:"block_id,omitempty"`
	Text     json.RawMessage `json:"text,omitempty"` // a string in a markdown block, an object elsewhere
	Elements []SlackElement  `json:"elements,omitempty"`
}

// SlackElement is a button, or a text in a context block.
type SlackElement struct {
	Type     string          `json:"type"`
	ActionID string          `json:"action_id,omitempty"`
	Text     json.RawMessage `json:"text,omitempty"`
	Value    string          `json:"value,omitempty"`
	Style    string          `json:"style,omitempty"`
}

// Label is the text of a button or a context element.
func (e SlackElement) Label() string { return blockText(e.Text) }

// Markdown is the text of a markdown block, else empty.
func (b SlackBlock) Markdown() string {
	if b.Type != "markdown" {
		return ""
	}
	return blockText(b.Text)
}

func (b SlackBlock) shown() string {
	switch b.Type {
	case "actions":
		return ""
	case "context":
		parts := make([]string, len(b.Elements))
		for i, e := range b.Elements {
			parts[i] = e.Label()
		}
		return strings.Join(parts, " ")
	}
	return blockText(b.Text)
}

// blockText reads a text that is a string or a text object.
func blockText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var object struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &object)
	return object.Text
}

const (
	slackMarkdownBlock = 12_000
	slackAllBlocks     = 13_200 // measured by users, documented nowhere
	slackTextObject    = 3_000
)

// checkBlocks reads the blocks argument and refuses what Slack refuses.
func checkBlocks(raw string) (blocks []SlackBlock, why, code string) {
	if raw == "" {
		return nil, "", ""
	}
	if err := json.Unmarshal([]byte(raw), &blocks); err != nil {
		return nil, err.Error(), "invalid_blocks_format"
	}
	if len(blocks) > 50 {
		return nil, "no more than 50 items allowed [json-pointer:/blocks]", "invalid_blocks"
	}
	total, ids, actions := 0, map[string]bool{}, map[string]bool{}
	for i, b := range blocks {
		if why := b.check(actions); why != "" {
			return nil, fmt.Sprintf("%s [json-pointer:/blocks/%d]", why, i), "invalid_blocks"
		}
		if b.ID != "" && ids[b.ID] {
			return nil, "block_id already exists", "invalid_blocks"
		}
		ids[b.ID] = true
		total += utf8.RuneCountInString(b.shown())
	}
	if total > slackAllBlocks {
		return nil, fmt.Sprint(total, " characters"), "msg_blocks_too_long"
	}
	return blocks, "", ""
}

func (b SlackBlock) check(actions map[string]bool) string {
	size := utf8.RuneCountInString(blockText(b.Text))
	switch b.Type {
	case "markdown":
		if size == 0 || size > slackMarkdownBlock {
			return "must be more than 0 and less than 12001 characters"
		}
	case "section", "header":
		if size == 0 || size > slackTextObject {
			return "must be more than 0 and less than 3001 characters"
		}
	case "context":
		if len(b.Elements) == 0 || len(b.Elements) > 10 {
			return "must have 1 to 10 elements"
		}
		for _, e := range b.Elements {
			if n := utf8.RuneCountInString(e.Label()); n == 0 || n > slackTextObject {
				return "text must be more than 0 and less than 3001 characters"
			}
		}
	case "actions":
		return checkActions(b.Elements, actions)
	case "divider":
	default:
		return "unsupported type: " + b.Type
	}
	return ""
}

func checkActions(elements []SlackElement, actions map[string]bool) string {
	if len(elements) == 0 || len(elements) > 25 {
		return "must have 1 to 25 elements"
	}
	for _, e := range elements {
		label := utf8.RuneCountInString(e.Label())
		switch {
		case e.Type != "button":
			return "unsupported element: " + e.Type
		case label == 0 || label > 75:
			return "a button's text must be more than 0 and less than 76 characters"
		case utf8.RuneCountInString(e.Value) > 2000 || len(e.ActionID) > 255:
			return "a button's value must be less than 2001 characters"
		case e.Style != "" && e.Style != "primary" && e.Style != "danger":
			return "style must be primary or danger"
		case e.ActionID != "" && actions[e.ActionID]:
			return "action_id already exists"
		}
		actions[e.ActionID] = true
	}
	return ""
}
