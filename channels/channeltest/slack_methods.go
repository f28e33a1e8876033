package channeltest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// slackMethods is the Web API.
func slackMethods() map[string]slackMethod {
	return map[string]slackMethod{
		"auth.test":                             (*Slack).authTest,
		"apps.connections.open":                 (*Slack).openConnection,
		"bots.info":                             (*Slack).botsInfo,
		"users.info":                            (*Slack).usersInfo,
		"conversations.info":                    (*Slack).conversationsInfo,
		"conversations.open":                    (*Slack).openDirect,
		"conversations.history":                 (*Slack).history,
		"conversations.replies":                 (*Slack).replies,
		"chat.postMessage":                      (*Slack).postMessage,
		"chat.postEphemeral":                    (*Slack).postEphemeral,
		"chat.update":                           (*Slack).updateMessage,
		"chat.delete":                           (*Slack).deleteMessage,
		"chat.startStream":                      (*Slack).startStream,
		"chat.appendStream":                     (*Slack).appendStream,
		"chat.stopStream":                       (*Slack).stopStream,
		"reactions.add":                         (*Slack).addReaction,
		"reactions.remove":                      (*Slack).removeReaction,
		"assistant.threads.setStatus":           (*Slack).setStatus,
		"assistant.threads.setTitle":            (*Slack).setTitle,
		"assistant.threads.setSuggestedPrompts": (*Slack).setPrompts,
		"views.open":                            (*Slack).openView,
		"usergroups.users.list":                 (*Slack).groupMembers,
		"files.info":                            (*Slack).filesInfo,
		"files.getUploadURLExternal":            (*Slack).getUploadURL,
		"files.completeUploadExternal":          (*Slack).completeUpload,
	}
}

func (s *Slack) authTest(*slackCall) (slackObject, string) {
	return slackObject{
		"url": "https://fake.slack.com/", "team": "Fake", "user": "clawbot", "team_id": s.cfg.Team, "user_id": s.cfg.BotUser, "bot_id": s.cfg.BotID,
	}, ""
}

func (s *Slack) botsInfo(req *slackCall) (slackObject, string) {
	if req.form.Get("bot") != s.cfg.BotID {
		return nil, "bot_not_found"
	}
	return slackObject{"bot": slackObject{"id": s.cfg.BotID, "app_id": s.cfg.App, "user_id": s.cfg.BotUser, "name": "clawbot"}}, ""
}

// SlackPerson describes a user.
type SlackPerson struct {
	Name string
	// Team is the workspace of somebody from another organisation.
	Team string
	// Guest, Admin and Bot are what the workspace says of the user.
	Guest, Admin, Bot bool
	// Away is not in any channel with the bot, so that nothing can be shown to
	// them alone.
	Away bool
}

// SetPerson describes a user.
func (s *Slack) SetPerson(id string, p SlackPerson) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.people[id] = p
}

func (s *Slack) person(id string) SlackPerson {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p, ok := s.people[id]
	if !ok {
		p.Name = "Person " + id
	}
	return p
}

func (s *Slack) personTeam(id string) string {
	if p := s.person(id); p.Team != "" {
		return p.Team
	}
	return s.cfg.Team
}

func (s *Slack) usersInfo(req *slackCall) (slackObject, string) {
	id := req.form.Get("user")
	if !regexp.MustCompile(`^[UW][A-Z0-9]+$`).MatchString(id) {
		return nil, "user_not_found"
	}
	p := s.person(id)
	return slackObject{"user": slackObject{
		"id": id, "team_id": s.personTeam(id), "name": strings.ToLower(id), "real_name": p.Name, "is_admin": p.Admin, "is_bot": p.Bot,
		"is_restricted": p.Guest, "is_stranger": p.Team != "", "profile": slackObject{"display_name": p.Name, "real_name": p.Name},
	}}, ""
}

// SetGroup makes a user group with these members.
func (s *Slack) SetGroup(id string, members ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.groups == nil {
		s.groups = map[string][]string{}
	}
	s.groups[id] = members
}

func (s *Slack) groupMembers(req *slackCall) (slackObject, string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	members, ok := s.groups[req.form.Get("usergroup")]
	if !ok {
		return nil, "no_such_subteam"
	}
	return slackObject{"users": members}, ""
}

