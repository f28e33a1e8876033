package tools

import (
	"slices"
	"testing"

	"clawbot/agentcore"
)

func tool(name, title string) Tool {
	return Tool{Descriptor: Descriptor{Name: name, Title: title, Executor: &Executor{Kind: Core, Name: name}}}
}

func names(set []*agentcore.Tool) []string {
	var out []string
	for _, t := range set {
		out = append(out, t.Name)
	}
	return out
}

func TestALaterSourceOverridesAnEarlierOne(t *testing.T) {
	r := NewRegistry()
	err := r.Rebuild(
		Source{Name: "mine", Kind: Custom, Tools: []Tool{tool("search", "custom")}},
		Source{Name: "builtin", Kind: Builtin, Tools: []Tool{tool("search", "builtin"), tool("exec", "")}},
		Source{Name: "mcp:x", Kind: Extension, Tools: []Tool{tool("search", "extension")}},
	)
	if err != nil {
		t.Fatal(err)
	}
	entry, ok := r.Get("search")
	if !ok || entry.Source != "mine" || !slices.Equal(entry.Overrides, []string{"builtin", "mcp:x"}) {
		t.Errorf("search = %+v, want mine over builtin and mcp:x", entry)
	}
}

func TestABadSourceLeavesTheRegistryAsItWas(t *testing.T) {
	r := NewRegistry()
	if err := r.Rebuild(Source{Name: "a", Tools: []Tool{tool("one", "")}}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]Tool{{tool("has space", "")}, {tool("", "")}, {tool("two", ""), tool("two", "")}} {
		if err := r.Rebuild(Source{Name: "b", Tools: bad}); err == nil {
			t.Errorf("tools %v were taken", bad)
		}
	}
	if _, ok := r.Get("one"); !ok {
		t.Error("the earlier tools are gone")
	}
}

func TestUnknownActiveNamesAreSkipped(t *testing.T) {
	r := NewRegistry()
	if err := r.Rebuild(Source{Name: "a", Tools: []Tool{tool("one", ""), tool("two", "")}}); err != nil {
		t.Fatal(err)
	}
	set, err := r.Set(Request{Active: []string{"two", "no_such"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := names(set.Tools); !slices.Equal(got, []string{"two"}) {
		t.Errorf("tools = %v, want two", got)
	}
}

func TestTheMostSpecificTableThatSpeaksDecides(t *testing.T) {
	policy := &Policy{
		Rules:    Rules{Enabled: []string{"read_*", "search", "exec", "web_fetch"}, Deny: []string{"read_secret"}},
		Roles:    map[string]Rules{"moderator": {Enabled: []string{"search"}}, "muted": {Deny: []string{"*"}}},
		Channels: map[string]Rules{"slack:C1": {Deny: []string{"exec"}}, "slack": {Enabled: []string{"exec"}}},
	}
	owner := Audience{Owner: true, Direct: true}
	room := func(roles ...string) Audience {
		return Audience{Roles: roles, Channels: []string{"discord:9", "discord"}}
	}
	tests := []struct {
		name       string
		tool       string
		configured bool
		who        Audience
		want       Reason
	}{
		{"an enabled glob", "read_file", false, owner, ""},
		{"deny beats enabled", "read_secret", false, owner, ReasonDenied},
		{"what is not listed", "write_file", false, owner, ReasonNotEnabled},
		{"what a configured server brings", "github_issues", true, owner, ""},
		{"a stranger in a room", "exec", false, room(), ReasonRole},
		{"a stranger in a room may fetch", "web_fetch", false, room(), ""},
		{"a stranger with a role that grants", "search", false, room("moderator"), ""},
		{"one denying role is enough", "search", false, room("moderator", "muted"), ReasonRole},
		{"a stranger in private", "exec", false, Audience{Direct: true}, ""},
		{"an owner in the denied channel", "exec", false, Audience{Owner: true, Channels: []string{"slack:C1", "slack"}}, ReasonDenied},
		{"a stranger where the channel grants", "exec", false, Audience{Channels: []string{"slack:C2", "slack"}}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got Reason
			if d := policy.Decide(test.tool, test.configured, test.who); d != nil {
				got = d.Reason
			}
			if got != test.want {
				t.Errorf("reason = %q, want %q", got, test.want)
			}
		})
	}
	if err := (Rules{Deny: []string{"[a"}}).Validate(); err == nil {
		t.Error("a malformed glob is valid")
	}
}

func TestASetSaysWhatThePolicyHides(t *testing.T) {
	r := NewRegistry()
	if err := r.Rebuild(Source{Name: "builtin", Tools: []Tool{tool("exec", ""), tool("current_time", "")}}); err != nil {
		t.Fatal(err)
	}
	set, err := r.Set(Request{Policy: &Policy{Rules: Rules{Enabled: []string{"*"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := names(set.Tools); !slices.Equal(got, []string{"current_time"}) {
		t.Errorf("tools = %v, want current_time", got)
	}
	if len(set.Hidden) != 1 || set.Hidden[0].Diagnostics[0].Reason != ReasonRole {
		t.Errorf("hidden = %v, want exec for its role", set.Hidden)
	}
}
