package channeltest

import (
	"context"
	"encoding/json"
	"unicode/utf8"
)

// SlackPrompt is a suggestion as a person sees it.
type SlackPrompt struct {
	Title   string `json:"title"`
	Message string `json:"message"`
}

// slackAssistant is what the bot made of a conversation in the view for agents.
type slackAssistant struct {
	titles  map[string]string        // by thread
	prompts map[string][]SlackPrompt // by thread; empty is the top
}

// StartAssistant has a person open a new conversation in the view for agents,
// while they look at a channel. It returns the thread's root.
func (s *Slack) StartAssistant(user, viewed string) string {
	root := s.Send(SlackIncoming{Channel: s.Direct(user), User: s.cfg.BotUser, Text: "New conversation", Silent: true})
	s.assistantEvent("assistant_thread_started", user, root, viewed)
	return root
}

// LookAt has a person look at another channel beside an open conversation.
func (s *Slack) LookAt(user, thread, viewed string) {
	s.assistantEvent("assistant_thread_context_changed", user, thread, viewed)
}

func (s *Slack) assistantEvent(kind, user, thread, viewed string) {
	if viewed != "" {
		s.channel(viewed, true)
	}
	s.Event(slackObject{"type": kind, "event_ts": s.now(), "assistant_thread": slackObject{
		"user_id": user, "channel_id": s.Direct(user), "thread_ts": thread, "context": slackObject{"channel_id": viewed, "team_id": s.cfg.Team},
	}})
}

// OpenHome has a person open their direct conversation with the bot.
func (s *Slack) OpenHome(user string) {
	s.channel(s.Direct(user), true)
	s.Event(slackObject{"type": "app_home_opened", "user": user, "channel": s.Direct(user), "tab": "messages", "event_ts": s.now()})
}

func (s *Slack) setTitle(req *slackCall) (slackObject, string) {
	c, refusal := s.place(req, "channel_id")
	title := req.form.Get("title")
	switch {
	case refusal != "":
		return nil, refusal
	case title == "" || utf8.RuneCountInString(title) > 200:
		return nil, "invalid_arguments"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.messages[req.form.Get("thread_ts")] == nil {
		return nil, "invalid_thread_ts"
	}
	if c.assistant.titles == nil {
		c.assistant.titles = map[string]string{}
	}
	c.assistant.titles[req.form.Get("thread_ts")] = title
	c.changed.wake()
	return nil, ""
}

func (s *Slack) setPrompts(req *slackCall) (slackObject, string) {
	c, refusal := s.place(req, "channel_id")
	if refusal != "" {
		return nil, refusal
	}
	var prompts []SlackPrompt
	if json.Unmarshal([]byte(req.form.Get("prompts")), &prompts) != nil || len(prompts) == 0 || len(prompts) > 4 {
		return nil, "invalid_arguments"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	thread := req.form.Get("thread_ts")
	if thread != "" && c.messages[thread] == nil {
		return nil, "invalid_thread_ts"
	}
	if c.assistant.prompts == nil {
		c.assistant.prompts = map[string][]SlackPrompt{}
	}
	c.assistant.prompts[thread] = prompts
	c.changed.wake()
	return nil, ""
}

// WaitTitle waits until a conversation's title satisfies cond.
func (s *Slack) WaitTitle(ctx context.Context, channel, thread string, cond func(title string) bool) error {
	return s.watch(ctx, channel, func(c *slackChannel) func() bool {
		title := c.assistant.titles[thread]
		return func() bool { return cond(title) }
	})
}

// WaitPrompts waits until the suggestions of a conversation satisfy cond; an
// empty thread is the top of a direct conversation.
func (s *Slack) WaitPrompts(ctx context.Context, channel, thread string, cond func([]SlackPrompt) bool) error {
	return s.watch(ctx, channel, func(c *slackChannel) func() bool {
		prompts := c.assistant.prompts[thread]
		return func() bool { return cond(prompts) }
	})
}
