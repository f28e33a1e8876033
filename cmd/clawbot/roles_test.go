package main

import (
	"slices"
	"testing"

	"clawbot/channels"
	"clawbot/config"
	"clawbot/gateway"
	"clawbot/tools"
)

func TestARunHasTheToolsThatAllRolesInItMayHave(t *testing.T) {
	cfg := config.Default()
	cfg.Tools.Roles = map[string]tools.Rules{
		"moderator": {Enabled: []string{"read_file", "search"}},
		"readers":   {Enabled: []string{"read_file"}},
		"muted":     {Deny: []string{"*"}},
	}
	box, err := newToolbox(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer box.close()
	for _, c := range []struct {
		name  string
		roles [][]string
		want  []string // of read_file, search and current_time
	}{
		{"nobody in particular", [][]string{nil}, []string{"current_time"}},
		{"a moderator", [][]string{{"member", "moderator"}}, []string{"current_time", "read_file", "search"}},
		{"a moderator and a reader", [][]string{{"moderator"}, {"readers"}}, []string{"current_time", "read_file"}},
		{"a reader and a moderator", [][]string{{"readers"}, {"moderator"}}, []string{"current_time", "read_file"}},
		{"a moderator and a stranger", [][]string{nil, {"moderator"}}, []string{"current_time"}},
		{"a moderator who is muted", [][]string{{"moderator", "muted"}}, nil},
		{"one who is muted among others", [][]string{{"moderator"}, {"muted"}, {"readers"}}, nil},
	} {
		var got []string
		for _, tool := range box.For(t.Context(), gateway.ToolRequest{Channel: "telegram", Target: channels.Target{Chat: "-1"}, Roles: c.roles}) {
			if slices.Contains([]string{"read_file", "search", "current_time"}, tool.Name) {
				got = append(got, tool.Name)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
