package gateway

import (
	"maps"
	"slices"
	"sync"

	"clawbot/channels"
)

// company is everybody whose messages are in a run.
type company struct {
	mu      sync.Mutex
	starter string
	direct  bool
	members map[string]member // by sender
	keys    map[string]bool   // of the messages being answered
	asked   bool              // one of them is a person's own
}

// member is one of them: the bot's own role for them, and the platform's.
type member struct {
	role  string
	name  string
	roles []string
}

func (c *company) add(messages ...*inbound) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range messages {
		if c.members == nil {
			c.members = map[string]member{}
			c.keys = map[string]bool{}
			c.starter = m.Sender.ID
			c.direct = m.Target.Direct
		}
		c.enter(m.Sender, m.Role)
		for _, s := range m.With {
			c.enter(s, RoleGuest)
		}
		c.asked = c.asked || m.Kind != kindSchedule
		if m.Key != "" {
			c.keys[m.Key] = true
		}
	}
}

// enter takes somebody in. Who has written twice has the lesser role and the
// later roles. c.mu is held.
func (c *company) enter(s channels.Sender, role string) {
	if was, ok := c.members[s.ID]; ok && was.role != RoleOwner {
		role = was.role
	}
	c.members[s.ID] = member{role, s.Name, s.Roles}
}

// setter is for whom something is scheduled in the run.
func (c *company) setter() setter {
	role, id := c.lowest()
	c.mu.Lock()
	defer c.mu.Unlock()
	who := setter{role: role, asked: c.asked, Sender: channels.Sender{ID: id, Name: c.members[id].name, Roles: c.members[id].roles}}
	for _, other := range slices.Sorted(maps.Keys(c.members)) {
		if m := c.members[other]; other != id && m.role != RoleOwner {
			who.with = append(who.with, channels.Sender{ID: other, Name: m.name, Roles: m.roles})
		}
	}
	return who
}

// maySteer reports whether sender's message may enter the run.
func (c *company) maySteer(by, sender string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.direct || by == steerAnyone {
		return true
	}
	if by == steerStarter {
		return sender != "" && sender == c.starter
	}
	_, ok := c.members[sender]
	return ok
}

// has reports whether a message of the sender is in the run.
func (c *company) has(sender string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.members[sender]
	return ok
}

func (c *company) isDirect() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.direct
}

// answers reports whether the message with that key is being answered.
func (c *company) answers(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return key != "" && c.keys[key]
}

// ids are the senders of all messages in the run.
func (c *company) ids() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.members))
}

// lowest returns the least of all senders, and the role that the run has
// because of them.
func (c *company) lowest() (role, sender string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	role, sender = RoleOwner, c.starter
	for id, m := range c.members {
		if m.role != RoleOwner && (role == RoleOwner || id < sender) {
			role, sender = m.role, id
		}
	}
	return role, sender
}

// roles are the platform's roles of everybody who is no owner, each set of them
// once.
func (c *company) roles() [][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var sets [][]string
	for _, m := range c.members {
		if m.role != RoleOwner {
			sets = append(sets, slices.Compact(slices.Sorted(slices.Values(m.roles))))
		}
	}
	slices.SortFunc(sets, slices.Compare)
	return slices.CompactFunc(sets, slices.Equal)
}
