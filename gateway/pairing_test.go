package gateway

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/store/memory"
)

var codeInText = regexp.MustCompile(`\*\*([A-Z2-9]{8})\*\*`)

// stranger is a private message of somebody with that id.
func stranger(id, event, text string) channels.Inbound {
	in := direct("chat:"+id, event, text)
	in.Sender = channels.Sender{ID: id, Name: "N" + id}
	return in
}

// to returns what was posted to one chat.
func (c *chat) to(chat string) (texts []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.posts {
		if p.to.Chat == chat {
			texts = append(texts, p.text)
		}
	}
	return texts
}

func (c *chat) code(t *testing.T, chat string) string {
	t.Helper()
	for _, text := range slices.Backward(c.to(chat)) {
		if m := codeInText.FindStringSubmatch(text); m != nil {
			return m[1]
		}
	}
	t.Fatalf("no code was told: %q", c.to(chat))
	return ""
}

func pairingBot(t *testing.T, access Access) (*chat, *memory.Store, *script, *bot) {
	t.Helper()
	access.DMPolicy = dmPairing
	c, s, m := newChat("chat"), newStore(t), &script{otherwise: echo}
	return c, s, m, start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Access: access})
}

func TestAStrangerIsLetInByTheCodeThatTheOwnerApproves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _, m, b := pairingBot(t, Access{Owners: []string{"chat:1"}})
		for i := range 5 {
			c.send(t, stranger("7", fmt.Sprint("s", i), "hello?"))
		}
		if got := c.to("chat:7"); len(got) != 1 || !strings.Contains(got[0], "clawbot pairing approve") || !strings.Contains(got[0], "`chat:7`") {
			t.Fatalf("the stranger was told %q", got)
		}
		code := c.code(t, "chat:7")
		c.send(t, stranger("8", "x", "/pair "+code)) // a stranger's command is no command
		c.send(t, stranger("1", "o1", "/pair NOTACODE"))
		c.send(t, stranger("1", "o2", "/pair "+strings.ToLower(code[:4])+"-"+code[4:]))
		settled(t, b)
		time.Sleep(rulesEvery)
		settled(t, b)
		if got := c.to("chat:1"); len(got) != 2 || !strings.Contains(got[0], "no such code") || !strings.Contains(got[1], "`chat:7`") {
			t.Errorf("the owner was told %q", got)
		}
		if got := c.to("chat:7"); len(got) != 2 || !strings.HasPrefix(got[1], "You were let in") {
			t.Errorf("the stranger was told %q", got)
		}
		c.send(t, stranger("7", "again", "hi"))
		settled(t, b)
		if got := c.to("chat:7"); got[len(got)-1] != "re: hi" || len(m.asked()) != 1 {
			t.Errorf("after the approval: %q", got)
		}
		c.send(t, stranger("7", "pair", "/pair ABCDEFGH"))
		if got := c.to("chat:7"); got[len(got)-1] != "Only my owner can do that." {
			t.Errorf("somebody who was let in may let others in: %q", got)
		}
	})
}

func TestPairingGivesNeitherRoomsNorAnOwnersRights(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, m := newChat("chat"), newStore(t), &script{otherwise: echo}
		box := &recordingBox{}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: box,
			Access: Access{DMPolicy: dmPairing, GroupPolicy: groupAllowlist, Owners: []string{"chat:1"}}})
		c.send(t, stranger("7", "1", "hello?"))
		p := Pairing{State: s.State()}
		if _, owner, err := p.Approve(t.Context(), c.code(t, "chat:7"), "test"); err != nil || owner {
			t.Fatalf("owner %v, %v", owner, err)
		}
		c.send(t, inRoom("r1", "7", "hi all", true))
		c.send(t, stranger("7", "2", "hi"))
		settled(t, b)
		if n := len(m.asked()); n != 1 {
			t.Errorf("the model was asked %d times, want once: in private", n)
		}
		for _, req := range box.requests {
			if req.Role != RoleGuest {
				t.Errorf("a paired person has the role %q", req.Role)
			}
		}
	})
}

