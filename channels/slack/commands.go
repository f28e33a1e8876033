package slack

import (
	"context"
	"strings"
	"sync"
	"time"

	"clawbot/channels"
)

const (
	// talksKept is how long a slash command goes to the thread that its user
	// wrote to the bot in last.
	talksKept = 24 * time.Hour
	keptTalks = 4096
)

// talks knows in which thread of a channel people wrote to the bot last: Slack
// does not say beside which thread a slash command was typed.
type talks struct {
	mu sync.Mutex
	by map[string]talk // by user and channel
}

type talk struct {
	thread string
	at     time.Time
}

// note remembers that a message in a thread was meant for the bot.
func (t *talks) note(in *channels.Inbound) {
	if in.Kind != channels.Message || in.Sender.Bot || in.Target.Thread == "" || !in.Addressed && !in.Continues {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil || len(t.by) >= keptTalks {
		t.by = map[string]talk{}
	}
	t.by[in.Sender.ID+" "+in.Target.Chat] = talk{in.Target.Thread, time.Now()}
}

// last is the thread that somebody wrote to the bot in last; empty if none is
// known.
func (t *talks) last(user, channel string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.by[user+" "+channel]
	if time.Since(known.at) > talksKept {
		return ""
	}
	return known.thread
}

// RegisterCommands notes which words are commands: "/clawbot stop" is one, and
// "/clawbot what is up" is a question. Slack itself learns an app's commands
// from its manifest.
func (c *Channel) RegisterCommands(_ context.Context, commands []channels.Command) error {
	known := make(map[string]bool, len(commands))
	for _, command := range commands {
		known[strings.ToLower(strings.TrimPrefix(command.Name, "/"))] = true
	}
	c.commands.Store(&known)
	return nil
}

// readSlash turns a slash command into a message: a command if its first word,
// or the command's own name, is one.
func (c *Channel) readSlash(payload []byte) []*arrival {
	var s slash
	if !c.decode(payload, &s) || s.Channel == "" || s.User == "" || !c.mine(s.Team, s.Enterprise, s.App) {
		return nil
	}
	known := func(word string) bool {
		list := c.commands.Load()
		return list != nil && (*list)[strings.ToLower(strings.TrimPrefix(word, "/"))]
	}
	text := strings.TrimSpace(s.Text)
	word, _, _ := strings.Cut(text, " ")
	switch {
	case known(s.Command):
		text = strings.TrimSpace("/" + strings.TrimPrefix(s.Command, "/") + " " + text)
	case text == "":
		text = "/help"
	case known(word):
		text = "/" + strings.TrimPrefix(text, "/")
	}
	direct := strings.HasPrefix(s.Channel, "D")
	to := c.target(s.Channel, "", "", direct)
	if strings.HasPrefix(text, "/") {
		if thread := c.talks.last(s.User, s.Channel); thread != "" {
			to = c.target(s.Channel, thread, "", direct)
			to.Thread, to.ReplyTo = thread, thread
			to.Conversation = conversationOf(c.me.Load().team, s.Channel, thread)
		}
	}
	to.User = s.User
	return []*arrival{{lane: s.Channel, raw: text, in: &channels.Inbound{
		Kind: channels.Message, EventID: "slack:" + c.me.Load().team + ":command:" + s.Trigger, Target: to,
		Sender: channels.Sender{ID: s.User, Name: s.UserName}, Addressed: true, At: time.Now(),
	}}}
}
