package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
)

// robot is a message of another bot in a room.
func robot(id, text string, addressed bool) channels.Inbound {
	in := inRoom(id, "99", text, addressed)
	in.Sender.Bot = true
	return in
}

func TestOtherBotsAreAnsweredOnlyIfThatIsConfigured(t *testing.T) {
	owner := robot("1", "hi", true)
	for _, c := range []struct {
		bots string
		in   channels.Inbound
		want verdict
	}{
		{"", owner, ignore},
		{botsOff, owner, ignore},
		{botsMention, owner, admit},
		{botsMention, robot("1", "hi", false), hear},
		{botsOpen, robot("1", "hi", false), admit},
	} {
		cfg := Config{Access: Access{GroupPolicy: groupOpen, Bots: c.bots, Owners: []string{"chat:99"}}}
		if v, role, _ := cfg.judge("chat", &c.in, person{Role: RoleOwner}); v != c.want || role != RoleGuest {
			t.Errorf("bots = %q, addressed %v: %v as %q", c.bots, c.in.Addressed, v, role)
		}
	}
}

func TestTwoBotsDoNotAnswerEachOtherForEver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, m := newChat("chat"), &script{}
		b := start(t, Config{Store: newStore(t), Channels: []channels.Channel{c}, Model: m, Access: Access{Bots: botsMention}})
		n := 0
		ask := func() {
			n++
			c.send(t, robot(fmt.Sprint("r", n), fmt.Sprint("and now? ", n), true))
			settled(t, b)
		}
		for range 30 { // whatever the bot says is answered at once
			ask()
		}
		if got := len(m.asked()); got != botTurns {
			t.Errorf("the model was asked %d times in a row, want %d", got, botTurns)
		}
		told := strings.Count(strings.Join(c.texts(), "\n"), "Other bots asked me 3 times in a row")
		if told != 1 {
			t.Errorf("the room is told %d times: %q", told, c.texts())
		}
		c.send(t, inRoom("p1", "7", "go on", true))
		settled(t, b)
		ask()
		if got := len(m.asked()); got != botTurns+2 {
			t.Errorf("after a person wrote, the model was asked %d times", got)
		}
		time.Sleep(botRow + time.Minute)
		for range 2 {
			ask()
		}
		if got := len(m.asked()); got != botTurns+4 {
			t.Errorf("after a pause, the model was asked %d times", got)
		}
	})
}

func TestABotHasABudgetAMinuteAlthoughPeopleWriteBetween(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, m := newChat("chat"), &script{}
		b := start(t, Config{Store: newStore(t), Channels: []channels.Channel{c}, Model: m, Access: Access{Bots: botsOpen}})
		for i := range 12 {
			c.send(t, robot(fmt.Sprint("r", i), fmt.Sprint("ping ", i), true))
			settled(t, b)
			c.send(t, inRoom(fmt.Sprint("p", i), "7", "stop it, you two", true))
			settled(t, b)
		}
		robots := 0
		for _, req := range m.asked() {
			if strings.Contains(req.Messages[len(req.Messages)-1].Text(), "ping ") {
				robots++
			}
		}
		if robots > botMessages {
			t.Errorf("a bot was answered %d times in a minute, want at most %d", robots, botMessages)
		}
	})
}

func TestRoomsOfBotsAreRememberedWithinBounds(t *testing.T) {
	var r robots
	for i := range 3 * keptBotRooms {
		r.more(fmt.Sprint(i))
	}
	if len(r.rooms) > keptBotRooms {
		t.Errorf("%d rooms", len(r.rooms))
	}
}

func TestYoungAccountsAreRefusedWithTheDateFromWhichTheyAreNot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, m := newChat("chat"), &script{}
		b := start(t, Config{Store: newStore(t), Channels: []channels.Channel{c}, Model: m,
			Access: Access{GroupPolicy: groupOpen, Rate: Rate{MinAccountAge: 7 * 24 * time.Hour}, Owners: []string{"chat:boss"},
				Channels: map[string]ChannelAccess{"chat": {AllowFrom: []string{"friend"}}}}})
		young := time.Now().Add(-24 * time.Hour)
		say := func(id, sender string, since time.Time, addressed bool) {
			in := inRoom(id, sender, "hello from "+sender, addressed)
			in.Sender.Since = since
			c.send(t, in)
			settled(t, b)
		}
		say("1", "new", young, true)
		say("2", "lurker", young, false)
		say("3", "old", young.Add(-30*24*time.Hour), true)
		say("4", "unknown", time.Time{}, true)
		say("5", "boss", young, true)
		say("6", "friend", young, true)
		var asked []string
		for _, req := range m.asked() {
			text := req.Messages[len(req.Messages)-1].Text()
			for _, who := range []string{"new", "lurker", "old", "unknown", "boss", "friend"} {
				if strings.Contains(text, "hello from "+who) {
					asked = append(asked, who)
				}
			}
		}
		want(t, "answered", asked, []string{"old", "unknown", "boss", "friend"})
		date := young.Add(7 * 24 * time.Hour).UTC().Format("2 January 2006")
		if said := strings.Join(c.texts(), "\n"); strings.Count(said, "too young") != 1 || !strings.Contains(said, date) {
			t.Errorf("said: %s", said)
		}
	})
}

