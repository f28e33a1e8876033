package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"clawbot/channels"
)

// changed is an edit or deletion of the message with id.
func changed(kind channels.Kind, event, id, text string) channels.Inbound {
	in := direct(sess, id, text)
	in.Kind, in.EventID = kind, sess+":"+event
	return in
}

func TestAnEditOfAQueuedMessageReplacesItAndADeletionRemovesIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{steps: []step{words(30)}, otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Queue: Queue{Mode: ModeFollowUp}})
		c.send(t, direct(sess, "1", "one"))
		time.Sleep(time.Second)
		c.send(t, direct(sess, "2", "two"))
		c.send(t, direct(sess, "3", "three"))
		c.send(t, changed(channels.Edit, "e2", "2", "two, corrected"))
		c.send(t, changed(channels.Delete, "d3", "3", ""))
		settled(t, b)
		got := outline(t, s, sess)
		want(t, "transcript", got[2:], []string{"u two, corrected", "a re: two, corrected"})
	})
}

func TestAnEditOfTheMessageBeingAnsweredSteers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		slow := tool("slow", func(ctx context.Context) string { sleep(ctx, 2*time.Second); return "slept" })
		m := &script{steps: []step{call("c1", "slow", `{}`)}, otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: toolset{slow}})
		c.send(t, direct(sess, "1", "buy ten"))
		time.Sleep(time.Second)
		c.send(t, changed(channels.Edit, "e1", "1", "buy two"))
		settled(t, b)
		reqs := m.asked()
		if len(reqs) != 2 {
			t.Fatalf("%d requests, want 2", len(reqs))
		}
		if got := lastUser(reqs[1]); !strings.Contains(got, "changed an earlier message") || !strings.HasSuffix(got, "buy two") {
			t.Errorf("the model saw %q", got)
		}
		valid(t, s, sess)
	})
}

func TestRow25AnEditOfAnAnsweredMessageStartsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		c.send(t, direct(sess, "1", "one"))
		settled(t, b)
		for i := range 50 { // a link preview may change a message again and again
			c.send(t, changed(channels.Edit, fmt.Sprintf("e%d", i), "1", "one!"))
		}
		time.Sleep(10 * time.Second)
		settled(t, b)
		want(t, "posts", c.texts(), []string{"re: one"})
		c.send(t, direct(sess, "2", "two"))
		settled(t, b)
		want(t, "posts", c.texts(), []string{"re: one", "re: two"})
		reqs := m.asked()
		if n := len(reqs); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
		if got := strings.Join(users(reqs[1]), "|"); !strings.Contains(got, "one!") {
			t.Errorf("the correction is not in the context: %q", got)
		}
		valid(t, s, sess)
	})
}

func TestAnEditOfAnOverheardMessageChangesTheBackground(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, m := newChat("chat"), newStore(t), &script{}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		c.send(t, inRoom("1", "8", "lunch at one", false))
		c.send(t, inRoom("2", "8", "secret", false))
		edit := inRoom("1", "8", "lunch at two", false)
		edit.Kind, edit.EventID = channels.Edit, "e1"
		c.send(t, edit)
		del := inRoom("2", "8", "", false)
		del.Kind, del.EventID = channels.Delete, "d2"
		c.send(t, del)
		c.send(t, inRoom("3", "7", "when?", true))
		settled(t, b)
		text := lastUser(m.asked()[0])
		if !strings.Contains(text, "lunch at two") || strings.Contains(text, "lunch at one") || strings.Contains(text, "secret") {
			t.Errorf("the model saw %q", text)
		}
	})
}

func TestAnEditInARoomThatNeverSpokeToTheBotLeavesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: &script{}})
		edit := inRoom("1", "8", "unrelated", false)
		edit.Kind, edit.EventID = channels.Edit, "e1"
		c.send(t, edit)
		settled(t, b)
		list, _, err := b.Sessions(t.Context(), "chat:", "", 10)
		if err != nil || len(list) != 0 {
			t.Errorf("sessions: %v, %v", list, err)
		}
	})
}
