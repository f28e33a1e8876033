package discord

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"clawbot/channels"
)

// refer is how a target names the interaction that it answers.
const refer = "interaction:"

// Discord's types of answers to interactions.
const (
	answerMessage      = 4
	answerLater        = 5 // "… is thinking"
	answerNothing      = 6 // of buttons
	tokenLife          = 14 * time.Minute
	keptInteractions   = 1000
	interactionTimeout = 5 * time.Second
)

// interactions are the clicks and commands that can still be answered.
type interactions struct {
	mu  sync.Mutex
	all map[string]*interaction
}

// interaction is a click or command of one person. Discord wants an answer
// within three seconds, and takes more for a quarter of an hour.
type interaction struct {
	id, token, app string
	kind           int
	command        string
	at             time.Time
	late           *time.Timer

	mu       sync.Mutex
	first    int  // the type of the first answer; 0 if there was none
	answered bool // the first answer says something
}

func (i *interactions) add(it *interaction) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.all == nil {
		i.all = map[string]*interaction{}
	}
	if len(i.all) >= keptInteractions {
		for id, old := range i.all {
			if time.Since(old.at) > tokenLife {
				delete(i.all, id)
			}
		}
	}
	i.all[it.id] = it
}

func (i *interactions) find(id string) *interaction {
	i.mu.Lock()
	defer i.mu.Unlock()
	if it := i.all[id]; it != nil && time.Since(it.at) < tokenLife {
		return it
	}
	delete(i.all, id)
	return nil
}

// ofMessage finds the interaction whose answer has this id.
func (i *interactions) ofMessage(id string) *interaction {
	if rest, ok := strings.CutPrefix(id, refer); ok {
		return i.find(rest)
	}
	return nil
}

// planInteraction takes a click or command: first it becomes durable, then it
// is answered. If that takes long, the answer is put off.
func (c *connection) planInteraction(ctx context.Context, e *interactionEvent) *job {
	if e.Type != interactionCommand && e.Type != interactionComponent || e.ID == "" || e.Token == "" {
		return nil
	}
	it := &interaction{id: e.ID, token: e.Token, app: e.ApplicationID, kind: e.Type, command: e.Data.Name, at: time.Now()}
	c.interactions.add(it)
	c.beside.Add(1)
	it.late = time.AfterFunc(c.pace.lateAnswer, func() { defer c.beside.Done(); c.putOff(ctx, it) })
	return &job{
		lane: e.ChannelID,
		read: func(ctx context.Context) (*channels.Inbound, error) { return c.readInteraction(ctx, e) },
		accepted: func(ctx context.Context, _ *channels.Inbound) {
			if it.late.Stop() {
				c.beside.Done()
			}
			c.beside.Go(func() { c.settle(ctx, it) })
		},
	}
}

// readInteraction makes a message of a command, and a click of a button.
func (c *Channel) readInteraction(ctx context.Context, e *interactionEvent) (*channels.Inbound, error) {
	who, ok := interactionSender(e)
	if !ok || who.ID == "" || !isSnowflake(e.ID) || !isSnowflake(e.ChannelID) {
		return nil, nil
	}
	var ch channelInfo
	switch {
	case e.GuildID == "":
	case e.Channel != nil && e.Channel.ID == e.ChannelID:
		ch = *e.Channel
		ch.GuildID = e.GuildID
	default:
		var err error
		if ch, err = c.channelOf(ctx, e.ChannelID); err != nil {
			return nil, err
		}
	}
	in := &channels.Inbound{
		Kind: channels.Message, EventID: c.eventID("i", e.ID), MessageID: e.ID, Target: c.target(e.GuildID, e.ChannelID, "", &ch),
		Sender: who, Addressed: true, Guild: e.GuildID, RoomName: ch.Name, At: snowflakeTime(e.ID),
	}
	in.Target.ReplyTo, in.Target.User = refer+e.ID, who.ID
	if e.Type == interactionComponent {
		if e.Message == nil || !isSnowflake(e.Message.ID) || e.Data.CustomID == "" {
			return nil, nil
		}
		in.Kind, in.MessageID, in.Text = channels.Click, e.Message.ID, e.Data.CustomID
		return in, nil
	}
	if e.Data.Name == "" {
		return nil, nil
	}
	in.Text = "/" + e.Data.Name
	for _, o := range e.Data.Options {
		if text := strings.TrimSpace(fmt.Sprint(o.Value)); o.Value != nil && text != "" {
			in.Text += " " + text
		}
	}
	return in, nil
}

