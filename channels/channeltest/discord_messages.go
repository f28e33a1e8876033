package channeltest

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

const (
	discordMaxText   = 2000 // UTF-16 units, the stricter reading
	discordMaxNonce  = 25
	discordMaxFile   = 10 << 20
	discordEphemeral = 1 << 6
)

// discordBody is what a bot sends to make or change a message.
type discordBody struct {
	Content    *string          `json:"content"`
	Nonce      json.RawMessage  `json:"nonce"`
	Enforce    bool             `json:"enforce_nonce"`
	Allowed    *discordAllowed  `json:"allowed_mentions"`
	Reference  *discordRef      `json:"message_reference"`
	Components *json.RawMessage `json:"components"`
	Flags      *int             `json:"flags"`
}

type discordRef struct {
	MessageID string `json:"message_id"`
	ChannelID string `json:"channel_id"`
	FailIfNot *bool  `json:"fail_if_not_exists"`
}

// discordAllowed is what a message may notify.
type discordAllowed struct {
	Parse       []string `json:"parse"`
	Users       []string `json:"users"`
	Roles       []string `json:"roles"`
	RepliedUser bool     `json:"replied_user"`
}

func (a *discordAllowed) permits(who string) bool {
	switch {
	case who == "@everyone" || who == "@here":
		return slices.Contains(a.Parse, "everyone")
	case strings.HasPrefix(who, "@&"):
		return slices.Contains(a.Parse, "roles") || slices.Contains(a.Roles, who[2:])
	}
	return slices.Contains(a.Parse, "users") || slices.Contains(a.Users, who[1:])
}

// open finds a channel for a call and checks what the bot may do there. d.mu is
// held.
func (d *Discord) open(id string, need int64) (*discordChannel, *discordError) {
	c := d.channels[id]
	if c == nil {
		return nil, errUnknownChannel
	}
	has := d.permissions(c)
	switch {
	case has&DiscordViewChannel == 0 && c.kind == DiscordDM:
		return nil, dcRefuse(403, 50007, "Cannot send messages to this user")
	case has&DiscordViewChannel == 0:
		return nil, errMissingAccess
	case has&need != need:
		return nil, errMissingRights
	}
	return c, nil
}

// sendRight is what it takes to send in a channel.
func (c *discordChannel) sendRight() int64 {
	if c != nil && c.isThread() {
		return DiscordSendInThreads
	}
	return DiscordSend
}

func (d *Discord) createMessage(req *discordRequest) (any, *discordError) {
	var body discordBody
	if err := req.decode(&body); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := d.open(req.ids[0], d.channels[req.ids[0]].sendRight())
	if err != nil {
		return nil, err
	}
	switch {
	case c.kind == DiscordForum:
		return nil, dcRefuse(400, 50008, "Cannot send messages in a non-text channel")
	case c.locked:
		return nil, dcRefuse(403, 160005, "Thread is locked")
	case len(req.files) > 0 && d.permissions(c)&DiscordAttachFiles == 0:
		return nil, errMissingRights
	}
	nonce, err := body.nonce()
	if err != nil {
		return nil, err
	}
	if m := c.byNonce(nonce); m != nil && body.Enforce {
		return d.wireMessage(m, true), nil
	}
	m, err := d.draw(c, req, &body)
	if err != nil {
		return nil, err
	}
	c.archived = false
	m.nonce, m.enforced = nonce, body.Enforce
	d.add(c, m)
	return d.wireMessage(m, true), nil
}

