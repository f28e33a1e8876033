package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/channels"
	"clawbot/gateway/schedule"
	"clawbot/store"
)

// sessionsIn lists what is left, sorted.
func sessionsIn(t *testing.T, s store.Store) (left []string) {
	t.Helper()
	list, _, err := s.Archive().Sessions(t.Context(), "", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range list {
		left = append(left, info.Session)
	}
	slices.Sort(left)
	return left
}

func retaining(t *testing.T, s store.Store, r Retention) (*bot, *chat) {
	c := newChat("chat")
	return start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: &script{otherwise: echo}, Retention: r, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}), c
}

func TestOldConversationsGoAndWhatIsStillNeededStays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		b, c := retaining(t, s, Retention{Age: 30 * time.Hour})
		for _, id := range []string{"old", "reminded", "held", "fresh"} {
			c.send(t, from(direct("chat:"+id, "1", "hello"), id))
		}
		settled(t, b)
		ctx := context.Background()
		_, err := schedule.Book{State: s.State()}.Add(ctx, schedule.Item{
			Channel: "chat", Sender: channels.Sender{ID: "reminded"}, Text: "x", Next: time.Now().Add(1000 * time.Hour),
			Target: channels.Target{Conversation: "chat:reminded"},
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Hour)
		c.send(t, from(direct("chat:fresh", "2", "hello"), "fresh"))
		settled(t, b)
		time.Sleep(9 * time.Hour)
		if n := len(sessionsIn(t, s)); n != 4 {
			t.Fatalf("%d sessions after 29 hours", n)
		}
		lease, err := s.Acquire(ctx, "chat:held", "another", 48*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = lease.ReleaseIfEmpty(ctx) }()
		time.Sleep(3 * time.Hour)
		if left := sessionsIn(t, s); !slices.Equal(left, []string{"chat:fresh", "chat:held", "chat:reminded"}) {
			t.Errorf("left: %v", left)
		}
	})
}

func TestTheLatestConversationsOfEachChannelAreKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		b, c := retaining(t, s, Retention{})
		for i := range 6 {
			c.send(t, direct(fmt.Sprintf("chat:%d", i), "1", "hello"))
			c.send(t, direct(fmt.Sprintf("other:%d", i), "1", "hello"))
			settled(t, b)
			time.Sleep(time.Minute)
		}
		if err := b.stop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1000 * time.Hour)
		if n := len(sessionsIn(t, s)); n != 12 {
			t.Fatalf("without rules, %d are left", n)
		}
		b, c = retaining(t, s, Retention{Count: 2})
		<-c.ready
		time.Sleep(time.Minute)
		if left := sessionsIn(t, s); !slices.Equal(left, []string{"chat:4", "chat:5", "other:4", "other:5"}) {
			t.Errorf("left: %v", left)
		}
		settled(t, b)
	})
}

func TestDeadLettersAndFilesThatNothingSpeaksOfGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		wanted, unwanted := putFile(t, s, "wanted"), putFile(t, s, "unwanted")
		keptFiles(t, s, "chat:a", "7", wanted)
		bury(t, s, "chat:dead")
		time.Sleep(50 * time.Hour)
		fresh := putFile(t, s, "fresh")
		bury(t, s, "chat:dead2")
		b, _ := retaining(t, s, Retention{DeadLetters: 48 * time.Hour})
		time.Sleep(time.Minute)
		if hasFile(t, s, unwanted) || !hasFile(t, s, wanted) || !hasFile(t, s, fresh) {
			t.Errorf("unwanted %v, wanted %v, fresh %v", hasFile(t, s, unwanted), hasFile(t, s, wanted), hasFile(t, s, fresh))
		}
		if dead, err := s.Archive().Dead(t.Context(), 10); err != nil || len(dead) != 1 || dead[0].Session != "chat:dead2" {
			t.Errorf("dead letters: %+v, %v", dead, err)
		}
		settled(t, b)
	})
}

func bury(t *testing.T, s store.Store, session string) {
	t.Helper()
	ctx := context.Background()
	acc, err := s.Accept(ctx, store.Event{ID: newID(), Session: session, Data: []byte(`{"v":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := s.Acquire(ctx, session, "test", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Bury(ctx, []int64{acc.Position}, "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := lease.ReleaseIfEmpty(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestAnEntryThatCannotBeReadKeepsAllFiles(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		ref := putFile(t, s, "wanted, perhaps")
		lease, err := s.Acquire(t.Context(), "chat:new", "test", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Append(t.Context(), 0, []store.Entry{{Kind: store.KindNote, ID: "n", Data: []byte(`{"v":99}`), At: time.Now()}}); err != nil {
			t.Fatal(err)
		}
		if _, err := lease.ReleaseIfEmpty(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Hour)
		b, _ := retaining(t, s, Retention{Count: 100})
		time.Sleep(3 * time.Hour)
		if !hasFile(t, s, ref) {
			t.Error("a file was deleted that a newer bot may want")
		}
		settled(t, b)
	})
}

// lister counts how often the sessions are listed.
type lister struct {
	store.Store
	lists *int
}

func (l lister) Archive() store.Archive { return countedArchive{l.Store.Archive(), l.lists} }

type countedArchive struct {
	store.Archive
	lists *int
}

func (a countedArchive) Sessions(ctx context.Context, prefix, after string, limit int) ([]store.SessionInfo, string, error) {
	*a.lists++
	return a.Archive.Sessions(ctx, prefix, after, limit)
}

func TestOneReplicaLooksForWhatIsOldOnceAnHourAndNothingIsDoneWhenOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, c := range []struct {
			rules Retention
			least int
			most  int
		}{{Retention{}, 0, 0}, {Retention{Age: time.Hour}, 10, 26}} {
			s, lists := newStore(t), 0
			var bots []*bot
			for range 3 {
				b, ch := retaining(t, lister{s, &lists}, c.rules)
				<-ch.ready
				bots = append(bots, b)
			}
			time.Sleep(10 * time.Hour)
			synctest.Wait()
			// A look is one list, one for what is new, and once a day those for files.
			if lists < c.least || lists > c.most {
				t.Errorf("%+v: the sessions were listed %d times in ten hours, want %d to %d", c.rules, lists, c.least, c.most)
			}
			for _, b := range bots {
				if err := b.stop(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

func TestAConversationThatWakesInTheLastMomentIsNotDeleted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		b, c := retaining(t, s, Retention{})
		c.send(t, direct(sess, "1", "hello"))
		settled(t, b)
		info, err := s.Archive().Session(t.Context(), sess)
		if err != nil {
			t.Fatal(err)
		}
		c.send(t, direct(sess, "2", "again"))
		settled(t, b)
		if gone, err := expire(t.Context(), s, info); gone || err != nil {
			t.Errorf("it has grown: %v, %v", gone, err)
		}
		if info, err = s.Archive().Session(t.Context(), sess); err != nil || info.Owner != "" {
			t.Fatalf("it is held: %+v, %v", info, err)
		}
		if gone, err := expire(t.Context(), s, info); !gone || err != nil {
			t.Errorf("it is old: %v, %v", gone, err)
		}
		if _, err := s.Archive().Session(t.Context(), sess); !errors.Is(err, store.ErrNotFound) {
			t.Error(err)
		}
		if n := strings.Count(strings.Join(c.texts(), " "), "re:"); n != 2 {
			t.Errorf("%d answers", n)
		}
	})
}
