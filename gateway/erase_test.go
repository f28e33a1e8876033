package gateway

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/gateway/budget"
	"clawbot/gateway/memory"
	"clawbot/store"
)

func TestAPersonHasAllDeletedThatIsKeptAboutThemAndNobodyElses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		b := newHistoryBot(t, s)
		var mu sync.Mutex
		var told []string
		b.bot.cfg.Deleted = func(session string) { mu.Lock(); defer mu.Unlock(); told = append(told, session) }
		b.dm("chat:a", "7", "my secret")
		b.dm("chat:b", "7", "my other secret")
		b.dm("chat:8", "8", "another's")
		b.room("chat:room", "7", "said in a room")
		for _, who := range []string{"7", "8"} {
			if _, _, err := b.bot.book().Add(t.Context(), "chat/"+who, memory.Fact{Text: "likes jam"}); err != nil {
				t.Fatal(err)
			}
		}
		b.dm("chat:a", "7", "/forgetme")
		if got := b.lastPost(); !strings.Contains(got, "2 direct conversations with their files, 1 fact") || !strings.Contains(got, "/forgetme yes") {
			t.Errorf("asked first: %q", got)
		}
		b.dm("chat:a", "7", "/forgetme please")
		if n := len(facts(t, s, "7")); n != 1 {
			t.Error("deleted without a yes")
		}
		b.room("chat:room", "7", "/forgetme yes")
		if got := b.lastPost(); !strings.Contains(got, "in private only") {
			t.Errorf("in a room: %q", got)
		}
		b.dm("chat:a", "7", "/forget-me YES")
		time.Sleep(time.Minute)
		settled(t, b.bot)
		if got := b.lastPost(); !strings.Contains(got, "I have deleted what I kept about you:\n\n- 2 direct conversations\n- 0 files\n- 1 fact\n") || !strings.Contains(got, "What stays: what you wrote in rooms") {
			t.Errorf("told: %q", got)
		}
		list, _, err := s.Archive().Sessions(t.Context(), "", "", 10)
		var left []string
		for _, info := range list {
			left = append(left, info.Session)
		}
		slices.Sort(left)
		if want := []string{"chat:8", "chat:room"}; err != nil || !slices.Equal(left, want) {
			t.Errorf("left: %v, %v", left, err)
		}
		if len(facts(t, s, "7")) != 0 || len(facts(t, s, "8")) != 1 {
			t.Error("the wrong facts are left")
		}
		mu.Lock()
		slices.Sort(told)
		if !slices.Equal(told, []string{"chat:a", "chat:b"}) {
			t.Errorf("told of deleted sessions: %v", told)
		}
		mu.Unlock()
		// Whoever was forgotten is somebody new.
		b.dm("chat:a", "7", "hello again")
		if sessions, err := SessionsOf(t.Context(), s, "chat/7"); err != nil || !slices.Equal(sessions, []string{"chat:a"}) {
			t.Errorf("the new conversation: %v, %v", sessions, err)
		}
		time.Sleep(time.Hour)
		if _, err := ErasureOf(t.Context(), s, "chat", "7"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the request stays: %v", err)
		}
	})
}

func TestWorkIsStoppedBeforeAPersonIsForgottenOnWhicheverReplicaItIs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &script{steps: []step{words(100_000)}})
		b1, a := w.spawn(&process{})
		b2, _ := w.spawn(&process{})
		if err := a.accept(direct(sess, "1", "work")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		erased, err := ErasePerson(t.Context(), w.store, "chat", "7", nil)
		if err != nil || erased.Conversations != 1 {
			t.Fatalf("%+v, %v", erased, err)
		}
		settled(t, b1, b2)
		if list, _, err := w.store.Archive().Sessions(t.Context(), "", "", 10); err != nil || len(list) != 0 {
			t.Errorf("left: %+v, %v", list, err)
		}
	})
}

func TestARequestThatADeadBotLeftIsDoneByAnother(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		b := newHistoryBot(t, s)
		b.dm("chat:a", "7", "my secret")
		b.stop()
		if err := RequestErasure(t.Context(), s, Erasure{Channel: "chat", Sender: "7", By: "cli"}); err != nil {
			t.Fatal(err)
		}
		b = newHistoryBot(t, s)
		time.Sleep(time.Minute)
		e, err := ErasureOf(t.Context(), s, "chat", "7")
		if err != nil || !e.Done || e.Erased.Conversations != 1 {
			t.Errorf("%+v, %v", e, err)
		}
		b.stop()
	})
}

