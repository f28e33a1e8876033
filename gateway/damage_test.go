package gateway

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/store"
)

func TestADamagedMessageIsGivenUpAndTheNextOneWorks(t *testing.T) {
	for _, data := range []string{"{", "", "[]", `{"v":"one"}`, "\x00\xff"} {
		bubble(t, func(t *testing.T) {
			c, s := newChat("chat"), newStore(t)
			b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: &script{otherwise: echo}})
			c.send(t, direct(sess, "1", "hello"))
			settled(t, b)
			if _, err := s.Accept(t.Context(), eventOf(data)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			settled(t, b)
			c.send(t, direct(sess, "2", "still there?"))
			settled(t, b)
			if got := c.texts(); len(got) != 3 || got[1] != "⚠️ "+lostMessage || got[2] != "re: still there?" {
				t.Errorf("%q: posts: %q", data, got)
			}
			if _, err := b.Transcript(t.Context(), sess, 0, 100); err != nil {
				t.Errorf("%q: the history can't be read: %v", data, err)
			}
			valid(t, s, sess)
		})
	}
}

func TestADamagedSignalEndsNothingForEver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: &script{otherwise: echo}})
		<-c.ready
		ev := eventOf("{")
		ev.Lane = store.Signals
		if _, err := s.Accept(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		c.send(t, direct(sess, "1", "hello"))
		settled(t, b)
		want(t, "posts", c.texts(), []string{"re: hello"})
	})
}

// damaging is a store whose live transcripts come with some entries damaged.
type damaging struct {
	store.Store
	hurt map[store.EntryKind]bool
}

func (d damaging) Acquire(ctx context.Context, session, owner string, ttl time.Duration) (store.Lease, error) {
	l, err := d.Store.Acquire(ctx, session, owner, ttl)
	return damagedLease{l, d.hurt}, err
}

type damagedLease struct {
	store.Lease
	hurt map[store.EntryKind]bool
}

func (l damagedLease) Load(ctx context.Context, from int64) (store.Transcript, error) {
	tr, err := l.Lease.Load(ctx, from)
	tr.Entries = slices.Clone(tr.Entries)
	for i := range tr.Entries {
		if l.hurt[tr.Entries[i].Kind] {
			tr.Entries[i].Data = []byte("{")
		}
	}
	return tr, err
}

func TestADamagedHistoryCostsOnlyWhatIsDamaged(t *testing.T) {
	for _, kind := range []store.EntryKind{store.KindUser, store.KindAssistant, store.KindToolResult, store.KindSummary, store.KindNote} {
		bubble(t, func(t *testing.T) {
			c, s := newChat("chat"), newStore(t)
			look := tool("look", func(context.Context) string { return "seen" })
			m := &script{steps: []step{call("c1", "look", `{}`), say("I looked."), say("They looked."), say("ok")}, otherwise: echo}
			cfg := Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: toolset{look}}
			first := start(t, cfg)
			for _, text := range []string{"look", "/compact", "thanks"} {
				c.send(t, direct(sess, text, text))
				settled(t, first)
			}
			if err := first.stop(); err != nil {
				t.Fatal(err)
			}
			c2 := newChat("chat")
			cfg.Channels, cfg.Store = []channels.Channel{c2}, damaging{s, map[store.EntryKind]bool{kind: true}}
			second := start(t, cfg)
			c2.send(t, direct(sess, "more", "and now?"))
			settled(t, second)
			if got := c2.texts(); len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "re: ") {
				t.Errorf("kind %d: posts: %q", kind, got)
			}
			valid(t, s, sess)
		})
	}
}
