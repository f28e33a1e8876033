package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/store"
	"clawbot/store/memory"
)

func item(session, user, cron string, next time.Time) Item {
	return Item{
		Channel: "chat", Target: channels.Target{Conversation: session, Chat: session}, Sender: channels.Sender{ID: user, Name: "Ann"},
		Text: "call the dentist", Cron: cron, Zone: "UTC", Next: next, Set: noon,
	}
}

func openStore(t testing.TB) store.Store {
	t.Helper()
	s := memory.New()
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func add(t testing.TB, b Book, it Item) Item {
	t.Helper()
	it, err := b.Add(t.Context(), it)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

func anybody(string) bool { return true }

func due(t testing.TB, b Book, now time.Time) []Due {
	t.Helper()
	list, next, err := b.Due(t.Context(), now, "", 1000, anybody)
	if err != nil || next != "" {
		t.Fatal(next, err)
	}
	return list
}

// left is every key that is there.
func left(t testing.TB, s store.State) []string {
	t.Helper()
	list, err := s.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, v := range list {
		keys = append(keys, v.Key)
	}
	return keys
}

func TestWhatIsDueIsFoundAndMovesOn(t *testing.T) {
	b := Book{State: openStore(t).State()}
	once := add(t, b, item("chat:1", "7", "", noon.Add(time.Minute)))
	daily := add(t, b, item("chat:1", "7", "0 13 * * *", noon.Add(time.Hour)))
	add(t, b, item("chat:2", "8", "", noon.Add(48*time.Hour)))
	if got := due(t, b, noon.Add(59*time.Second)); len(got) != 0 {
		t.Errorf("due too early: %+v", got)
	}
	at, err := b.Earliest(t.Context(), noon)
	if err != nil || !at.Equal(noon.Add(time.Minute)) {
		t.Errorf("the first comes at %v, %v", at, err)
	}
	got := due(t, b, noon.Add(time.Minute))
	if len(got) != 1 || got[0].ID != once.ID {
		t.Fatalf("due: %+v", got)
	}
	if err := b.Advance(t.Context(), got[0], noon.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	// The recurring one was missed for ten days: it is due once.
	late := noon.AddDate(0, 0, 10)
	got = due(t, b, late)
	if len(got) != 2 || got[0].ID != daily.ID {
		t.Fatalf("due: %+v", got)
	}
	for _, d := range got {
		for range 2 { // the second time changes nothing
			if err := b.Advance(t.Context(), d, late); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := due(t, b, late); len(got) != 0 {
		t.Errorf("still due: %+v", got)
	}
	list, err := b.OfUser(t.Context(), "chat", "7")
	if err != nil || len(list) != 1 || !list[0].Next.Equal(late.Add(time.Hour)) {
		t.Errorf("left: %+v, %v", list, err)
	}
	if n, err := b.DeleteUser(t.Context(), "chat", "7"); n != 1 || err != nil {
		t.Errorf("deleted %d, %v", n, err)
	}
	want := []string{"schedule/user/chat/8"}
	if got := left(t, b.State); !slices.Equal(got, want) {
		t.Errorf("left in the store: %q", got)
	}
}

func TestAClockThatWasWrongNeitherSkipsNorDoubles(t *testing.T) {
	ctx := t.Context()
	for name, wrong := range map[string]time.Time{"years ahead": noon.AddDate(4, 0, 0), "hours ahead": noon.Add(5 * time.Hour), "a day ahead": noon.Add(26 * time.Hour)} {
		b := Book{State: openStore(t).State()}
		add(t, b, item("chat:1", "7", "0 13 * * *", noon.Add(time.Hour)))
		var ran []time.Time
		run := func(now time.Time) {
			for _, d := range due(t, b, now) {
				ran = append(ran, d.Next)
				if err := b.Advance(ctx, d, now); err != nil {
					t.Fatal(err)
				}
			}
		}
		run(wrong)
		if _, err := b.Mend(ctx, noon); err != nil {
			t.Fatal(err)
		}
		for h := range 24 * 4 {
			run(noon.Add(time.Duration(h) * time.Hour))
		}
		var want []time.Time
		for d := range 4 {
			want = append(want, noon.Add(time.Hour).AddDate(0, 0, d))
		}
		if !slices.EqualFunc(ran, want, time.Time.Equal) {
			t.Errorf("%s: it ran for %v, want %v", name, ran, want)
		}
	}
}

func TestAClockThatIsPutBackAfterATaskRanDoesNotRunItAgain(t *testing.T) {
	ctx, b := t.Context(), Book{State: openStore(t).State()}
	add(t, b, item("chat:1", "7", "0 13 * * *", noon.Add(time.Hour)))
	one := noon.Add(time.Hour)
	for _, d := range due(t, b, one) {
		if err := b.Advance(ctx, d, one); err != nil {
			t.Fatal(err)
		}
	}
	for _, now := range []time.Time{noon.Add(-3 * time.Hour), noon, one, one.Add(time.Minute), one.Add(23 * time.Hour)} {
		if _, err := b.Mend(ctx, now); err != nil {
			t.Fatal(err)
		}
		if got := due(t, b, now); len(got) != 0 {
			t.Errorf("at %v: due again: %+v", now, got)
		}
	}
	if got := due(t, b, one.Add(24*time.Hour)); len(got) != 1 {
		t.Errorf("the next day: %+v", got)
	}
}

func TestLimitsBindHoweverManyAddAtOnce(t *testing.T) {
	b := Book{State: openStore(t).State(), Limits: Limits{PerUser: 5, PerConversation: 8}}
	var wg sync.WaitGroup
	var refused sync.Map
	for i := range 16 {
		wg.Go(func() {
			if _, err := b.Add(t.Context(), item("chat:1", "7", "", noon.Add(time.Hour))); err != nil {
				refused.Store(i, err)
			}
		})
	}
	wg.Wait()
	n := 0
	refused.Range(func(_, err any) bool {
		n++
		if limit, ok := errors.AsType[*LimitError](err.(error)); !ok || limit.Key != "schedules.per_user" {
			t.Error(err)
		}
		return true
	})
	if list, _ := b.OfUser(t.Context(), "chat", "7"); n != 11 || len(list) != 5 {
		t.Errorf("%d were refused, %d kept", n, len(list))
	}
	if list, _ := b.OfConversation(t.Context(), "chat:1"); len(list) != 5 {
		t.Errorf("%d in the conversation", len(list))
	}
	for i := range 4 {
		_, err := b.Add(t.Context(), item("chat:1", "8", "", noon.Add(time.Hour)))
		if limit, ok := errors.AsType[*LimitError](err); (i < 3) != (err == nil) || ok && limit.Key != "schedules.per_conversation" {
			t.Errorf("%d: %v", i, err)
		}
	}
	if keys := left(t, b.State); len(keys) != 8*2+2 {
		t.Errorf("what was refused left something: %q", keys)
	}
}

func TestSchedulesAreCancelledByTheirPersonConversationAndID(t *testing.T) {
	ctx, b := t.Context(), Book{State: openStore(t).State()}
	// Ids with characters that keys don't have, and sessions that begin alike.
	one := add(t, b, item("chat:1", "U/1 é", "", noon.Add(time.Hour)))
	two := add(t, b, item("chat:11", "U/1 é", "0 9 * * *", noon.Add(2*time.Hour)))
	add(t, b, item("chat:1", "8", "", noon.Add(3*time.Hour)))
	if _, ok, err := b.Remove(ctx, "chat", "8", one.ID); ok || err != nil {
		t.Errorf("another's was removed: %v, %v", ok, err)
	}
	if list, err := b.OfConversation(ctx, "chat:1"); len(list) != 2 || list[0].ID != one.ID || err != nil {
		t.Errorf("in the conversation: %+v, %v", list, err)
	}
	if gone, ok, err := b.Remove(ctx, "chat", "U/1 é", one.ID); !ok || err != nil || gone.Text == "" {
		t.Errorf("removed %+v, %v, %v", gone, ok, err)
	}
	if n, err := b.DeleteConversation(ctx, "chat:1"); n != 1 || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
	if list, _, err := b.All(ctx, "", 10); len(list) != 1 || list[0].ID != two.ID || err != nil {
		t.Errorf("left: %+v, %v", list, err)
	}
	if n, err := b.DeleteUser(ctx, "chat", "U/1 é"); n != 1 || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
	if n, err := b.DeleteUser(ctx, "chat", "nobody"); n != 0 || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
}

func TestAllAreListedPageByPage(t *testing.T) {
	b := Book{State: openStore(t).State()}
	for i := range 230 {
		add(t, b, item(fmt.Sprint("chat:", i%7), fmt.Sprint("u", i%120), "", noon.Add(time.Duration(i)*time.Minute)))
	}
	seen, pages := map[string]bool{}, 0
	for after := ""; ; pages++ {
		list, next, err := b.All(t.Context(), after, 60)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range list {
			seen[it.Sender.ID+it.ID] = true
		}
		if after = next; after == "" {
			break
		}
	}
	if len(seen) != 230 || pages < 1 {
		t.Errorf("%d in %d pages", len(seen), pages+1)
	}
}

func TestOthersChannelsAreSkippedAndNothingBehindThemIsMissed(t *testing.T) {
	b := Book{State: openStore(t).State()}
	for i := range 25 {
		add(t, b, item("gone:1", fmt.Sprint(i), "", noon.Add(time.Duration(i)*time.Second)))
	}
	mine := add(t, b, item("chat:1", "7", "", noon.Add(time.Minute)))
	var got []Due
	for after := ""; ; {
		list, next, err := b.Due(t.Context(), noon.Add(time.Hour), after, 10, func(s string) bool { return strings.HasPrefix(s, "chat:") })
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, list...)
		if after = next; after == "" {
			break
		}
	}
	if len(got) != 1 || got[0].ID != mine.ID {
		t.Errorf("due: %+v", got)
	}
}

// mortal fails at one call and all that follow, before or after the call was
// made.
type mortal struct {
	store.State
	left  int
	after bool
}

var errDead = errors.New("dead")

func (m *mortal) call(fn func() error) error {
	m.left--
	if m.left < 0 || m.left == 0 && !m.after {
		return errDead
	}
	if err := fn(); err != nil {
		return err
	}
	if m.left == 0 {
		return errDead
	}
	return nil
}

func (m *mortal) Put(ctx context.Context, key string, data []byte, version int64) (v int64, err error) {
	err = m.call(func() error { v, err = m.State.Put(ctx, key, data, version); return err })
	return v, err
}

func (m *mortal) Delete(ctx context.Context, key string) error {
	return m.call(func() error { return m.State.Delete(ctx, key) })
}

// TestAProcessMayDieAtAnyCall has one die at every write of adding, moving on
// and cancelling. Another then runs what is due; each occurrence comes once.
func TestAProcessMayDieAtAnyCall(t *testing.T) {
	for at := range 14 {
		for _, after := range []bool{false, true} {
			ctx, state := t.Context(), openStore(t).State()
			m := &mortal{State: state, left: at + 1, after: after}
			dying, b := Book{State: m}, Book{State: state}
			ran := map[string]int{} // as Accept does: once by id
			run := func(b Book, now time.Time) {
				list, _, _ := b.Due(ctx, now, "", 100, anybody)
				for _, d := range list {
					ran[d.EventID()] = 1
					_ = b.Advance(ctx, d, now) // it may die there
				}
			}
			daily, err1 := dying.Add(ctx, item("chat:1", "7", "0 13 * * *", noon.Add(time.Hour)))
			_, err2 := dying.Add(ctx, item("chat:1", "7", "", noon.Add(time.Hour)))
			run(dying, noon.Add(time.Hour))
			if at > 10 {
				_, _, _ = dying.Remove(ctx, "chat", "7", daily.ID)
			}
			if _, err := b.Mend(ctx, noon); err != nil {
				t.Fatal(err)
			}
			for h := range 49 {
				run(b, noon.Add(time.Duration(h)*time.Hour))
			}
			list, err := b.OfUser(ctx, "chat", "7")
			if err != nil {
				t.Fatal(err)
			}
			// What was kept for sure has run at 13:00 of two days, and the other once.
			least, most := 0, 3
			if err1 == nil && at <= 10 {
				least += 2
			}
			if err2 == nil {
				least++
			}
			if len(ran) < least || len(ran) > most || len(list) > 1 {
				t.Errorf("at write %d (%v): %d ran (%v), %d left, errors %v, %v", at, after, len(ran), ran, len(list), err1, err2)
			}
			if err1 == nil && at <= 10 && len(list) != 1 {
				t.Errorf("at write %d (%v): the daily one is gone", at, after)
			}
			// What was left over is gone when its time has passed.
			if _, err := b.DeleteUser(ctx, "chat", "7"); err != nil {
				t.Fatal(err)
			}
			due(t, b, noon.AddDate(0, 0, 30))
			if keys := left(t, state); slices.ContainsFunc(keys, func(k string) bool { return strings.HasPrefix(k, duePrefix) }) {
				t.Errorf("at write %d (%v): left over: %q", at, after, keys)
			}
		}
	}
}

func TestManyProcessesMoveOneScheduleOnOnce(t *testing.T) {
	b := Book{State: openStore(t).State()}
	add(t, b, item("chat:1", "7", "0 13 * * *", noon.Add(time.Hour)))
	list := due(t, b, noon.Add(time.Hour))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := b.Advance(t.Context(), list[0], noon.Add(time.Hour)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := left(t, b.State); len(got) != 3 {
		t.Errorf("left: %q", got)
	}
	// One that comes days later with the same news changes nothing.
	if err := b.Advance(t.Context(), list[0], noon.Add(49*time.Hour)); err != nil {
		t.Error(err)
	}
	if it, _ := b.OfUser(t.Context(), "chat", "7"); !it[0].Next.Equal(noon.Add(25 * time.Hour)) {
		t.Errorf("next: %v", it[0].Next)
	}
}
