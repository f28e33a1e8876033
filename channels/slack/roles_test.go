package slack

import (
	"slices"
	"strings"
	"testing"

	"clawbot/channels/channeltest"
)

func TestRolesTellMembersGuestsAndAdministrators(t *testing.T) {
	r := start(t)
	for id, p := range map[string]channeltest.SlackPerson{
		"U0GUEST": {Name: "guest", Guest: true}, "U0ADMIN": {Name: "admin", Admin: true}, "U0MEMBER": {Name: "member"},
	} {
		r.SetPerson(id, p)
		r.SendText(r.Direct(id), id, "I am "+p.Name)
		roles := r.next("I am " + p.Name).Sender.Roles
		if !slices.Contains(roles, p.Name) || p.Guest && slices.Contains(roles, "member") {
			t.Errorf("%s has the roles %v", p.Name, roles)
		}
	}
	r.SetScopes("chat:write", "im:history")
	r.SendText("D0NEW", "U0NEW", "who am I")
	if in := r.next("who am I"); len(in.Sender.Roles) != 0 || in.Sender.Name != "U0NEW" {
		t.Errorf("without users:read the sender is %+v", in.Sender)
	}
	if !strings.Contains(r.log.String(), "users:read") {
		t.Error("the missing scope is not named in the log")
	}
}

func TestWhoCountsAsAMemberIsASetting(t *testing.T) {
	people := map[string]channeltest.SlackPerson{
		"U0MEMBER": {Name: "member"}, "U0GUEST": {Name: "guest", Guest: true}, "U0FAR": {Name: "far", Team: "T0OTHER"}, "U0GROUP": {Name: "in the group"},
	}
	for _, test := range []struct {
		cfg     Config
		heard   []string
		members []string
	}{
		{Config{}, []string{"U0GROUP", "U0GUEST", "U0MEMBER"}, []string{"U0GROUP", "U0MEMBER"}},
		{Config{Guests: true}, []string{"U0GROUP", "U0GUEST", "U0MEMBER"}, []string{"U0GROUP", "U0GUEST", "U0MEMBER"}},
		{Config{Connect: ConnectRooms}, []string{"U0FAR", "U0GROUP", "U0GUEST", "U0MEMBER"}, []string{"U0GROUP", "U0MEMBER"}},
		{Config{Connect: ConnectMembers}, []string{"U0FAR", "U0GROUP", "U0GUEST", "U0MEMBER"}, []string{"U0FAR", "U0GROUP", "U0MEMBER"}},
		{Config{UserGroups: []string{"S0EMPTY", "S0GROUP"}}, []string{"U0GROUP", "U0GUEST", "U0MEMBER"}, []string{"U0GROUP"}},
		{Config{UserGroups: []string{"S0GONE"}}, []string{"U0GROUP", "U0GUEST", "U0MEMBER"}, nil},
	} {
		r := startWith(t, channeltest.SlackConfig{}, test.cfg)
		r.SetGroup("S0GROUP", "U0GROUP")
		r.SetGroup("S0EMPTY")
		for id, p := range people {
			r.SetPerson(id, p)
			r.SendText(general, id, r.Mention()+" hello from "+id)
		}
		var heard, members []string
		for _, in := range r.settled() {
			heard = append(heard, in.Sender.ID)
			if slices.Contains(in.Sender.Roles, "member") {
				members = append(members, in.Sender.ID)
			}
			if in.Sender.ID == "U0GROUP" && slices.Contains(test.cfg.UserGroups, "S0GROUP") && !slices.Contains(in.Sender.Roles, "S0GROUP") {
				t.Error("the group is no role")
			}
		}
		slices.Sort(heard)
		slices.Sort(members)
		if !slices.Equal(heard, test.heard) || !slices.Equal(members, test.members) {
			t.Errorf("%+v: heard %v, members %v", test.cfg, heard, members)
		}
	}
}
