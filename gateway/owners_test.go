package gateway

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"clawbot/channels"
)

// openChat is a chat in which the bot may write to people first, with buttons.
type openChat struct {
	clickChat
	shy []string // whom it may not write to
}

func newOpenChat(name string, shy ...string) openChat {
	return openChat{clickChat{newChat(name)}, shy}
}

func (c openChat) OpenDirect(_ context.Context, user string) (channels.Target, error) {
	if slices.Contains(c.shy, user) {
		return channels.Target{}, errors.New("they take no messages")
	}
	return channels.Target{Conversation: c.name + ":dm" + user, Chat: "dm" + user, Direct: true}, nil
}

// letters are what stands in a person's direct conversation.
func (c *chat) letters(user string) (posts []post) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.posts {
		if p.to.Chat == "dm"+user {
			posts = append(posts, *p)
		}
	}
	return posts
}

func TestOwnersAreAskedInTheirOwnConversationsAboutWhatOthersLeadTo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, box := newOpenChat("chat"), newGuarded()
		m := &script{steps: []step{call("c1", "act", `{}`), say("done")}}
		cfg := owned(Config{Store: newStore(t), Channels: []channels.Channel{c}, Model: m, Toolbox: box})
		cfg.Access.Approvers = []string{"chat:8", "chat:5"}
		b := start(t, cfg)
		in := from(direct("chat:room", "1", "work"), "5")
		in.Target.Direct, in.RoomName = false, "The *Den*"
		c.send(t, in)
		id := question(t, c.chat, 1)
		synctest.Wait()
		owner, approver := c.letters("7"), c.letters("8")
		if len(owner) != 1 || len(approver) != 1 || len(c.letters("5")) != 0 {
			t.Fatalf("asked: %+v", c.texts())
		}
		if text := owner[0].text; !strings.Contains(text, "N5 (`chat:5`), in The \\*Den\\*:") || !strings.Contains(text, "act {}") || len(owner[0].out.Buttons) == 0 {
			t.Errorf("the owner is asked %+v", owner[0])
		}
		click := from(direct("chat:dm7", "2", ""), "7")
		click.Kind, click.Text, click.EventID = channels.Click, "approve:"+id, "click"
		c.send(t, click)
		settled(t, b)
		if len(box.ran()) != 1 {
			t.Errorf("it ran %d times", len(box.ran()))
		}
		for _, who := range []string{"7", "8"} {
			if now := c.letters(who); len(now) != 1 || !strings.Contains(now[0].text, "Approved by N7") || len(now[0].out.Buttons) > 0 {
				t.Errorf("afterwards %s sees %+v", who, now)
			}
		}
	})
}

func TestOnesOwnRequestIsAskedAboutInItsConversationOnly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, box := newOpenChat("chat"), newGuarded()
		m := &script{steps: []step{call("c1", "act", `{}`), say("done")}}
		b := start(t, owned(Config{Store: newStore(t), Channels: []channels.Channel{c}, Model: m, Toolbox: box}))
		c.send(t, direct(sess, "1", "work"))
		id := question(t, c.chat, 1)
		c.send(t, direct(sess, "2", "/approve "+id))
		settled(t, b)
		if letters := c.letters("7"); len(letters) > 0 {
			t.Errorf("letters: %+v", letters)
		}
	})
}

func TestOwnersElsewhereAreWrittenToWhenNobodyNearCanBe(t *testing.T) {
	bubble(t, func(t *testing.T) {
		near, far, closed := newOpenChat("chat", "7", "9"), newOpenChat("far.work"), newChat("closed")
		cfg := Config{Store: newStore(t), Channels: []channels.Channel{near, far, closed}, Model: &script{}}
		cfg.Access.Owners = []string{"chat:7", "far:1", "far.work:2", "closed:3"}
		b := start(t, cfg)
		err := b.rules.setPerson(t.Context(), "chat", "9", func(p *person) { p.Paired, p.Role = true, RoleOwner })
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			near string
			told int
		}{{"chat", 2}, {"far.work", 2}, {"", 2}, {"closed", 2}} {
			if n := b.NotifyOwners(t.Context(), c.near, channels.Outgoing{Markdown: "disk full"}); n != c.told {
				t.Errorf("near %q: %d were told, want %d", c.near, n, c.told)
			}
		}
		if len(far.letters("1")) != 4 || len(far.letters("2")) != 4 || len(near.texts()) > 0 || len(closed.texts()) > 0 {
			t.Errorf("told: %+v %+v", far.texts(), near.texts())
		}
	})
}
