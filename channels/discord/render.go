package discord

import (
	"strings"
	"unicode"

	"github.com/bwmarrin/discordgo"

	"clawbot/channels"
	"clawbot/channels/markdown"
)

// measure is the length of rendered Markdown in UTF-16 units.
func measure(src string) int { return markdown.UTF16Len(markdown.Discord(src)) }

// render turns what is to be shown into Discord's Markdown. The status is a
// line of small print below.
func render(out channels.Outgoing) string {
	src := out.Markdown
	if out.Draft {
		src = markdown.Repair(src)
	}
	text := strings.TrimSpace(markdown.Discord(src))
	status := strings.TrimFunc(out.Status, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) })
	if status == "" {
		return text
	}
	line := "-# " + markdown.Discord(markdown.Escape(strings.Join(strings.Fields(status), " ")))
	if text == "" {
		return line
	}
	if markdown.UTF16Len(text)+markdown.UTF16Len(line)+1 > maxText {
		return text
	}
	return text + "\n" + line
}

// Flags of messages, see
// https://discord.com/developers/docs/resources/message#message-object-message-flags.
const (
	flagNoPreviews = 1 << 2
	flagEphemeral  = 1 << 6
	flagSilent     = 1 << 12
)

// body is what a message is made or changed with.
type body struct {
	Content    string                            `json:"content"`
	Allowed    *discordgo.MessageAllowedMentions `json:"allowed_mentions"`
	Components []discordgo.MessageComponent      `json:"components"`
	Flags      int                               `json:"flags"`
	Reference  *discordgo.MessageReference       `json:"message_reference,omitempty"`
	Nonce      string                            `json:"nonce,omitempty"`
	Enforce    bool                              `json:"enforce_nonce,omitempty"`
}

// nobody is who may be notified by what the bot writes: a model decides on the
// text, and every edit would notify again.
func nobody() *discordgo.MessageAllowedMentions {
	return &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}
}

// newBody renders a message. Link previews are kept out of drafts, where they
// would come and go.
func newBody(out channels.Outgoing) (body, error) {
	b := body{Content: render(out), Allowed: nobody(), Components: buttons(out.Buttons)}
	if out.Draft {
		b.Flags |= flagNoPreviews
	}
	switch n := markdown.UTF16Len(b.Content); {
	case n == 0:
		return b, &channels.SendError{Outcome: channels.Rejected, Err: errEmpty}
	case n > maxText:
		return b, &channels.SendError{Outcome: channels.Rejected, Reason: channels.ReasonTooLong, Err: errTooLong}
	}
	return b, nil
}

// Discord's bounds for buttons.
const (
	maxRows, maxPerRow = 5, 5
	maxLabel           = 80 // characters
)

// ButtonLimit is how many buttons a message has room for.
func (c *Channel) ButtonLimit() (rows, perRow int) { return maxRows, maxPerRow }

// buttons renders buttons. It returns an empty list for none, which removes
// them on edit.
func buttons(rows [][]channels.Button) []discordgo.MessageComponent {
	out := []discordgo.MessageComponent{}
	for _, row := range rows[:min(len(rows), maxRows)] {
		var list []discordgo.MessageComponent
		for _, b := range row[:min(len(row), maxPerRow)] {
			style := discordgo.SecondaryButton
			switch b.Style {
			case "primary":
				style = discordgo.PrimaryButton
			case "danger":
				style = discordgo.DangerButton
			}
			label := []rune(b.Label)
			list = append(list, discordgo.Button{Label: string(label[:min(len(label), maxLabel)]), Style: style, CustomID: b.Data})
		}
		if len(list) > 0 {
			out = append(out, discordgo.ActionsRow{Components: list})
		}
	}
	return out
}
