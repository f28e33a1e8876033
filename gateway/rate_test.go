package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"clawbot/channels"
)

func TestMessagesBeyondTheRateAreToldOnceAWindowOnEveryReplica(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m := newStore(t), &script{otherwise: echo}
		one, two := newChat("chat"), newChat("chat")
		cfg := Config{Store: s, Model: m, Access: Access{Owners: []string{"chat:1"}, Rate: Rate{User: Limit{Messages: 3}}}}
		cfg.Channels = []channels.Channel{one}
		a := start(t, cfg)
		cfg.Channels = []channels.Channel{two}
		b := start(t, cfg)
		for i := range 6 {
			c := []*chat{one, two}[i%2]
			c.send(t, stranger("7", fmt.Sprint(i), fmt.Sprint("m", i)))
			settled(t, a, b)
		}
		c := stranger("7", "5", "m5") // a redelivery of what was taken costs nothing
		c.EventID, c.MessageID = "chat:7:0", "0"
		one.send(t, c)
		answers, notices := 0, 0
		for _, text := range append(one.texts(), two.texts()...) {
			switch {
			case strings.HasPrefix(text, "re: m"):
				answers++
			case strings.HasPrefix(text, "That was too much at once: I take 3 messages a minute from you."):
				notices++
			}
		}
		if answers != 3 || notices < 1 || notices > 2 {
			t.Errorf("%d answers, %d notices: %q %q", answers, notices, one.texts(), two.texts())
		}
		for i := range 6 {
			one.send(t, stranger("1", fmt.Sprint("o", i), "owner"))
		}
		one.send(t, stranger("7", "stop", "/stop"))
		time.Sleep(rateWindow)
		one.send(t, stranger("7", "later", "later"))
		settled(t, a, b)
		if got := one.to("chat:7"); got[len(got)-1] != "re: later" && two.to("chat:7")[len(two.to("chat:7"))-1] != "re: later" {
			t.Errorf("after the window: %q", got)
		}
		if got := one.to("chat:1"); len(got) == 0 || strings.Contains(got[len(got)-1], "too much") {
			t.Errorf("the owner was told %q", got)
		}
	})
}

func TestARoomAndItsGuildHaveLimitsOfTheirOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, m := newChat("chat"), newStore(t), &script{otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m,
			Access: Access{Rate: Rate{Room: Limit{Messages: 2}, Guild: Limit{Messages: 3}}}})
		send := func(id, sender, room string) {
			in := inRoom(id, sender, "hi", true)
			in.Target.Conversation, in.Target.Chat, in.Guild = "chat:"+room, room, "g"
			c.send(t, in)
			settled(t, b)
		}
		send("1", "7", "r1")
		send("2", "8", "r1")
		send("3", "9", "r1") // the room's limit
		send("4", "7", "r2") // the guild's third that counts
		send("5", "8", "r3") // its fourth
		got := c.texts()
		if len(m.asked()) != 3 || !strings.Contains(got[2], "from this room") || !strings.Contains(got[4], "from this server") {
			t.Errorf("%d answers: %q", len(m.asked()), got)
		}
	})
}

func TestRunsAtOnceAreCountedUntilTheyEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, m := newChat("chat"), newStore(t), &script{otherwise: echoAfter(10 * time.Second)}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Access: Access{Rate: Rate{User: Limit{Runs: 2}}}})
		send := func(id, session, text string) {
			in := direct("chat:"+session, id, text)
			c.send(t, in)
			time.Sleep(time.Second)
		}
		send("1", "a", "one")
		send("2", "b", "two")
		send("3", "a", "more") // no new run: it steers
		send("4", "c", "three")
		if got := c.to("chat:c"); len(got) != 1 || !strings.Contains(got[0], "as much at once as I may") {
			t.Errorf("the third was told %q", got)
		}
		send("5", "a", "/stop") // gives its place back
		settled(t, b)
		send("6", "c", "three again")
		send("7", "d", "four")
		settled(t, b)
		if got := c.to("chat:c"); got[len(got)-1] != "re: three again" {
			t.Errorf("after a place was given back: %q", got)
		}
		if got := c.to("chat:d"); len(got) != 1 || got[0] != "re: four" {
			t.Errorf("the second place: %q", got)
		}
		for id, room := range []string{"x", "y"} {
			send(fmt.Sprint("z", id), room, "last")
		}
		settled(t, b)
		if got := c.to("chat:y"); len(got) != 1 || got[0] != "re: last" {
			t.Errorf("places were not given back: %q", got)
		}
	})
}

func TestAPlaceAmongTheRunsOutlivesAHandOffAndNoMore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m := newStore(t), &script{otherwise: echoAfter(10 * time.Second)}
		cfg := Config{Store: s, Model: m, Drain: -1, Access: Access{Rate: Rate{User: Limit{Runs: 1}}}}
		one := newChat("chat")
		cfg.Channels = []channels.Channel{one}
		first := start(t, cfg)
		one.send(t, direct("chat:a", "1", "one"))
		time.Sleep(time.Second)
		if err := first.stop(); err != nil {
			t.Fatal(err)
		}
		two := newChat("chat")
		cfg.Channels = []channels.Channel{two}
		second := start(t, cfg)
		time.Sleep(2 * time.Second)
		two.send(t, direct("chat:b", "2", "two"))
		if got := two.to("chat:b"); len(got) != 1 || !strings.Contains(got[0], "as much at once") {
			t.Errorf("the place was given away: %q", got)
		}
		settled(t, second)
		two.send(t, direct("chat:b", "3", "again"))
		settled(t, second)
		if got := two.to("chat:b"); got[len(got)-1] != "re: again" {
			t.Errorf("the place was not given back: %q", got)
		}
	})
}
