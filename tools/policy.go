package tools

import (
	"fmt"
	"path"
	"slices"
)

// Rules allow and refuse tools by name; both are globs as path.Match has them.
type Rules struct {
	Enabled []string `toml:"enabled"`
	Deny    []string `toml:"deny"`
}

// Policy says which tools may be seen by whom. The most specific table that
// speaks of a tool decides: the channel's, then the sender's roles', then the
// general one. Within a table deny beats enabled.
type Policy struct {
	Rules
	// Roles are keyed by role name.
	Roles map[string]Rules
	// Channels are keyed by "channel" or "channel:chat".
	Channels map[string]Rules
}

// Audience is for whom tools are chosen.
type Audience struct {
	Owner  bool
	Direct bool
	Roles  []string
	// Channels name where the conversation is, most specific first:
	// "slack:C1", "slack".
	Channels []string
}

// guestTools is what people who are not owners get in rooms until a role or a
// channel grants more.
var guestTools = []string{"current_time", "web_fetch"}

// Decide returns nil when the tool may be seen by the audience. A configured
// tool came with a source that the operator named (a server, a plugin), which
// is leave enough without being listed as enabled too.
func (p *Policy) Decide(tool string, configured bool, who Audience) *Diagnostic {
	for _, channel := range who.Channels {
		if allowed, spoke := p.Channels[channel].decide(tool); spoke {
			return verdict(allowed, ReasonDenied, "denied in this channel (tools.channels.%q)", channel)
		}
	}
	if allowed, spoke := p.roles(tool, who.Roles); spoke {
		return verdict(allowed, ReasonRole, "denied to your role (tools.roles)")
	}
	allowed, spoke := p.decide(tool)
	switch {
	case spoke && !allowed:
		return verdict(false, ReasonDenied, "denied (tools.deny)")
	case !spoke && !configured:
		return verdict(false, ReasonNotEnabled, "not in tools.enabled")
	case !who.Owner && !who.Direct && !slices.Contains(guestTools, tool):
		return verdict(false, ReasonRole, "in rooms only for owners until tools.roles or tools.channels grants it")
	}
	return nil
}

// roles is what the tables of all the roles say together: one deny is enough.
func (p *Policy) roles(tool string, roles []string) (allowed, spoke bool) {
	for _, role := range roles {
		ok, said := p.Roles[role].decide(tool)
		if said && !ok {
			return false, true
		}
		allowed, spoke = allowed || ok, spoke || said
	}
	return allowed, spoke
}

func (r Rules) decide(tool string) (allowed, spoke bool) {
	switch {
	case matches(r.Deny, tool):
		return false, true
	case matches(r.Enabled, tool):
		return true, true
	default:
		return false, false
	}
}

// Validate returns an error for a glob that is malformed.
func (r Rules) Validate() error {
	for _, pattern := range slices.Concat(r.Enabled, r.Deny) {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("tool pattern %q: %w", pattern, err)
		}
	}
	return nil
}

func matches(patterns []string, tool string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, tool)
		return err == nil && ok
	})
}

func verdict(allowed bool, reason Reason, format string, args ...any) *Diagnostic {
	if allowed {
		return nil
	}
	return &Diagnostic{Reason: reason, Message: fmt.Sprintf(format, args...)}
}
