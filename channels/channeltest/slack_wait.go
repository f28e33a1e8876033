package channeltest

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Messages returns the bot's messages in a channel as they are now, deleted and
// ephemeral ones left out.
func (s *Slack) Messages(channel string) []SlackMessage {
	c := s.channel(channel, false)
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return snapshot(c.sent)
}

func snapshot(list []*SlackMessage) []SlackMessage {
	var out []SlackMessage
	for _, m := range list {
		if m.bot && !m.Deleted {
			shown := *m
			shown.History = slices.Clip(m.History)
			out = append(out, shown)
		}
	}
	return out
}

// Ephemeral returns what the bot showed to single people in a channel.
func (s *Slack) Ephemeral(channel string) []SlackMessage {
	c := s.channel(channel, true)
	c.mu.Lock()
	defer c.mu.Unlock()
	return snapshot(c.hidden)
}

// Wait waits until cond holds for the bot's messages in a channel.
func (s *Slack) Wait(ctx context.Context, channel string, cond func([]SlackMessage) bool) ([]SlackMessage, error) {
	var out []SlackMessage
	err := s.watch(ctx, channel, func(c *slackChannel) func() bool {
		out = snapshot(c.sent)
		return func() bool { return cond(out) }
	})
	if err != nil {
		texts := make([]string, len(out))
		for i := range out {
			texts[i] = fmt.Sprintf("%s %.200q", out[i].TS, out[i].Shown())
		}
		return out, fmt.Errorf("wait for messages in %s, last seen [%s]: %w", channel, strings.Join(texts, ", "), err)
	}
	return out, nil
}

// WaitEphemeral waits until the bot has shown something to single people.
func (s *Slack) WaitEphemeral(ctx context.Context, channel string, cond func([]SlackMessage) bool) ([]SlackMessage, error) {
	var out []SlackMessage
	err := s.watch(ctx, channel, func(c *slackChannel) func() bool {
		out = snapshot(c.hidden)
		return func() bool { return cond(out) }
	})
	return out, err
}

// WaitText waits until a message of the bot in the channel contains text, and
// returns it.
func (s *Slack) WaitText(ctx context.Context, channel, text string) (found SlackMessage, err error) {
	_, err = s.Wait(ctx, channel, func(all []SlackMessage) bool {
		for _, m := range all {
			if strings.Contains(m.Shown(), text) {
				found = m
				return true
			}
		}
		return false
	})
	return found, err
}

// WaitStatus waits until the sign of work in a thread satisfies cond.
func (s *Slack) WaitStatus(ctx context.Context, channel, thread string, cond func(status string) bool) error {
	return s.watch(ctx, channel, func(c *slackChannel) func() bool {
		status := c.status(thread)
		return func() bool { return cond(status) }
	})
}

// WaitReactions waits until the bot's reactions to a message are these, sorted.
func (s *Slack) WaitReactions(ctx context.Context, channel, ts string, want ...string) error {
	return s.watch(ctx, channel, func(c *slackChannel) func() bool {
		var have []string
		if m := c.messages[ts]; m != nil {
			for name := range m.reactions {
				have = append(have, name)
			}
		}
		slices.Sort(have)
		return func() bool { return slices.Equal(have, want) }
	})
}

// watch calls look with the channel's lock held and what it returned without.
func (s *Slack) watch(ctx context.Context, channel string, look func(*slackChannel) func() bool) error {
	c := s.channel(channel, true)
	return await(ctx, func() (bool, <-chan struct{}) {
		c.mu.Lock()
		done, changed := look(c), c.changed.wait()
		c.mu.Unlock()
		return done(), changed
	})
}

// WaitSockets waits until exactly n sockets are open.
func (s *Slack) WaitSockets(ctx context.Context, n int) error {
	return s.waitEvents(ctx, func(q *slackEvents) bool { return len(q.sockets) == n })
}

// WaitOpened waits until n sockets were opened since the fake began.
func (s *Slack) WaitOpened(ctx context.Context, n int) error {
	return s.waitEvents(ctx, func(q *slackEvents) bool { return q.opened >= n })
}

// WaitAcked waits until everything that was delivered is acknowledged.
func (s *Slack) WaitAcked(ctx context.Context) error {
	return s.waitEvents(ctx, func(q *slackEvents) bool { return len(q.open) == 0 && len(q.waiting) == 0 })
}

// WaitGaveUp waits until n events were given up.
func (s *Slack) WaitGaveUp(ctx context.Context, n int) error {
	return s.waitEvents(ctx, func(q *slackEvents) bool { return q.lost >= n })
}

// Acked counts the acknowledged deliveries.
func (s *Slack) Acked() int {
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	return len(s.events.acked)
}

func (s *Slack) waitEvents(ctx context.Context, cond func(*slackEvents) bool) error {
	return await(ctx, func() (bool, <-chan struct{}) {
		s.events.mu.Lock()
		defer s.events.mu.Unlock()
		return cond(&s.events), s.events.changed.wait()
	})
}

// Calls returns the calls so far in the order in which they were answered; with
// methods, only those.
func (s *Slack) Calls(methods ...string) []Call {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	var out []Call
	for _, c := range s.calls.all {
		if len(methods) == 0 || slices.Contains(methods, c.Method) {
			out = append(out, c)
		}
	}
	return out
}

// CallCount returns how many calls of method were answered; it counts in Lean
// mode too.
func (s *Slack) CallCount(method string) int {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	return s.calls.count[method]
}

// WaitCalls waits until method was answered n times.
func (s *Slack) WaitCalls(ctx context.Context, method string, n int) error {
	return await(ctx, func() (bool, <-chan struct{}) {
		s.calls.mu.Lock()
		defer s.calls.mu.Unlock()
		return s.calls.count[method] >= n, s.calls.changed.wait()
	})
}
