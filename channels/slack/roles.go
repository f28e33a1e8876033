package slack

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"clawbot/channels"
)

// The roles that this channel tells.
const (
	roleAdmin  = "admin"  // keeps order in the workspace
	roleMember = "member" // a full member, not a guest
	roleGuest  = "guest"
	roleOther  = "connect" // of another organisation, in a shared channel
)

const (
	lookTimeout = 1500 * time.Millisecond // within the 3 s of an acknowledgement
	peopleKept  = time.Hour
	peopleMost  = 10_000
	unknownKept = 10 * time.Second
	mentionsMax = 5 // names looked up in one message
)

// person is what is known of a user.
type person struct {
	name    string
	roles   []string
	bot     bool
	foreign bool
	team    string // empty if it is not told
	until   time.Time
}

// people knows users for a while.
type people struct {
	mu   sync.Mutex
	byID map[string]person
}

// fill adds what has to be looked up: the sender's name and roles, the names in
// the text, the room's name. What can't be had is left out.
func (c *Channel) fill(ctx context.Context, a *arrival) {
	if a.ready {
		return
	}
	a.ready = true
	in := a.in
	if !in.Sender.Bot && in.Sender.ID != "" {
		p := c.person(ctx, in.Sender.ID)
		in.Sender.Name, in.Sender.Roles, in.Sender.Bot = first(p.name, in.Sender.Name, in.Sender.ID), p.roles, p.bot
		a.foreign = p.foreign
	}
	if a.raw != "" {
		looked := 0
		in.Text = c.me.Load().plain(a.raw, func(user string) string {
			if looked++; looked > mentionsMax {
				return ""
			}
			return c.person(ctx, user).name
		})
	}
	if in.Quote != "" {
		in.Quote = c.me.Load().plain(in.Quote, func(string) string { return "" })
	}
	if in.Addressed && !in.Target.Direct && in.RoomName == "" {
		in.RoomName = c.rooms.name(ctx, c, in.Target.Chat)
	}
}

// team is the workspace of somebody who was heard, else the bot's own.
func (c *Channel) team(user string) string {
	c.people.mu.Lock()
	defer c.people.mu.Unlock()
	return first(c.people.byID[user].team, c.me.Load().team)
}

// person returns what is known of a user, and asks Slack at most once an hour.
func (c *Channel) person(ctx context.Context, id string) person {
	now := time.Now()
	c.people.mu.Lock()
	known, ok := c.people.byID[id]
	c.people.mu.Unlock()
	if ok && now.Before(known.until) {
		return known
	}
	var user *slack.User
	err := c.call(ctx, lookTimeout, "users.info", func(ctx context.Context) (err error) {
		user, err = c.api.GetUserInfoContext(ctx, id)
		return err
	})
	if err != nil {
		known.until = now.Add(unknownKept)
		if is(err, "missing_scope", "user_not_found") {
			known.until = now.Add(peopleKept)
		}
		c.log.Debug("a user is not known", "user", id, "error", err)
	} else {
		known = c.describe(user)
		known.roles = c.grouped(ctx, id, known.roles)
		known.until = now.Add(peopleKept)
	}
	c.people.mu.Lock()
	defer c.people.mu.Unlock()
	if c.people.byID == nil || len(c.people.byID) >= peopleMost {
		c.people.byID = map[string]person{}
	}
	c.people.byID[id] = known
	return known
}

func (c *Channel) describe(u *slack.User) person {
	p := person{
		name: strings.TrimSpace(first(u.Profile.DisplayName, u.Profile.RealName, u.RealName, u.Name)),
		bot:  u.IsBot || u.ID == "USLACKBOT", team: u.TeamID,
	}
	me := c.me.Load()
	sameOrg := u.TeamID == "" || u.TeamID == me.team || me.enterprise != "" && u.Enterprise.EnterpriseID == me.enterprise
	switch {
	case u.IsStranger || !sameOrg:
		p.foreign = c.cfg.Connect == ConnectOff
		p.roles = roles(roleOther, c.cfg.Connect == ConnectMembers)
	case u.IsRestricted || u.IsUltraRestricted:
		p.roles = roles(roleGuest, c.cfg.Guests)
	case u.IsAdmin || u.IsOwner || u.IsPrimaryOwner:
		p.roles = []string{roleMember, roleAdmin}
	case !u.Deleted && !p.bot:
		p.roles = []string{roleMember}
	}
	return p
}

// roles is a role, and that of a member for whom is to count as one.
func roles(role string, member bool) []string {
	if member {
		return []string{role, roleMember}
	}
	return []string{role}
}

// rooms knows the names of channels for a while.
type rooms struct {
	mu   sync.Mutex
	byID map[string]room
}

type room struct {
	name  string
	until time.Time
}

func (r *rooms) name(ctx context.Context, c *Channel, id string) string {
	now := time.Now()
	r.mu.Lock()
	known, ok := r.byID[id]
	r.mu.Unlock()
	if ok && now.Before(known.until) {
		return known.name
	}
	err := c.call(ctx, lookTimeout, "conversations.info", func(ctx context.Context) error {
		info, err := c.api.GetConversationInfoContext(ctx, &slack.GetConversationInfoInput{ChannelID: id})
		if err == nil {
			known.name = info.Name
		}
		return err
	})
	if known.until = now.Add(peopleKept); err != nil && channels.OutcomeOf(err) != channels.Rejected {
		known.until = now.Add(unknownKept)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byID == nil || len(r.byID) >= peopleMost {
		r.byID = map[string]room{}
	}
	r.byID[id] = known
	return known.name
}