func TestFilesGoWithTheirConversationsUnlessAnotherHasThem(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		mine, shared := putFile(t, s, "mine"), putFile(t, s, "shared")
		keptFiles(t, s, "chat:a", "7", mine, shared)
		keptFiles(t, s, "chat:8", "8", shared)
		time.Sleep(time.Second)
		erased, err := ErasePerson(t.Context(), s, "chat", "7", nil)
		if err != nil || erased.Files != 1 || erased.Conversations != 1 {
			t.Fatalf("%+v, %v", erased, err)
		}
		if hasFile(t, s, mine) || !hasFile(t, s, shared) {
			t.Error("the wrong file is gone")
		}
	})
}

// putFile keeps a file and returns its reference.
func putFile(t *testing.T, s store.Store, text string) string {
	t.Helper()
	ref, err := s.Blobs().Put(t.Context(), strings.NewReader(text), 100)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func hasFile(t *testing.T, s store.Store, ref string) bool {
	t.Helper()
	body, err := s.Blobs().Open(t.Context(), ref)
	if err == nil {
		_ = body.Close()
	}
	return err == nil
}

// keptFiles makes a direct conversation in which somebody has attached files.
func keptFiles(t *testing.T, s store.Store, session, sender string, refs ...string) {
	t.Helper()
	ctx := context.Background()
	id := newID()
	data, err := encode(&inbound{V: recordVersion, ID: id, Event: id, Channel: "chat", Sender: channels.Sender{ID: sender},
		Target: channels.Target{Conversation: session, Direct: true}, Text: "look", At: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Accept(ctx, store.Event{ID: id, Session: session, Data: data}); err != nil {
		t.Fatal(err)
	}
	lease, err := s.Acquire(ctx, session, "test", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := lease.Drain(ctx, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := note{Kind: noteFiles}
	for i, ref := range refs {
		n.Files = append(n.Files, file{Message: id, Index: i, Kind: fileImage, Ref: ref})
	}
	if data, err = encode(&payload{V: recordVersion, Note: &n}); err != nil {
		t.Fatal(err)
	}
	if err := lease.Append(ctx, int64(len(entries)), []store.Entry{{Kind: store.KindNote, ID: newID(), Data: data, At: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	if ok, err := lease.ReleaseIfEmpty(ctx); err != nil || !ok {
		t.Fatal(ok, err)
	}
}

func TestWhoIsForgottenMustBeLetInAgainAndWhoIsBlockedStaysSo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		change := func(id string, fn func(*person)) {
			t.Helper()
			if err := changePerson(t.Context(), s.State(), "chat", id, fn); err != nil {
				t.Fatal(err)
			}
		}
		change("7", func(p *person) { p.Paired, p.Name = true, "Ann" })
		change("8", func(p *person) { p.Blocked, p.Name, p.Rooms = true, "Ben", []string{"den"} })
		for id, standing := range map[string]bool{"7": true, "8": false, "9": false} {
			if e, err := ErasePerson(t.Context(), s, "chat", id, nil); err != nil || e.Standing != standing {
				t.Errorf("%s: %+v, %v", id, e, err)
			}
		}
		people, err := Pairing{State: s.State()}.People(t.Context())
		if err != nil || len(people) != 1 || people[0].ID != "8" || !people[0].Blocked || people[0].Name == "Ben" {
			t.Errorf("%+v, %v", people, err)
		}
	})
}

func TestCostsLoseTheNameAndKeepTheSum(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		purse, err := budget.New(budget.Config{Store: s})
		if err != nil {
			t.Fatal(err)
		}
		c := newChat("chat")
		model := purse.Model(&script{otherwise: echo})
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: model, Budget: purse})
		c.send(t, direct(sess, "1", "one"))
		c.send(t, from(direct("chat:8", "1", "two"), "8"))
		settled(t, b)
		before, err := purse.Spend(t.Context(), time.Now(), time.Now())
		if err != nil || len(before) != 2 {
			t.Fatalf("%+v, %v", before, err)
		}
		time.Sleep(10 * time.Second)
		c.send(t, direct(sess, "2", "just before"))
		settled(t, b)
		erased, err := ErasePerson(t.Context(), s, "chat", "7", nil)
		if err != nil || erased.Costs != 1 {
			t.Errorf("%+v, %v", erased, err)
		}
		time.Sleep(10 * time.Second)
		other, err := budget.New(budget.Config{Store: s})
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []*budget.Budget{purse, other} {
			rows, err := at.Spend(t.Context(), time.Now(), time.Now())
			if err != nil || len(rows) != 2 {
				t.Fatalf("%+v, %v", rows, err)
			}
			for _, r := range rows {
				if r.User == "chat:7" || r.Session == sess || r.User == "" && r.Calls != 2 || r.User == "chat:8" && r.Calls != 1 {
					t.Errorf("%+v", r)
				}
			}
		}
	})
}
