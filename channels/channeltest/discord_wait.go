package channeltest

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Messages returns the bot's messages in a channel or thread as they are now,
// deleted ones left out.
func (d *Discord) Messages(channel string) []DiscordMessage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.snapshot(d.channels[channel])
}

// Message returns any message; its ID is empty if there is none.
func (d *Discord) Message(channel, id string) DiscordMessage {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.channels[channel]; c != nil && c.all[id] != nil {
		return c.all[id].copy()
	}
	return DiscordMessage{}
}

func (d *Discord) snapshot(c *discordChannel) []DiscordMessage {
	if c == nil {
		return nil
	}
	var out []DiscordMessage
	for _, m := range c.order {
		if m.Author == d.cfg.BotID && !m.Deleted {
			out = append(out, m.copy())
		}
	}
	return out
}

// Wait waits until cond holds for the bot's messages in a channel or thread,
// which may not exist yet.
func (d *Discord) Wait(ctx context.Context, channel string, cond func([]DiscordMessage) bool) ([]DiscordMessage, error) {
	var out []DiscordMessage
	err := await(ctx, func() (bool, <-chan struct{}) {
		d.mu.Lock()
		defer d.mu.Unlock()
		c := d.channels[channel]
		if c == nil {
			return false, d.changed.wait()
		}
		out = d.snapshot(c)
		return cond(out), c.changed.wait()
	})
	if err != nil {
		texts := make([]string, len(out))
		for i, m := range out {
			texts[i] = fmt.Sprintf("#%s %.200q", m.ID, m.Text)
		}
		return out, fmt.Errorf("wait for messages in channel %s, last seen [%s]: %w", channel, strings.Join(texts, ", "), err)
	}
	return out, nil
}

// WaitText waits until a message of the bot in the channel contains text, and
// returns it.
func (d *Discord) WaitText(ctx context.Context, channel, text string) (found DiscordMessage, err error) {
	_, err = d.Wait(ctx, channel, func(all []DiscordMessage) bool {
		for _, m := range all {
			if strings.Contains(m.Text, text) {
				found = m
				return true
			}
		}
		return false
	})
	return found, err
}

// waitState waits for a change outside of channels. cond is called with d.mu
// held.
func (d *Discord) waitState(ctx context.Context, cond func() bool) error {
	return await(ctx, func() (bool, <-chan struct{}) {
		d.mu.Lock()
		defer d.mu.Unlock()
		return cond(), d.changed.wait()
	})
}

// WaitConnected waits until a gateway session is live.
func (d *Discord) WaitConnected(ctx context.Context) error {
	return d.waitState(ctx, func() bool {
		for _, s := range d.sessions {
			if s.conn != nil {
				return true
			}
		}
		return false
	})
}

// WaitGateway waits until so many connections were opened, identified and
// resumed.
func (d *Discord) WaitGateway(ctx context.Context, opened, identified, resumed int) error {
	return d.waitState(ctx, func() bool {
		return d.opened >= opened && d.identified >= identified && d.resumed >= resumed
	})
}

// WaitConfirmed asks every session for a heartbeat and waits until one has
// confirmed everything that was dispatched before.
func (d *Discord) WaitConfirmed(ctx context.Context) error {
	d.mu.Lock()
	want := map[*discordSession]int64{}
	for _, s := range d.sessions {
		want[s] = s.seq
	}
	d.mu.Unlock()
	for s, seq := range want {
		if err := d.waitSeen(ctx, s, seq); err != nil {
			return err
		}
	}
	return nil
}

func (d *Discord) waitSeen(ctx context.Context, s *discordSession, seq int64) error {
	for {
		d.mu.Lock()
		done := s.seen >= seq
		if !done && s.conn != nil && s.conn.sent == len(s.log) {
			s.conn.control = append(s.conn.control, frame(1, nil))
			s.conn.poke()
		}
		changed := d.changed.wait()
		d.mu.Unlock()
		if done {
			return nil
		}
		ask := time.NewTimer(20 * time.Millisecond)
		select {
		case <-changed:
		case <-ask.C:
		case <-ctx.Done():
			ask.Stop()
			return context.Cause(ctx)
		}
		ask.Stop()
	}
}

// WaitAnswer waits until cond holds for the bot's answer to an interaction.
func (d *Discord) WaitAnswer(ctx context.Context, interaction string, cond func(DiscordAnswer) bool) (DiscordAnswer, error) {
	var out DiscordAnswer
	err := d.waitState(ctx, func() bool {
		i := d.interactions[interaction]
		if i == nil || !i.answered {
			return false
		}
		out = i.answer
		return cond == nil || cond(out)
	})
	return out, err
}

// Typing returns how often the bot showed that it writes in a channel.
func (d *Discord) Typing(channel string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.channels[channel]; c != nil {
		return len(c.typing)
	}
	return 0
}

// HasChannel tells whether there is such a channel or thread, and its name.
func (d *Discord) HasChannel(id string) (name string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.channels[id]
	if c == nil {
		return "", false
	}
	return c.name, true
}