func TestARoomMayHaveAPolicyOfItsOwn(t *testing.T) {
	cfg := Config{Access: Access{GroupPolicy: groupMention, Rooms: map[string]RoomAccess{
		"chat:chat:room": {GroupPolicy: groupAllowlist, AllowFrom: []string{"8"}}, "chat:quiet": {GroupPolicy: groupOff}, "chat:loud": {GroupPolicy: groupOpen},
	}}}
	for _, c := range []struct {
		room, sender string
		addressed    bool
		want         verdict
	}{
		{"chat:room", "8", true, admit}, {"chat:room", "9", true, refuse}, {"chat:room", "9", false, hear},
		{"quiet", "8", true, refuse}, {"loud", "8", false, admit}, {"other", "9", true, admit},
	} {
		in := inRoom("1", c.sender, "x", c.addressed)
		in.Target.Chat = c.room
		if v, _, _ := cfg.judge("chat", &in, person{}); v != c.want {
			t.Errorf("%+v: %v", c, v)
		}
	}
}

func TestAMessageWhoseRunFailedKeepsAReaction(t *testing.T) {
	for _, acknowledge := range []string{"👀", ""} {
		bubble(t, func(t *testing.T) {
			c := &reactingChat{chat: newChat("chat"), has: map[string]string{}}
			m := &script{steps: []step{{err: &agentcore.Error{Class: agentcore.ErrAuth, Err: fmt.Errorf("no key")}}}}
			b := start(t, Config{Store: newStore(t), Channels: []channels.Channel{c}, Model: m, Access: Access{Acknowledge: acknowledge, Failed: "⚠️"}})
			c.send(t, inRoom("1", "7", "one", true))
			settled(t, b)
			c.send(t, inRoom("2", "7", "two", true))
			settled(t, b)
			time.Sleep(time.Second)
			if c.has["1"] != "⚠️" || c.has["2"] != "" {
				t.Errorf("with %q there are %v after %q", acknowledge, c.has, c.calls)
			}
		})
	}
}

func TestNothingIsDroppedWithoutAWord(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, m := newChat("chat"), &script{}
		b := start(t, Config{Store: newStore(t), Channels: []channels.Channel{c}, Model: m})
		for i := range 3 {
			c.send(t, inRoom(fmt.Sprint(i), "7", " ", true))
		}
		c.send(t, inRoom("aside", "7", " ", false))
		settled(t, b)
		if said := strings.Join(c.texts(), "\n"); strings.Count(said, "Yes? Write what you want") != 1 {
			t.Errorf("a bare mention, three times: %q", said)
		}
		edit := inRoom("e", "7", strings.Repeat("x", maxText+1), true)
		edit.Kind = channels.Edit
		time.Sleep(time.Minute)
		c.send(t, edit)
		settled(t, b)
		if said := strings.Join(c.texts(), "\n"); !strings.Contains(said, "Your change makes the message too long") {
			t.Errorf("a change that is too long: %q", said)
		}
		if len(m.asked()) != 0 {
			t.Error("the model was asked")
		}
	})
}

func TestUnfinishedTextAndProgressShowWhereTheyAreWanted(t *testing.T) {
	for _, setting := range places {
		for _, in := range []channels.Inbound{direct(sess, "1", "go"), inRoom("1", "7", "go", true)} {
			bubble(t, func(t *testing.T) {
				c := newChat("chat")
				m := &script{steps: []step{{text: []string{"This is the beginning ", "of an answer that goes on ", "for a while."}, every: 2 * time.Second}}}
				b := start(t, Config{Store: newStore(t), Channels: []channels.Channel{c}, Model: m, Access: Access{Partial: setting, Progress: setting}})
				c.send(t, in)
				time.Sleep(4 * time.Second)
				partial := strings.Contains(strings.Join(c.texts(), "\n"), "beginning")
				if partial != shownIn(setting, in.Target.Direct) {
					t.Errorf("partial = %q, direct %v: shown %v", setting, in.Target.Direct, partial)
				}
				settled(t, b)
				time.Sleep(10 * time.Second)
				want(t, "in the end", c.texts(), []string{"This is the beginning of an answer that goes on for a while."})
			})
		}
	}
}