// answerPrivately shows a message to the one who clicked or used a command. It
// reports false if that is not what is asked, or is not possible any more.
func (c *Channel) answerPrivately(ctx context.Context, to channels.Target, out channels.Outgoing, b *body) (id string, done bool) {
	name, ok := strings.CutPrefix(to.ReplyTo, refer)
	if !ok || !out.Private {
		return "", false
	}
	it := c.interactions.find(name)
	if it == nil {
		return "", false
	}
	b.Flags |= flagEphemeral
	if err := c.answer(ctx, it, b); err != nil {
		c.log.Debug("an interaction was not answered; the answer goes into the channel", "error", err)
		b.Flags &^= flagEphemeral
		return "", false
	}
	return refer + it.id, true
}

// answer says something to the one behind an interaction.
func (c *Channel) answer(ctx context.Context, it *interaction, b *body) error {
	it.mu.Lock()
	defer it.mu.Unlock()
	var err error
	switch {
	case it.first == 0:
		if err = c.callback(ctx, it, answerMessage, b); err == nil {
			it.first = answerMessage
		}
	case it.first == answerLater && !it.answered:
		err = c.webhook(ctx, it, "PATCH", "/messages/@original", b)
	default:
		err = c.webhook(ctx, it, "POST", "", b)
	}
	it.answered = it.answered || err == nil
	return err
}

func (c *Channel) editAnswer(ctx context.Context, it *interaction, b *body) error {
	return c.webhook(ctx, it, "PATCH", "/messages/@original", b)
}

// putOff gives the first answer that nothing can be said yet.
func (c *Channel) putOff(ctx context.Context, it *interaction) {
	it.mu.Lock()
	defer it.mu.Unlock()
	if it.first != 0 || ctx.Err() != nil {
		return
	}
	kind := answerLater
	if it.kind == interactionComponent {
		kind = answerNothing
	}
	if err := c.callback(ctx, it, kind, &body{Flags: flagEphemeral, Allowed: nobody()}); err != nil {
		c.log.Debug("an interaction was not put off", "error", err)
		return
	}
	it.first = kind
}

// settle makes sure that an accepted interaction is answered: what follows
// comes as ordinary messages.
func (c *Channel) settle(ctx context.Context, it *interaction) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), interactionTimeout)
	defer cancel()
	it.mu.Lock()
	answered, first := it.answered, it.first
	it.mu.Unlock()
	switch {
	case answered || first == answerNothing:
		return
	case it.kind == interactionComponent:
		c.putOff(ctx, it)
		return
	}
	b := &body{Content: "Got it: `/" + it.command + "`", Allowed: nobody(), Flags: flagEphemeral}
	if err := c.answer(ctx, it, b); err != nil {
		c.log.Debug("a command was not answered", "command", it.command, "error", err)
	}
}

func (c *Channel) callback(ctx context.Context, it *interaction, kind int, b *body) error {
	data := map[string]any{"type": kind}
	if kind != answerNothing {
		data["data"] = b.answer()
	}
	return c.call(ctx, request{
		op: "answer", method: "POST", address: discordgo.EndpointInteractionResponse(it.id, it.token), major: it.id,
		body: data, foreign: true, timeout: interactionTimeout,
	}, nil)
}

func (c *Channel) webhook(ctx context.Context, it *interaction, method, path string, b *body) error {
	return c.call(ctx, request{
		op: "answer", method: method, address: discordgo.EndpointWebhookToken(it.app, it.token) + path, major: it.id,
		body: b.answer(), foreign: true,
	}, nil)
}

// answer is the body without what answers to interactions don't have.
func (b *body) answer() map[string]any {
	out := map[string]any{"allowed_mentions": b.Allowed}
	if b.Flags != 0 {
		out["flags"] = b.Flags
	}
	if b.Content != "" {
		out["content"] = b.Content
	}
	if len(b.Components) > 0 {
		out["components"] = b.Components
	}
	return out
}
