package channeltest

import (
	"strconv"
	"strings"
)

func (d *Discord) getGateway(req *discordRequest) (any, *discordError) {
	url := "ws://" + d.listener.Addr().String() + "/ws"
	if req.route == "getGateway" {
		return map[string]any{"url": url}, nil
	}
	return map[string]any{
		"url": url, "shards": d.cfg.Shards,
		"session_start_limit": map[string]any{"total": 1000, "remaining": 999, "reset_after": 1000, "max_concurrency": 1},
	}, nil
}

func (d *Discord) getMe(*discordRequest) (any, *discordError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wireUser(d.cfg.BotID), nil
}

func (d *Discord) getGuilds(*discordRequest) (any, *discordError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := []any{}
	for _, g := range d.guilds {
		out = append(out, map[string]any{
			"id": g.id, "name": g.name, "owner": false,
			"permissions": strconv.FormatInt(discordAllPermissions&^g.denied, 10),
		})
	}
	return out, nil
}

// The application flags that tell about the message content intent.
const flagMessageContent = 1 << 19

func (d *Discord) getApplication(*discordRequest) (any, *discordError) {
	flags := flagMessageContent
	if d.cfg.NoMessageContent {
		flags = 0
	}
	return map[string]any{"id": d.cfg.BotID, "name": d.cfg.Username, "flags": flags}, nil
}

func (d *Discord) getGuild(req *discordRequest) (any, *discordError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.guilds[req.ids[0]]
	if g == nil {
		return nil, dcRefuse(404, 10004, "Unknown Guild")
	}
	out := d.wireGuild(g)
	delete(out, "channels")
	delete(out, "threads")
	return out, nil
}

func (d *Discord) getMember(req *discordRequest) (any, *discordError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.people[req.ids[1]]; !ok {
		return nil, dcRefuse(404, 10007, "Unknown Member")
	}
	out := d.wireMember(req.ids[1])
	out["user"] = d.wireUser(req.ids[1])
	return out, nil
}

// DiscordCommand is a registered slash command.
type DiscordCommand struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Type        int              `json:"type"`
	Description string           `json:"description"`
	Options     []map[string]any `json:"options,omitempty"`
}

func (d *Discord) getCommands(*discordRequest) (any, *discordError) {
	return append([]DiscordCommand{}, d.Commands()...), nil
}

func (d *Discord) putCommands(req *discordRequest) (any, *discordError) {
	var list []DiscordCommand
	if err := req.decode(&list); err != nil {
		return nil, err
	}
	if len(list) > 100 {
		return nil, dcRefuse(400, 30032, "Maximum number of application commands reached (100)")
	}
	seen := map[string]bool{}
	for _, c := range list {
		n := len([]rune(c.Name))
		if n < 1 || n > 32 || strings.ToLower(c.Name) != c.Name || strings.ContainsAny(c.Name, " /") {
			return nil, dcInvalid("name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
		}
		if n := len([]rune(c.Description)); n < 1 || n > 100 {
			return nil, dcInvalid("description", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
		}
		if seen[c.Name] {
			return nil, dcInvalid("name", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique")
		}
		seen[c.Name] = true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range list {
		list[i].ID, list[i].Type = d.newID(), 1
	}
	d.commands = list
	d.commandPuts++
	d.changed.wake()
	return append([]DiscordCommand{}, list...), nil
}

// Commands returns the registered slash commands.
func (d *Discord) Commands() []DiscordCommand {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]DiscordCommand(nil), d.commands...)
}
