package channeltest

import (
	"maps"
	"math/rand/v2"
	"strings"
)

// SlackIncoming is a message that a person sends.
type SlackIncoming struct {
	Channel, User string
	// Text as typed; &, < and > are escaped unless Raw is set. A mention is
	// written Slack.Mention().
	Text string
	Raw  bool
	// Thread is the root's ts.
	Thread string
	// Subtype of the event, such as thread_broadcast.
	Subtype string
	// File is attached.
	File *File
	// FileSize is declared instead of the real size, if larger; ExternalURL
	// makes the file a link to elsewhere.
	FileSize    int64
	ExternalURL string
	// Only restricts a mention's twins to one: "message" or "app_mention".
	// First names the one that is delivered first; by default it is random.
	Only, First string
	// Bot is the bot_id of another bot that wrote.
	Bot string
	// Silent makes the message without an event.
	Silent bool
	// Extra fields of the event.
	Extra map[string]any
}

// SendText is Send of a plain text in a channel; it returns the message's ts.
func (s *Slack) SendText(channel, user, text string) string {
	return s.Send(SlackIncoming{Channel: channel, User: user, Text: text})
}

// Direct is the id of a person's direct conversation with the bot.
func (s *Slack) Direct(user string) string { return "D" + strings.TrimPrefix(user, "U") }

var slackTyped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// typed escapes a text but for the mention of the bot.
func (s *Slack) typed(text string) string {
	parts := strings.Split(text, s.Mention())
	for i := range parts {
		parts[i] = slackTyped.Replace(parts[i])
	}
	return strings.Join(parts, s.Mention())
}

// Send has a person send a message and returns its ts. A mention in a channel
// is delivered twice, as an app_mention and as a message.
func (s *Slack) Send(in SlackIncoming) string {
	c := s.channel(in.Channel, true)
	m := &SlackMessage{TS: s.now(), User: in.User, Thread: in.Thread, Text: in.Text, File: in.File}
	if !in.Raw {
		m.Text = s.typed(in.Text)
	}
	if in.File != nil {
		f := s.addFile(&slackFile{File: *in.File, declared: in.FileSize, elsewhere: in.ExternalURL})
		m.files = []slackObject{s.fileWire(f)}
		in.Subtype = "file_share"
	}
	c.mu.Lock()
	c.add(m)
	event := s.wire(m)
	if root := c.messages[in.Thread]; root != nil {
		event["parent_user_id"] = root.User
	}
	c.mu.Unlock()
	if in.Bot != "" {
		event["bot_id"], in.Subtype = in.Bot, "bot_message"
	}
	maps.Copy(event, in.Extra)
	if !in.Silent {
		s.announce(c, in, event)
	}
	return m.TS
}

// announce delivers a message, and its twin.
func (s *Slack) announce(c *slackChannel, in SlackIncoming, event slackObject) {
	event["channel"], event["event_ts"] = c.id, event["ts"]
	message := copyObject(event)
	message["channel_type"] = c.kind
	if in.Subtype != "" {
		message["subtype"] = in.Subtype
	}
	twins := []slackObject{message}
	text, _ := event["text"].(string)
	if c.kind != "im" && strings.Contains(text, s.Mention()) {
		mention := copyObject(event)
		mention["type"] = "app_mention"
		twins = append(twins, mention)
		if in.First == "app_mention" || in.First == "" && rand.IntN(2) == 0 {
			twins[0], twins[1] = twins[1], twins[0]
		}
	}
	for _, twin := range twins {
		if in.Only == "" || in.Only == twin["type"] {
			s.Event(twin)
		}
	}
}

func copyObject(o slackObject) slackObject {
	out := make(slackObject, len(o)+2)
	maps.Copy(out, o)
	return out
}

// Event delivers an inner event of any type.
func (s *Slack) Event(event map[string]any) { s.EventFrom(s.cfg.Team, s.cfg.App, event) }

// EventFrom delivers an inner event in the name of another workspace or app.
func (s *Slack) EventFrom(team, app string, event map[string]any) {
	s.push("events_api", slackObject{
		"token": "deprecated", "team_id": team, "api_app_id": app, "event": event, "type": "event_callback", "event_id": s.id("Ev"),
		"event_time": 0, "authorizations": []slackObject{{"team_id": team, "user_id": s.cfg.BotUser, "is_bot": true}}, "event_context": "4-fake",
	})
}