func TestAnApprovalBesideTheBotHoldsAtOnceAndItsRevocationSoon(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, m, b := pairingBot(t, Access{Owners: []string{"chat:1"}})
		p := Pairing{State: s.State()}
		c.send(t, stranger("7", "1", "hello?"))
		if _, _, err := p.Approve(t.Context(), c.code(t, "chat:7"), "test"); err != nil {
			t.Fatal(err)
		}
		c.send(t, stranger("7", "2", "hi"))
		settled(t, b)
		if len(m.asked()) != 1 {
			t.Fatal("the next message after the approval was not answered")
		}
		people, err := p.People(t.Context())
		if err != nil || len(people) != 1 || people[0].ID != "7" || people[0].Name != "N7" {
			t.Fatalf("people %+v, %v", people, err)
		}
		if who, err := p.Deny(t.Context(), "chat:7"); err != nil || who != "chat:7" {
			t.Fatalf("deny: %q, %v", who, err)
		}
		if _, err := p.Deny(t.Context(), "chat:9"); !errors.Is(err, ErrNobody) {
			t.Errorf("denying a stranger: %v", err)
		}
		time.Sleep(rulesEvery + time.Millisecond)
		c.send(t, stranger("7", "3", "still there?"))
		settled(t, b)
		if len(m.asked()) != 1 {
			t.Error("somebody whose pairing was taken back was answered")
		}
		c.code(t, "chat:7")
	})
}

func TestAtMostThreeWaitOnAChannelAndCodesExpire(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, _, _ := pairingBot(t, Access{Owners: []string{"chat:1"}})
		p := Pairing{State: s.State()}
		for i := range 20 {
			c.send(t, stranger(fmt.Sprint(100+i), fmt.Sprint("a", i), "hello?"))
		}
		list, err := p.Requests(t.Context())
		if err != nil || len(list) != pairingMost {
			t.Fatalf("%d requests, %v", len(list), err)
		}
		if got := c.to("chat:110"); len(got) != 1 || !strings.Contains(got[0], "too many") {
			t.Errorf("the eleventh was told %q", got)
		}
		time.Sleep(pairingFor)
		if list, _ := p.Requests(t.Context()); len(list) != 0 {
			t.Errorf("%d requests are good after an hour", len(list))
		}
		if _, _, err := p.Approve(t.Context(), list[0].Code, "test"); !errors.Is(err, ErrNoSuchCode) {
			t.Errorf("an expired code: %v", err)
		}
		c.send(t, stranger("119", "b", "and now?"))
		first := c.code(t, "chat:119")
		c.send(t, stranger("119", "c", "and now?"))
		if second := c.code(t, "chat:119"); second != first {
			t.Errorf("a second code for the same request: %s, %s", first, second)
		}
	})
}

func TestTheFirstApprovalOnTheMachineMakesTheOwner(t *testing.T) {
	bubble(t, func(t *testing.T) {
		page := newChat("web")
		c, s, m := newChat("chat"), newStore(t), &script{otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c, page}, Model: m,
			Access: Access{DMPolicy: dmPairing, Channels: map[string]ChannelAccess{"web": {Owners: []string{"web:local"}}}}})
		c.send(t, stranger("7", "1", "hello?"))
		local := direct("web:x", "1", "/pair "+c.code(t, "chat:7"))
		local.Sender = channels.Sender{ID: "web:local", Name: "local"}
		page.send(t, local)
		c.send(t, stranger("8", "1", "me too"))
		c.send(t, stranger("7", "2", "/pair "+c.code(t, "chat:8")))
		settled(t, b)
		time.Sleep(rulesEvery)
		if got := page.texts(); len(got) != 1 || !strings.Contains(got[0], "is my owner") {
			t.Errorf("the page says %q", got)
		}
		if role := b.cfg.roleOf("chat", "7", b.rules.person("chat", "7")); role != RoleOwner {
			t.Errorf("the first is %q", role)
		}
		if role := b.cfg.roleOf("chat", "8", b.rules.person("chat", "8")); role != RoleGuest || !b.rules.person("chat", "8").Paired {
			t.Errorf("the second is %q", role)
		}
		// Not twice: a later approval on the machine lets in, and no more.
		c.send(t, stranger("9", "1", "me too"))
		if _, owner, err := (Pairing{State: s.State(), MakesOwner: true}).Approve(t.Context(), c.code(t, "chat:9"), "cli"); err != nil || owner {
			t.Errorf("a second owner was made: %v, %v", owner, err)
		}
	})
}

