package gateway

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/gateway/budget"
	"clawbot/gateway/memory"
	"clawbot/gateway/schedule"
	"clawbot/internal/redistest"
	"clawbot/store"
	inmemory "clawbot/store/memory"
	"clawbot/store/redis"
	"clawbot/store/sqlite"
)

// onStores runs fn on each kind of store, with its own clock.
func onStores(t *testing.T, fn func(t *testing.T, s store.Store)) {
	for name, open := range map[string]func(t *testing.T) (store.Store, error){
		"memory": func(*testing.T) (store.Store, error) { return inmemory.New(), nil },
		"sqlite": func(t *testing.T) (store.Store, error) {
			return sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "clawbot.db")})
		},
		"redis": func(t *testing.T) (store.Store, error) {
			return redis.Open(t.Context(), redis.Config{URL: redistest.Start(t).URL(), Prefix: "t"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			fn(t, s)
		})
	}
}

func TestNothingOfAPersonIsLeftInAnyStore(t *testing.T) {
	onStores(t, func(t *testing.T, s store.Store) {
		ctx := t.Context()
		mine, shared := putFile(t, s, "mine"), putFile(t, s, "shared")
		keptFiles(t, s, "chat:a", "7", mine, shared)
		keptFiles(t, s, "chat:8", "8", shared)
		bury(t, s, "chat:a")
		if _, _, err := (memory.Book{State: s.State()}).Add(ctx, "chat/7", memory.Fact{Text: "likes jam"}); err != nil {
			t.Fatal(err)
		}
		_, err := schedule.Book{State: s.State()}.Add(ctx, schedule.Item{
			Channel: "chat", Sender: channels.Sender{ID: "7"}, Text: "x", Next: time.Now().Add(time.Hour),
			Target: channels.Target{Conversation: "chat:room"},
		})
		if err != nil {
			t.Fatal(err)
		}
		for key, data := range map[string]string{
			sessionRules + "chat:a": "{}", approvalKey("chat:a", "x"): "{}", ruleKey("chat:a", "x"): "{}", ruleKey("chat:aa", "x"): "{}",
			"spend/2026-01-02/o/0": `[{"m":"p/x","s":"chat:a","u":"chat:7","n":2,"t":{"cost":5}},{"m":"p/x","u":"chat:8","n":1,"t":{"cost":7}}]`,
		} {
			if _, err := s.State().Put(ctx, key, []byte(data), 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := changePerson(ctx, s.State(), "chat", "7", func(p *person) { p.Paired = true }); err != nil {
			t.Fatal(err)
		}
		var gone []string
		erased, err := ErasePerson(ctx, s, "chat", "7", func(session string) { gone = append(gone, session) })
		want := Erased{Conversations: 1, Files: 1, Facts: 1, Schedules: 1, Costs: 1, Standing: true}
		if err != nil || erased != want || len(gone) != 1 {
			t.Errorf("erased %+v (%v), %v; want %+v", erased, gone, err, want)
		}
		for _, prefix := range []string{"memory/", "sessions/chat/7", sessionRules, approvals, "rule/chat:a/", personKey("chat", "7"), "erase"} {
			if list, err := s.State().List(ctx, prefix); err != nil || len(list) != 0 {
				t.Errorf("left below %s: %+v, %v", prefix, list, err)
			}
		}
		if list, err := s.State().List(ctx, "rule/chat:aa/"); err != nil || len(list) != 1 {
			t.Errorf("another session's rules are gone: %v", err)
		}
		if dead, err := s.Archive().Dead(ctx, 10); err != nil || len(dead) != 0 {
			t.Errorf("dead letters: %+v, %v", dead, err)
		}
		if hasFile(t, s, mine) || !hasFile(t, s, shared) {
			t.Error("the wrong file is gone")
		}
		purse, err := budget.New(budget.Config{Store: s})
		if err != nil {
			t.Fatal(err)
		}
		day := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
		rows, err := purse.Spend(ctx, day, day)
		if err != nil || len(rows) != 2 || rows[0].User != "" || rows[0].Session != "" || rows[0].Calls != 2 || rows[1].User != "chat:8" {
			t.Errorf("spent: %+v, %v", rows, err)
		}
		// Once more is nothing, and no error.
		if erased, err = ErasePerson(ctx, s, "chat", "7", nil); err != nil || erased != (Erased{}) {
			t.Errorf("again: %+v, %v", erased, err)
		}
	})
}

func TestOnlyWhatIsAsItWasExpiresInAnyStore(t *testing.T) {
	onStores(t, func(t *testing.T, s store.Store) {
		ctx := t.Context()
		keptFiles(t, s, "chat:a", "7")
		info, err := s.Archive().Session(ctx, "chat:a")
		if err != nil {
			t.Fatal(err)
		}
		lease, err := s.Acquire(ctx, "chat:a", "worker", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if gone, err := expire(ctx, s, info); gone || err != nil {
			t.Errorf("held: %v, %v", gone, err)
		}
		if ok, err := lease.ReleaseIfEmpty(ctx); !ok || err != nil {
			t.Fatal(ok, err)
		}
		acc, err := s.Accept(ctx, store.Event{ID: "late", Session: "chat:a", Data: []byte(`{"v":1}`)})
		if err != nil {
			t.Fatal(err)
		}
		if gone, err := expire(ctx, s, info); gone || err != nil {
			t.Errorf("with a message that waits: %v, %v", gone, err)
		}
		if due, err := s.Due(ctx, 10); err != nil || len(due) != 1 {
			t.Errorf("the message is not due any more: %v, %v", due, err)
		}
		if lease, err = s.Acquire(ctx, "chat:a", "worker", time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := lease.Bury(ctx, []int64{acc.Position}, "test"); err != nil {
			t.Fatal(err)
		}
		if ok, err := lease.ReleaseIfEmpty(ctx); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if gone, err := expire(ctx, s, info); !gone || err != nil {
			t.Errorf("when it is well: %v, %v", gone, err)
		}
		if _, err := s.Archive().Session(ctx, "chat:a"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("it is there: %v", err)
		}
		if n, err := (&sweeper{g: &Gateway{cfg: Config{Store: s}}}).leftovers(t); n != 0 || err != nil {
			t.Errorf("files: %d, %v", n, err)
		}
	})
}

// leftovers looks for files once.
func (r *sweeper) leftovers(t *testing.T) (int, error) {
	t.Helper()
	err := r.files(t.Context())
	return r.blobs, err
}
