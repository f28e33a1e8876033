package channeltest

import (
	"strconv"
	"time"
)

// discordInteraction is a click or a command, and what the bot answered.
type discordInteraction struct {
	id, token, channel, message, user string
	kind                              int
	at                                time.Time
	answer                            DiscordAnswer
	answered                          bool
}

// DiscordAnswer is what the bot answered to an interaction.
type DiscordAnswer struct {
	// Type is Discord's: 4 a message, 5 a message to come, 6 nothing to come.
	Type int
	// Text as it is now; empty while a message is still to come.
	Text      string
	Ephemeral bool
	Deleted   bool
	// FollowUps are further messages.
	FollowUps []string
	At        time.Duration // after the interaction
}

// Press has a person press a button of a message; it tells the interaction's
// id, empty if there is no such button.
func (d *Discord) Press(channel, user, message, customID string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.channel(channel)
	m := c.all[message]
	if m == nil || m.Deleted {
		return ""
	}
	found := false
	for _, row := range m.Buttons {
		for _, b := range row {
			found = found || b.CustomID == customID
		}
	}
	if !found {
		return ""
	}
	return d.interact(c, user, 3, map[string]any{
		"message": d.wireMessage(m, false), "data": map[string]any{"custom_id": customID, "component_type": 2},
	}, message)
}

// Slash has a person use a slash command; it tells the interaction's id.
func (d *Discord) Slash(channel, user, name string, options map[string]string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := []any{}
	for k, v := range options {
		list = append(list, map[string]any{"name": k, "type": 3, "value": v})
	}
	return d.interact(d.channel(channel), user, 2, map[string]any{
		"data": map[string]any{"id": "1", "name": name, "type": 1, "options": list},
	}, "")
}

func (d *Discord) interact(c *discordChannel, user string, kind int, more map[string]any, message string) string {
	i := &discordInteraction{id: d.newID(), channel: c.id, message: message, user: user, kind: kind, at: time.Now()}
	i.token = "interaction-token-" + i.id
	d.interactions[i.id] = i
	out := map[string]any{
		"id": i.id, "application_id": d.cfg.BotID, "type": kind, "token": i.token, "version": 1, "channel_id": c.id,
		"channel": d.wireChannel(c), "locale": "en-US",
	}
	if c.guild != "" {
		member := d.wireMember(user)
		member["user"], member["permissions"] = d.wireUser(user), strconv.FormatInt(d.memberPermissions(c.guild, user), 10)
		out["guild_id"], out["member"] = c.guild, member
	} else {
		out["user"] = d.wireUser(user)
	}
	d.dispatch("INTERACTION_CREATE", fields(out, more), c.guild, 0)
	return i.id
}

func (d *Discord) memberPermissions(guild, user string) int64 {
	g := d.guilds[guild]
	if g == nil {
		return 0
	}
	p := g.roles[guild].Permissions
	for _, id := range d.person(user).Roles {
		p |= g.roles[id].Permissions
	}
	return p
}

// callback is the first answer to an interaction.
func (d *Discord) callback(req *discordRequest) (any, *discordError) {
	var body struct {
		Type int         `json:"type"`
		Data discordBody `json:"data"`
	}
	if err := req.decode(&body); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	i := d.interactions[req.ids[0]]
	switch {
	case i == nil || i.token != req.ids[1], !i.answered && time.Since(i.at) > d.cfg.InteractionTimeout:
		return nil, dcRefuse(404, 10062, "Unknown interaction")
	case i.answered:
		return nil, dcRefuse(400, 40060, "Interaction has already been acknowledged.")
	case body.Type < 4 || body.Type > 6 || body.Type == 6 && i.kind != 3:
		return nil, dcInvalid("type", "BASE_TYPE_CHOICES", "This answer is not possible.")
	}
	i.answer.Type, i.answer.At = body.Type, time.Since(i.at)
	i.answer.Ephemeral = body.Data.Flags != nil && *body.Data.Flags&discordEphemeral != 0
	if body.Type == 4 {
		if err := d.answerWith(i, &body.Data); err != nil {
			return nil, err
		}
	}
	i.answered = true
	d.changed.wake()
	return nil, nil
}

// answerWith makes the body the text of an answer. d.mu is held.
func (d *Discord) answerWith(i *discordInteraction, body *discordBody) *discordError {
	m := &DiscordMessage{}
	if err := m.put(body, false); err != nil {
		return err
	}
	i.answer.Text = m.Text
	return nil
}

// byToken finds an interaction that was answered and whose token is good.
// d.mu is held.
func (d *Discord) byToken(token string) (*discordInteraction, *discordError) {
	for _, i := range d.interactions {
		if i.token == token && i.answered && time.Since(i.at) < 15*time.Minute {
			return i, nil
		}
	}
	return nil, dcRefuse(401, 50027, "Invalid Webhook Token")
}

func (d *Discord) editOriginal(req *discordRequest) (any, *discordError) {
	var body discordBody
	if err := req.decode(&body); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	i, err := d.byToken(req.ids[1])
	if err != nil {
		return nil, err
	}
	if i.answer.Deleted || i.answer.Type == 6 {
		return nil, errUnknownMessage
	}
	if err := d.answerWith(i, &body); err != nil {
		return nil, err
	}
	d.changed.wake()
	return map[string]any{"id": "1" + i.id, "channel_id": i.channel, "content": i.answer.Text}, nil
}

func (d *Discord) deleteOriginal(req *discordRequest) (any, *discordError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, err := d.byToken(req.ids[1])
	if err != nil {
		return nil, err
	}
	i.answer.Deleted = true
	d.changed.wake()
	return nil, nil
}

func (d *Discord) followUp(req *discordRequest) (any, *discordError) {
	var body discordBody
	if err := req.decode(&body); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	i, err := d.byToken(req.ids[1])
	if err != nil {
		return nil, err
	}
	m := &DiscordMessage{}
	if err := m.put(&body, false); err != nil {
		return nil, err
	}
	i.answer.FollowUps = append(i.answer.FollowUps, m.Text)
	d.changed.wake()
	return map[string]any{"id": d.newID(), "channel_id": i.channel, "content": m.Text}, nil
}