// echo delivers the bot's own message to it.
func (s *Slack) echo(c *slackChannel, wire slackObject) {
	if s.cfg.NoEcho {
		return
	}
	event := copyObject(wire)
	event["channel"], event["channel_type"], event["event_ts"] = c.id, c.kind, wire["ts"]
	s.Event(event)
}

// echoChange delivers a change of the bot's own message to it.
func (s *Slack) echoChange(c *slackChannel, before, after slackObject) {
	if !s.cfg.NoEcho {
		s.changed(c, before, after)
	}
}

func (s *Slack) changed(c *slackChannel, before, after slackObject) {
	stamp := s.now()
	s.Event(slackObject{
		"type": "message", "subtype": "message_changed", "hidden": true, "channel": c.id, "channel_type": c.kind,
		"ts": stamp, "event_ts": stamp, "message": after, "previous_message": before,
	})
}

// Edit has a person change the text of a message of theirs.
func (s *Slack) Edit(channel, ts, text string) {
	s.revise(channel, ts, func(m *SlackMessage, after slackObject) {
		m.Text, m.edited = s.typed(text), s.now()
		after["text"] = m.Text
		after["edited"] = slackObject{"user": m.User, "ts": m.edited}
	})
}

// Unfurl has Slack add a preview of a link to a message, which is told as a
// change.
func (s *Slack) Unfurl(channel, ts string) {
	s.revise(channel, ts, func(_ *SlackMessage, after slackObject) {
		after["attachments"] = []slackObject{{"from_url": "https://example.org", "title": "Example", "fallback": "Example"}}
	})
}

// Touch has Slack tell a change of a message that changes nothing people see,
// as it does for the counts of a thread's root.
func (s *Slack) Touch(channel, ts string) {
	s.revise(channel, ts, func(_ *SlackMessage, after slackObject) { after["reply_count"] = 3 })
}

func (s *Slack) revise(channel, ts string, change func(*SlackMessage, slackObject)) {
	c := s.channel(channel, true)
	c.mu.Lock()
	m := c.messages[ts]
	if m == nil {
		c.mu.Unlock()
		return
	}
	before := s.wire(m)
	after := copyObject(before)
	change(m, after)
	c.mu.Unlock()
	s.changed(c, before, after)
}

// Delete has a person delete a message of theirs.
func (s *Slack) Delete(channel, ts string) {
	c := s.channel(channel, true)
	c.mu.Lock()
	m := c.messages[ts]
	if m == nil {
		c.mu.Unlock()
		return
	}
	m.Deleted = true
	before := s.wire(m)
	c.changed.wake()
	c.mu.Unlock()
	stamp := s.now()
	s.Event(slackObject{
		"type": "message", "subtype": "message_deleted", "hidden": true, "channel": c.id, "channel_type": c.kind,
		"ts": stamp, "event_ts": stamp, "deleted_ts": ts, "previous_message": before,
	})
}

// Press has a person press a button of a message of the bot.
func (s *Slack) Press(channel, user, ts, value string) {
	c := s.channel(channel, true)
	c.mu.Lock()
	m := c.messages[ts]
	container := slackObject{"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": false}
	message := slackObject{"ts": ts}
	if m != nil {
		message = s.wire(m)
		if m.Thread != "" {
			container["thread_ts"] = m.Thread
		}
	}
	c.mu.Unlock()
	s.push("interactive", slackObject{
		"type": "block_actions", "api_app_id": s.cfg.App, "team": slackObject{"id": s.cfg.Team, "domain": "fake"},
		"user":    slackObject{"id": user, "name": strings.ToLower(user), "team_id": s.personTeam(user)},
		"channel": slackObject{"id": channel, "name": c.name}, "container": container, "message": message, "trigger_id": s.id("trigger."),
		"actions": []slackObject{{"type": "button", "action_id": "x", "block_id": "y", "value": value, "action_ts": s.now()}},
	})
}

// Slash has a person use a slash command.
func (s *Slack) Slash(channel, user, command, text string) {
	c := s.channel(channel, true)
	s.push("slash_commands", map[string]string{
		"command": command, "text": text, "team_id": s.cfg.Team, "api_app_id": s.cfg.App, "channel_id": channel, "channel_name": c.name,
		"user_id": user, "user_name": strings.ToLower(user), "trigger_id": s.id("trigger."), "response_url": "https://hooks.slack.com/commands/fake",
	})
}

// Interact delivers an interaction of any form.
func (s *Slack) Interact(payload map[string]any) { s.push("interactive", payload) }