func TestBlockedPeopleAreNotListenedTo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, m := newChat("chat"), newStore(t), &script{otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Access: Access{Owners: []string{"chat:1"}}})
		mod := inRoom("m1", "5", "/block 7", true)
		mod.Sender.Roles = []string{"moderator"}
		plain := inRoom("p1", "6", "/block 7", true)
		c.send(t, plain)
		c.send(t, mod)
		c.send(t, inRoom("r1", "7", "hi", true))
		c.send(t, inRoom("r2", "7", "hi again", true))
		c.send(t, stranger("7", "d1", "in private I may"))
		settled(t, b)
		if got := c.to("chat:room"); len(got) != 3 || !strings.HasPrefix(got[0], "Only my owner and") || !strings.Contains(got[1], "in this room") || !strings.HasPrefix(got[2], "You were blocked") {
			t.Errorf("the room has %q", got)
		}
		if len(m.asked()) != 1 {
			t.Fatalf("the model was asked %d times", len(m.asked()))
		}
		c.send(t, stranger("1", "o1", "/block chat:7"))
		c.send(t, stranger("1", "o2", "/block 1"))
		c.send(t, stranger("7", "d2", "and now?"))
		settled(t, b)
		if got := c.to("chat:7"); len(got) != 2 || !strings.HasPrefix(got[1], "You were blocked") {
			t.Errorf("in private: %q", got)
		}
		if got := c.to("chat:1"); len(got) != 2 || !strings.Contains(got[1], "an owner of mine") {
			t.Errorf("the owner was told %q", got)
		}
		c.send(t, stranger("1", "o3", "/unblock 7"))
		c.send(t, stranger("7", "d3", "hello"))
		c.send(t, inRoom("r3", "7", "hi", true))
		settled(t, b)
		if len(m.asked()) != 3 {
			t.Errorf("after the unblocking the model was asked %d times", len(m.asked()))
		}
	})
}

func TestTheRulesAreReadAgainByEveryReplica(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		a, c := newChat("chat"), newChat("chat")
		cfg := Config{Store: s, Model: &script{otherwise: echo}, Channels: []channels.Channel{a}}
		start(t, cfg)
		cfg.Channels = []channels.Channel{c}
		other := start(t, cfg)
		a.send(t, direct(sess, "1", "/queue collect"))
		time.Sleep(rulesEvery)
		if mode := other.queueMode("chat", sess); mode != ModeCollect {
			t.Errorf("the other replica has the mode %q", mode)
		}
		a.send(t, direct(sess, "2", "/queue default"))
		time.Sleep(rulesEvery)
		if mode := other.queueMode("chat", sess); mode != ModeSteer {
			t.Errorf("the other replica has the mode %q", mode)
		}
	})
}

func TestADamagedRuleShutsNobodyElseOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		ctx := context.Background()
		for key, data := range map[string]string{personKey("chat", "7"): "{", sessionRules + "x": "[]", peoplePrefix + "chat/8": `{"channel":"chat","id":"8","paired":true}`} {
			if _, err := s.State().Put(ctx, key, []byte(data), 0); err != nil {
				t.Fatal(err)
			}
		}
		r := newRules(s, start(t, Config{Store: s, Model: &script{}, Channels: []channels.Channel{newChat("chat")}}).log)
		if err := r.reload(ctx); err != nil || !r.person("chat", "8").Paired || r.person("chat", "7").Paired {
			t.Errorf("reload: %v, %+v", err, r.people)
		}
	})
}
