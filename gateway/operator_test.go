package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/channels"
	"clawbot/store"
)

// operator is who sits at the page of another channel.
func operator(id string) Operator {
	return Operator{Channel: "page", Sender: channels.Sender{ID: id, Name: id}}
}

func TestAnOperatorDecidesFromAnotherReplicaWhatWaitsAnywhere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, box := newChat("chat"), newStore(t), newGuarded()
		box.rule = "r1"
		m := &script{steps: []step{call("c1", "act", `{}`), say("done")}}
		cfg := owned(Config{Store: s, Channels: []channels.Channel{clickChat{c}}, Model: m, Toolbox: box})
		cfg.Access.Owners = append(cfg.Access.Owners, "page:root")
		b := start(t, cfg)
		cfg.Channels = []channels.Channel{newChat("page")}
		cfg.Owner = "elsewhere"
		other := start(t, cfg)
		c.send(t, direct(sess, "1", "work"))
		id := question(t, c, 1)
		list, err := other.PendingCalls(t.Context())
		if err != nil || len(list) != 1 || list[0].ID != id || list[0].Session != sess || !list[0].Always || list[0].Tool != "act" {
			t.Fatalf("pending: %+v, %v", list, err)
		}
		err = other.Decide(t.Context(), operator("guest"), sess, id, "approve")
		if _, refused := errors.AsType[*RefusedError](err); !refused {
			t.Errorf("somebody who is no owner decided: %v", err)
		}
		if err := other.Decide(t.Context(), operator("root"), sess, id, "perhaps"); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("a word that means nothing: %v", err)
		}
		if err := other.Decide(t.Context(), operator("root"), sess, id, "always"); err != nil {
			t.Fatal(err)
		}
		settled(t, b, other)
		want(t, "what ran", box.ran(), []string{"b1"})
		if err := other.Decide(t.Context(), operator("root"), sess, id, "deny"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a decision too late: %v", err)
		}
		if list, err := other.PendingCalls(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("still pending: %+v, %v", list, err)
		}
	})
}

func TestAnOwnerStopsAndRemovesASessionOfAnotherChannel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		b := start(t, owned(Config{Store: s, Channels: []channels.Channel{c}, Model: &script{steps: []step{words(1000)}},
			Access: Access{Owners: []string{"page:root"}}}))
		c.send(t, direct(sess, "1", "work"))
		time.Sleep(time.Second)
		synctest.Wait()
		for name, fn := range map[string]func(context.Context, Operator, string) error{"stop": b.StopSession, "remove": b.RemoveSession} {
			if _, refused := errors.AsType[*RefusedError](fn(t.Context(), operator("guest"), sess)); !refused {
				t.Errorf("somebody who is no owner may %s", name)
			}
		}
		if _, held := errors.AsType[*store.HeldError](b.RemoveSession(t.Context(), operator("root"), sess)); !held {
			t.Error("a session that is worked on was removed")
		}
		if err := b.StopSession(t.Context(), operator("root"), sess); err != nil {
			t.Fatal(err)
		}
		settled(t, b)
		if texts := c.texts(); len(texts) == 0 || texts[len(texts)-1][len(texts[len(texts)-1])-len(stoppedText):] != stoppedText {
			t.Errorf("the chat is not told: %q", texts)
		}
		if err := b.StopSession(t.Context(), operator("root"), sess); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("stopping what is idle: %v", err)
		}
		if err := b.RemoveSession(t.Context(), operator("root"), sess); err != nil {
			t.Fatal(err)
		}
		if err := b.RemoveSession(t.Context(), operator("root"), sess); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("removing what is gone: %v", err)
		}
	})
}

func TestThePagesOwnIDsAreNamesOfOwners(t *testing.T) {
	c := Config{Access: Access{Owners: []string{"web:remote", "chat:7"}}}
	for _, who := range []struct {
		channel, sender string
		owner           bool
	}{
		{"web", "web:remote", true}, {"web", "web:other", false}, {"web", "remote", true}, {"chat.work", "7", true},
		{"chat", "web:remote", false}, {"chat", "", false},
	} {
		if got := c.roleOf(who.channel, who.sender, person{}) == RoleOwner; got != who.owner {
			t.Errorf("%s at %s is an owner: %v", who.sender, who.channel, got)
		}
	}
}

func TestAChannelThatDrawsNothingPublishesItsRunsOnlyWhileSomebodyLooks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: &script{steps: []step{say("one"), say("two"), say("three")}}})
		<-c.ready
		var w watcher
		cancel, err := s.Bus().Subscribe(channels.LiveTopic(sess), w.take)
		if err != nil {
			t.Fatal(err)
		}
		defer cancel()
		c.send(t, direct(sess, "1", "first"))
		settled(t, b)
		if len(w.events) > 0 {
			t.Errorf("published with nobody looking: %v", w.types())
		}
		if err := Look(t.Context(), s.Bus(), sess); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		c.send(t, direct(sess, "2", "second"))
		settled(t, b)
		synctest.Wait()
		want(t, "events", w.types(), []string{"run_start", "message", "text", "message", "run_end"})
		time.Sleep(lookFor)
		w.events = nil
		c.send(t, direct(sess, "3", "third"))
		settled(t, b)
		if data, _ := json.Marshal(w.events); len(w.events) > 0 {
			t.Errorf("published after everybody went: %s", data)
		}
	})
}
