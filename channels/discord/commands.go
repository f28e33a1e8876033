package discord

import (
	"context"
	"strings"
	"unicode"

	"github.com/bwmarrin/discordgo"

	"clawbot/channels"
)

var _ channels.Commander = (*Channel)(nil)

// Discord's bounds for commands.
const (
	maxCommands    = 100
	maxCommandName = 32  // characters
	maxCommandText = 100 // characters
)

// inputOption is what may be written after a command.
const inputOption = "input"

// RegisterCommands makes the commands slash commands, everywhere the bot is. It
// changes nothing if they are so already: Discord allows few changes a day.
func (c *Channel) RegisterCommands(ctx context.Context, commands []channels.Command) error {
	app, err := c.application(ctx)
	if err != nil {
		return err
	}
	wanted := c.slashCommands(commands)
	address := discordgo.EndpointApplicationGlobalCommands(app)
	var there []*discordgo.ApplicationCommand
	if err := c.call(ctx, request{op: "commands", method: "GET", address: address, major: app}, &there); err != nil {
		return err
	}
	if sameCommands(there, wanted) {
		return nil
	}
	return c.call(ctx, request{op: "set commands", method: "PUT", address: address, major: app, body: wanted, timeout: finalTimeout}, nil)
}

// slashCommands leaves out names that Discord does not take: they still work as
// text.
func (c *Channel) slashCommands(commands []channels.Command) []*discordgo.ApplicationCommand {
	list := []*discordgo.ApplicationCommand{}
	seen := map[string]bool{}
	for _, command := range commands {
		name := strings.ToLower(strings.TrimPrefix(command.Name, "/"))
		bad := strings.IndexFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' })
		if name == "" || bad >= 0 || len([]rune(name)) > maxCommandName || seen[name] || len(list) == maxCommands {
			c.log.Debug("a command that can't be a slash command", "command", name)
			continue
		}
		seen[name] = true
		text := []rune(strings.TrimSpace(command.Description))
		if len(text) == 0 {
			text = []rune(name)
		}
		list = append(list, &discordgo.ApplicationCommand{
			Type: discordgo.ChatApplicationCommand, Name: name, Description: string(text[:min(len(text), maxCommandText)]),
			Options: []*discordgo.ApplicationCommandOption{{
				Type: discordgo.ApplicationCommandOptionString, Name: inputOption, Description: "What goes with the command",
			}},
		})
	}
	return list
}

func sameCommands(there, wanted []*discordgo.ApplicationCommand) bool {
	if len(there) != len(wanted) {
		return false
	}
	byName := map[string]*discordgo.ApplicationCommand{}
	for _, t := range there {
		byName[t.Name] = t
	}
	for _, w := range wanted {
		t := byName[w.Name]
		if t == nil || t.Description != w.Description || len(t.Options) != len(w.Options) {
			return false
		}
		for i, o := range w.Options {
			if t.Options[i] == nil || t.Options[i].Name != o.Name || t.Options[i].Type != o.Type || t.Options[i].Description != o.Description {
				return false
			}
		}
	}
	return true
}

// application is the id under which commands are registered. The gateway tells
// it, too.
func (c *Channel) application(ctx context.Context) (string, error) {
	if id := c.app.Load(); id != nil {
		return *id, nil
	}
	app, err := c.getApplication(ctx)
	if err != nil {
		return "", err
	}
	c.app.Store(&app.ID)
	return app.ID, nil
}
