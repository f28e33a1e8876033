package slack

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// groupsKept is how long the members of a user group are believed.
	groupsKept = 10 * time.Minute
	// groupsAgain is when to ask again after that failed.
	groupsAgain = 30 * time.Second
)

// groups knows who is in the user groups of [Config.UserGroups].
type groups struct {
	mu   sync.Mutex
	byID map[string]group
}

type group struct {
	members []string
	until   time.Time
}

// grouped adds the user groups that somebody is in to their roles. Where there
// are such groups, only who is in one counts as a member.
func (c *Channel) grouped(ctx context.Context, user string, of []string) []string {
	if len(c.cfg.UserGroups) == 0 {
		return of
	}
	var in []string
	for _, id := range c.cfg.UserGroups {
		if slices.Contains(c.groups.members(ctx, c, id), user) {
			in = append(in, id)
		}
	}
	if len(in) == 0 {
		return slices.DeleteFunc(of, func(role string) bool { return role == roleMember })
	}
	return append(of, in...)
}

// members returns who is in a user group, as far as that is known.
func (g *groups) members(ctx context.Context, c *Channel, id string) []string {
	now := time.Now()
	g.mu.Lock()
	known := g.byID[id]
	g.mu.Unlock()
	if now.Before(known.until) {
		return known.members
	}
	err := c.call(ctx, lookTimeout, "usergroups.users.list", func(ctx context.Context) error {
		list, err := c.api.GetUserGroupMembersContext(ctx, id)
		if err == nil {
			known.members = list
		}
		return err
	})
	if known.until = now.Add(groupsKept); err != nil {
		known.until = now.Add(groupsAgain)
		c.log.Warn("a user group's members are not known; who is in it alone may not get in", "group", id, "error", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.byID == nil {
		g.byID = map[string]group{}
	}
	g.byID[id] = known
	return known.members
}
