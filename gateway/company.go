package gateway

import (
	"maps"
	"slices"
	"sync"
)

// company is everybody whose messages are in a run.
type company struct {
	mu      sync.Mutex
	starter string
	direct  bool
	members map[string]string // role by sender
	keys    map[string]bool   // of the messages being answered
}

func (c *company) add(messages ...*inbound) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range messages {
		if c.members == nil {
			c.members = map[string]string{}
			c.keys = map[string]bool{}
			c.starter = m.Sender.ID
			c.direct = m.Target.Direct
		}
		if role, ok := c.members[m.Sender.ID]; !ok || role == RoleOwner {
			c.members[m.Sender.ID] = m.Role
		}
		if m.Key != "" {
			c.keys[m.Key] = true
		}
	}
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
	for id, r := range c.members {
		if r != RoleOwner && (role == RoleOwner || id < sender) {
			role, sender = r, id
		}
	}
	return role, sender
}
