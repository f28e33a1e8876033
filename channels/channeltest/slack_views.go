package channeltest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// SlackView is a form that a person sees.
type SlackView struct {
	ID       string `json:"-"`
	User     string `json:"-"`
	Type     string `json:"type"`
	Callback string `json:"callback_id"`
	Private  string `json:"private_metadata"`
	Title    struct {
		Text string `json:"text"`
	} `json:"title"`
	Blocks []struct {
		Type    string          `json:"type"`
		ID      string          `json:"block_id"`
		Text    json.RawMessage `json:"text"`
		Element struct {
			Type     string `json:"type"`
			ActionID string `json:"action_id"`
			Most     int    `json:"max_length"`
		} `json:"element"`
	} `json:"blocks"`
}

// Words is the text of the form's first block.
func (v SlackView) Words() string {
	if len(v.Blocks) == 0 {
		return ""
	}
	return blockText(v.Blocks[0].Text)
}

// slackViews are the forms that are open, and who may open one.
type slackViews struct {
	open     []SlackView
	triggers map[string]string // users by trigger
	changed  signal
}

// trigger makes a trigger id of a person.
func (s *Slack) trigger(user string) string {
	id := s.id("trigger.")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.views.triggers == nil {
		s.views.triggers = map[string]string{}
	}
	s.views.triggers[id] = user
	return id
}

func (s *Slack) openView(req *slackCall) (slackObject, string) {
	var view SlackView
	if json.Unmarshal([]byte(req.form.Get("view")), &view) != nil {
		return nil, "invalid_arguments"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	user := s.views.triggers[req.form.Get("trigger_id")]
	delete(s.views.triggers, req.form.Get("trigger_id"))
	switch {
	case user == "":
		return nil, "expired_trigger_id"
	case view.Type != "modal", len(view.Blocks) == 0, utf8.RuneCountInString(view.Private) > 3000,
		view.Title.Text == "", utf8.RuneCountInString(view.Title.Text) > 24:
		return nil, "invalid_arguments"
	}
	view.ID, view.User = s.id("V"), user
	s.views.open = append(s.views.open, view)
	s.views.changed.wake()
	return slackObject{"view": slackObject{"id": view.ID, "type": "modal"}}, ""
}

// MessageShortcut has a person choose a shortcut in the menu of a message.
func (s *Slack) MessageShortcut(channel, user, ts, callback string) {
	c := s.channel(channel, true)
	c.mu.Lock()
	message := slackObject{"ts": ts}
	if m := c.messages[ts]; m != nil {
		message = s.wire(m)
	}
	c.mu.Unlock()
	s.push("interactive", slackObject{
		"type": "message_action", "callback_id": callback, "trigger_id": s.trigger(user), "api_app_id": s.cfg.App,
		"team": slackObject{"id": s.cfg.Team}, "user": slackObject{"id": user, "name": strings.ToLower(user), "team_id": s.personTeam(user)},
		"channel": slackObject{"id": channel, "name": c.name}, "message": message, "message_ts": ts,
	})
}

// WaitView waits until a person sees a form.
func (s *Slack) WaitView(ctx context.Context, user string) (found SlackView, err error) {
	err = await(ctx, func() (bool, <-chan struct{}) {
		s.mu.Lock()
		defer s.mu.Unlock()
		i := slices.IndexFunc(s.views.open, func(v SlackView) bool { return v.User == user })
		if i >= 0 {
			found = s.views.open[i]
		}
		return i >= 0, s.views.changed.wait()
	})
	return found, err
}

// SubmitView has a person fill a form's first input and send it.
func (s *Slack) SubmitView(v SlackView, text string) {
	s.mu.Lock()
	s.views.open = slices.DeleteFunc(s.views.open, func(o SlackView) bool { return o.ID == v.ID })
	s.mu.Unlock()
	input := v.Blocks[0]
	s.push("interactive", slackObject{
		"type": "view_submission", "api_app_id": s.cfg.App, "team": slackObject{"id": s.cfg.Team}, "trigger_id": s.trigger(v.User),
		"user": slackObject{"id": v.User, "name": strings.ToLower(v.User), "team_id": s.personTeam(v.User)},
		"view": slackObject{
			"id": v.ID, "type": "modal", "callback_id": v.Callback, "private_metadata": v.Private,
			"state": slackObject{"values": slackObject{input.ID: slackObject{input.Element.ActionID: slackObject{"type": input.Element.Type, "value": text}}}},
		},
	})
}