func (s *Slack) conversationsInfo(req *slackCall) (slackObject, string) {
	c := s.channel(req.form.Get("channel"), false)
	if c == nil {
		return nil, "channel_not_found"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	member := c.barred != "not_in_channel" && c.kind != "im"
	return slackObject{"channel": slackObject{"id": c.id, "name": c.name, "is_im": c.kind == "im", "is_member": member}}, ""
}

func (s *Slack) history(req *slackCall) (slackObject, string) {
	return s.list(req, func(m *SlackMessage) bool { return m.Thread == "" || m.Thread == m.TS }, true)
}

func (s *Slack) replies(req *slackCall) (slackObject, string) {
	root := req.form.Get("ts")
	c := s.channel(req.form.Get("channel"), false)
	if c != nil {
		c.mu.Lock()
		known := c.messages[root] != nil
		c.mu.Unlock()
		if !known {
			return nil, "thread_not_found"
		}
	}
	return s.list(req, func(m *SlackMessage) bool { return m.TS == root || m.Thread == root }, false)
}

// list returns a page of messages. Metadata is in it only if it was asked for.
func (s *Slack) list(req *slackCall, wanted func(*SlackMessage) bool, newestFirst bool) (slackObject, string) {
	c, refusal := s.place(req, "channel")
	if refusal != "" {
		return nil, refusal
	}
	limit, _ := strconv.Atoi(req.form.Get("limit"))
	if limit <= 0 || limit > 999 {
		limit = 100
	}
	withMetadata := req.form.Get("include_all_metadata") == "1" || req.form.Get("include_all_metadata") == "true"
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []slackObject
	for _, m := range c.sent {
		if m.Deleted || !wanted(m) || m.TS < req.form.Get("oldest") {
			continue
		}
		out := s.wire(m)
		if withMetadata && m.Metadata != nil {
			out["metadata"] = m.Metadata
		}
		all = append(all, out)
	}
	if newestFirst {
		slices.Reverse(all)
	}
	from, _ := strconv.Atoi(req.form.Get("cursor"))
	from = min(max(from, 0), len(all))
	to := min(from+limit, len(all))
	next := ""
	if to < len(all) {
		next = strconv.Itoa(to)
	}
	return slackObject{"messages": all[from:to], "has_more": next != "", "response_metadata": slackObject{"next_cursor": next}}, ""
}

var reactionName = regexp.MustCompile(`^[a-z0-9_+'-]+$`)

func (s *Slack) addReaction(req *slackCall) (slackObject, string) {
	return s.react(req, func(m *SlackMessage, name string) string {
		if m.reactions[name] {
			return "already_reacted"
		}
		if m.reactions == nil {
			m.reactions = map[string]bool{}
		}
		m.reactions[name] = true
		return ""
	})
}

func (s *Slack) removeReaction(req *slackCall) (slackObject, string) {
	return s.react(req, func(m *SlackMessage, name string) string {
		if !m.reactions[name] {
			return "no_reaction"
		}
		delete(m.reactions, name)
		return ""
	})
}

func (s *Slack) react(req *slackCall, do func(*SlackMessage, string) string) (slackObject, string) {
	c, refusal := s.place(req, "channel")
	if refusal != "" {
		return nil, refusal
	}
	name := req.form.Get("name")
	if !reactionName.MatchString(name) {
		return nil, "invalid_name"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.messages[req.form.Get("timestamp")]
	if m == nil || m.Deleted {
		return nil, "message_not_found"
	}
	defer c.changed.wake()
	return nil, do(m, name)
}

func (s *Slack) setStatus(req *slackCall) (slackObject, string) {
	c, refusal := s.place(req, "channel_id")
	if refusal != "" {
		return nil, refusal
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	thread := req.form.Get("thread_ts")
	if m := c.messages[thread]; m == nil || m.Thread != "" && m.Thread != thread {
		return nil, "invalid_thread_ts"
	}
	c.statuses = append(c.statuses, SlackStatus{Thread: thread, Text: req.form.Get("status"), At: time.Now()})
	c.changed.wake()
	return nil, ""
}

func (s *Slack) openConnection(*slackCall) (slackObject, string) {
	return slackObject{"url": fmt.Sprintf("ws://%s/socket/?ticket=%s", s.listener.Addr(), s.id("ticket-"))}, ""
}