// draw makes a message of the bot without adding it. d.mu is held.
func (d *Discord) draw(c *discordChannel, req *discordRequest, body *discordBody) (*DiscordMessage, *discordError) {
	m := &DiscordMessage{Author: d.cfg.BotID, At: time.Now(), Files: req.files}
	if body.Flags != nil {
		m.Flags = *body.Flags
	}
	if err := m.put(body, len(req.files) > 0); err != nil {
		return nil, err
	}
	for i := range m.Files {
		if len(m.Files[i].Data) > discordMaxFile {
			return nil, dcRefuse(413, 40005, "Request entity too large")
		}
		m.Files[i].ID = d.newID()
	}
	if ref := body.Reference; ref != nil {
		switch strict := ref.FailIfNot == nil || *ref.FailIfNot; {
		case c != nil && c.all[ref.MessageID] != nil && !c.all[ref.MessageID].Deleted:
			m.ReplyTo, m.Type, m.reference = ref.MessageID, 19, c.id
		case strict:
			return nil, dcInvalid("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
		}
	}
	return m, nil
}

// put checks a body and takes its text and components over.
func (m *DiscordMessage) put(body *discordBody, files bool) *discordError {
	if a := body.Allowed; a != nil {
		for _, p := range a.Parse {
			if p != "roles" && p != "users" && p != "everyone" {
				return dcInvalid("allowed_mentions", "BASE_TYPE_CHOICES", "Value must be one of {'roles', 'users', 'everyone'}.")
			}
		}
		if slices.Contains(a.Parse, "users") && len(a.Users) > 0 || slices.Contains(a.Parse, "roles") && len(a.Roles) > 0 {
			return dcInvalid("allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", "parse and ids are mutually exclusive")
		}
	}
	text := m.Text
	if body.Content != nil {
		text = *body.Content
	}
	if len(utf16.Encode([]rune(text))) > discordMaxText {
		return dcInvalid("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.")
	}
	if strings.TrimSpace(text) == "" && !files && len(m.Files) == 0 {
		return dcRefuse(400, 50006, "Cannot send an empty message")
	}
	if body.Components != nil {
		rows, err := readButtons(*body.Components)
		if err != nil {
			return err
		}
		m.Buttons = rows
	}
	m.Text = strings.TrimSpace(text)
	m.Pings = append(m.Pings, pings(m.Text, body.Allowed)...)
	return nil
}

func (b *discordBody) nonce() (string, *discordError) {
	nonce := strings.Trim(string(b.Nonce), `"`)
	if nonce == "null" {
		nonce = ""
	}
	if len(nonce) > discordMaxNonce {
		return "", dcInvalid("nonce", "NONCE_TYPE_TOO_LONG", "Must be 25 or fewer in length.")
	}
	return nonce, nil
}

func (c *discordChannel) byNonce(nonce string) *DiscordMessage {
	for _, m := range slices.Backward(c.order) {
		if nonce != "" && m.nonce == nonce && m.enforced && time.Since(m.At) < 3*time.Minute {
			return m
		}
	}
	return nil
}

// readButtons checks components: action rows of buttons are all a bot sends.
func readButtons(raw json.RawMessage) ([][]DiscordButton, *discordError) {
	var rows []struct {
		Type       int             `json:"type"`
		Components []DiscordButton `json:"components"`
	}
	if string(raw) == "null" {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &rows); err != nil || len(rows) > 5 {
		return nil, dcInvalid("components", "BASE_TYPE_BAD_LENGTH", "Must be between 0 and 5 in length.")
	}
	seen := map[string]bool{}
	var out [][]DiscordButton
	for _, row := range rows {
		if row.Type != 1 || len(row.Components) == 0 || len(row.Components) > 5 {
			return nil, dcInvalid("components", "BASE_TYPE_BAD_LENGTH", "An action row holds 1 to 5 buttons.")
		}
		for _, b := range row.Components {
			switch {
			case b.Type != 2 || b.Style < 1 || b.Style > 5, b.Label == "" || len([]rune(b.Label)) > 80:
				return nil, dcInvalid("components", "BUTTON_COMPONENT_INVALID", "A button needs a label of 1 to 80 characters and a style.")
			case b.Style != 5 && (b.CustomID == "" || len([]rune(b.CustomID)) > 100):
				return nil, dcInvalid("components", "BUTTON_COMPONENT_CUSTOM_ID_REQUIRED", "A custom id of 1 to 100 characters is required")
			case seen[b.CustomID]:
				return nil, dcInvalid("components", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated")
			}
			seen[b.CustomID] = true
		}
		out = append(out, row.Components)
	}
	return out, nil
}

// add stores a message, gives it its id and tells everybody. d.mu is held.
func (d *Discord) add(c *discordChannel, m *DiscordMessage) {
	if m.ID == "" {
		m.ID = d.newID()
	}
	m.Channel, m.At = c.id, time.Now()
	m.note(d.cfg.Lean)
	c.all[m.ID] = m
	c.order = append(c.order, m)
	c.last = m.ID
	c.changed.wake()
	d.dispatch("MESSAGE_CREATE", d.wireMessage(m, true), c.guild, c.intent())
}

func (m *DiscordMessage) note(lean bool) {
	if !lean || len(m.History) == 0 {
		m.History = append(m.History, m.Text)
	}
}

func (d *Discord) editMessage(req *discordRequest) (any, *discordError) {
	var body discordBody
	if err := req.decode(&body); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := d.open(req.ids[0], 0)
	if err != nil {
		return nil, err
	}
	m := c.all[req.ids[1]]
	switch {
	case m == nil || m.Deleted:
		return nil, errUnknownMessage
	case m.Author != d.cfg.BotID:
		return nil, dcRefuse(403, 50005, "Cannot edit a message authored by another user")
	case c.archived:
		return nil, dcRefuse(400, 50083, "Thread is archived")
	}
	if err := m.put(&body, false); err != nil {
		return nil, err
	}
	if body.Flags != nil {
		m.Flags = m.Flags&^4 | *body.Flags&4
	}
	m.Edited = time.Now()
	m.note(d.cfg.Lean)
	c.changed.wake()
	out := d.wireMessage(m, false)
	d.dispatch("MESSAGE_UPDATE", out, c.guild, c.intent())
	return out, nil
}

func (d *Discord) deleteMessage(req *discordRequest) (any, *discordError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := d.open(req.ids[0], 0)
	if err != nil {
		return nil, err
	}
	m := c.all[req.ids[1]]
	if m == nil || m.Deleted {
		return nil, errUnknownMessage
	}
	if m.Author != d.cfg.BotID && d.permissions(c)&DiscordManageMessages == 0 {
		return nil, errMissingRights
	}
	d.remove(c, m)
	return nil, nil
}

func (d *Discord) remove(c *discordChannel, m *DiscordMessage) {
	m.Deleted = true
	c.changed.wake()
	d.dispatch("MESSAGE_DELETE", map[string]any{"id": m.ID, "channel_id": c.id, "guild_id": c.guildOrNil()}, c.guild, c.intent())
}

func (d *Discord) getMessage(req *discordRequest) (any, *discordError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := d.open(req.ids[0], DiscordReadHistory)
	if err != nil {
		return nil, err
	}
	m := c.all[req.ids[1]]
	if m == nil || m.Deleted {
		return nil, errUnknownMessage
	}
	return d.wireHistory(m), nil
}

// getMessages lists messages, the newest first; nonces are not in a history.
func (d *Discord) getMessages(req *discordRequest) (any, *discordError) {
	limit, after := 50, req.query("after")
	if n, err := strconv.Atoi(req.query("limit")); err == nil {
		limit = n
	}
	if limit < 1 || limit > 100 {
		return nil, dcInvalid("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100.")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := d.open(req.ids[0], 0)
	if err != nil {
		return nil, err
	}
	out := []any{}
	if d.permissions(c)&DiscordReadHistory == 0 {
		return out, nil
	}
	var list []*DiscordMessage
	for _, m := range c.order {
		if !m.Deleted && newer(m.ID, after) {
			list = append(list, m)
		}
	}
	if after != "" {
		list = list[:min(len(list), limit)]
	} else {
		list = list[max(0, len(list)-limit):]
	}
	for _, m := range slices.Backward(list) {
		out = append(out, d.wireHistory(m))
	}
	return out, nil
}

// newer compares snowflakes.
func newer(a, b string) bool { return len(a) > len(b) || len(a) == len(b) && a > b }

func (d *Discord) addReaction(req *discordRequest) (any, *discordError) {
	return d.react(req, true)
}

func (d *Discord) removeReaction(req *discordRequest) (any, *discordError) {
	return d.react(req, false)
}

func (d *Discord) react(req *discordRequest, on bool) (any, *discordError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := d.open(req.ids[0], DiscordReadHistory|DiscordAddReactions)
	if err != nil {
		return nil, err
	}
	m := c.all[req.ids[1]]
	if m == nil || m.Deleted {
		return nil, errUnknownMessage
	}
	emoji, _ := url.PathUnescape(req.ids[2])
	if strings.Trim(emoji, "abcdefghijklmnopqrstuvwxyz") == "" {
		return nil, dcRefuse(400, 10014, "Unknown Emoji")
	}
	m.Reactions = slices.DeleteFunc(m.Reactions, func(e string) bool { return e == emoji })
	if on {
		m.Reactions = append(m.Reactions, emoji)
	}
	c.changed.wake()
	return nil, nil
}

func (d *Discord) postTyping(req *discordRequest) (any, *discordError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, err := d.open(req.ids[0], d.channels[req.ids[0]].sendRight())
	if err != nil {
		return nil, err
	}
	c.typing = append(c.typing, time.Now())
	c.changed.wake()
	return nil, nil
}
