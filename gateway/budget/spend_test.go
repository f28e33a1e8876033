package budget

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/agentcore"
	"clawbot/store"
	"clawbot/store/memory"
)

// table writes rows for comparison, in thousandths of a dollar.
func table(rows []Row) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%s %s %s %s %d/%d in=%d out=%d $%d\n", r.Day, r.Model, r.Session, r.User, r.Calls, r.Cut, r.Usage.Input, r.Usage.Output, r.Usage.Cost/1e6)
	}
	return b.String()
}

func spend(t *testing.T, b *Budget, from, to time.Time) string {
	t.Helper()
	rows, err := b.Spend(t.Context(), from, to)
	must(t, err)
	return table(rows)
}

func TestWhatIsSpentIsKnownPerDayModelConversationAndPerson(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		one, two := newBudget(t, s, Limits{}), newBudget(t, s, Limits{})
		model := dollar(step{usage: agentcore.Usage{Input: 10, Output: 20}})
		for range 2 {
			for _, b := range []*Budget{one, two} {
				for _, a := range []*Account{account("chat:1", "chat:ana"), account("chat:2", "chat:ana", "chat:ben")} {
					_, err := ask(With(t.Context(), a), b.Model(model), request(80))
					must(t, err)
				}
			}
			must(t, two.Flush(t.Context()))
		}
		_, err := ask(t.Context(), one.Model(dollar(step{text: "12345678", err: errors.New("cut")})), request(80))
		if err == nil {
			t.Fatal("the last call did not fail")
		}
		day := time.Now().UTC().Format(time.DateOnly)
		want := fmt.Sprintf("%[1]s test/m   1/1 in=20 out=2 $22\n%[1]s test/m chat:1 chat:ana 4/0 in=40 out=80 $120\n%[1]s test/m chat:2 chat:ben 4/0 in=40 out=80 $120\n", day)
		if got := spend(t, one, time.Now(), time.Now()); got != want {
			t.Errorf("unwritten rows included:\n%swant\n%s", got, want)
		}
		must(t, one.Flush(t.Context()))
		must(t, one.Flush(t.Context()))
		if got := spend(t, two, time.Now().AddDate(0, 0, -3), time.Now().AddDate(0, 0, 1)); got != want {
			t.Errorf("as the store has it:\n%swant\n%s", got, want)
		}
	})
}

func TestWhatIsSpentIsWrittenSoonAndAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		b := newBudget(t, s, Limits{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		written := func() string { return spend(t, newBudget(t, s, Limits{}), time.Now(), time.Now()) }
		call := func() {
			_, err := ask(t.Context(), b.Model(dollar(step{usage: agentcore.Usage{Input: 1}})), request(8))
			must(t, err)
		}
		call()
		time.Sleep(flushAfter + time.Millisecond)
		synctest.Wait()
		if got := written(); !strings.Contains(got, " 1/0 ") {
			t.Errorf("after a while the store has %q", got)
		}
		call()
		cancel()
		must(t, <-ended)
		if got := written(); !strings.Contains(got, " 2/0 ") {
			t.Errorf("at the end the store has %q", got)
		}
	})
}

func TestManyConversationsTakeFewValuesAndLittleMemory(t *testing.T) {
	s := memory.New()
	b := newBudget(t, s, Limits{})
	model := b.Model(dollar(step{usage: agentcore.Usage{Input: 1}}))
	for i := range 10 * chunkRows {
		_, err := ask(With(t.Context(), account(fmt.Sprint("chat:", i))), model, request(8))
		must(t, err)
	}
	must(t, b.Flush(t.Context()))
	values, err := s.State().List(t.Context(), spendPrefix)
	must(t, err)
	if len(values) != 10 || len(b.ledger.chunks) != 1 {
		t.Errorf("%d values are in the store, and %d in memory", len(values), len(b.ledger.chunks))
	}
	rows, err := b.Spend(t.Context(), time.Now(), time.Now())
	must(t, err)
	if len(rows) != 10*chunkRows {
		t.Errorf("%d rows", len(rows))
	}
}

func TestAStoreThatIsAwayForAWhileLosesNothingOfTheLedger(t *testing.T) {
	s := memory.New()
	l := &lame{Store: s}
	b := newBudget(t, l, Limits{})
	model := b.Model(dollar(step{usage: agentcore.Usage{Input: 1}}))
	call := func() {
		_, err := ask(t.Context(), model, request(8))
		must(t, err)
	}
	call()
	l.lose = true // it is written, and the answer is lost
	if err := b.Flush(t.Context()); err == nil {
		t.Fatal("the loss was not noticed")
	}
	call()
	l.lose = false
	must(t, b.Flush(t.Context()))
	if got := spend(t, newBudget(t, s, Limits{}), time.Now(), time.Now()); !strings.Contains(got, " 2/0 ") {
		t.Errorf("the store has %q", got)
	}
}

// lame is a store whose answers to Put are lost while lose is set.
type lame struct {
	store.Store
	lose bool
}

func (l *lame) State() store.State { return lameState{l.Store.State(), l} }

type lameState struct {
	store.State
	l *lame
}

func (s lameState) Put(ctx context.Context, key string, data []byte, version int64) (int64, error) {
	v, err := s.State.Put(ctx, key, data, version)
	if s.l.lose {
		return 0, errors.New("the answer is lost")
	}
	return v, err
}

func TestOldDaysAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		b, err := New(Config{Store: s, Keep: 3 * 24 * time.Hour})
		must(t, err)
		first := time.Now()
		for range 6 {
			_, err := ask(t.Context(), b.Model(dollar(step{usage: agentcore.Usage{Input: 1}})), request(8))
			must(t, err)
			must(t, b.Flush(t.Context()))
			b.sweep(t.Context())
			time.Sleep(24 * time.Hour)
		}
		rows, err := b.Spend(t.Context(), first, time.Now())
		must(t, err)
		if len(rows) != 4 || rows[0].Day != "2000-01-03" {
			t.Errorf("left are:\n%s", table(rows))
		}
	})
}

func TestDaysAreThoseOfTheZoneThroughChangesOfTheClock(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	must(t, err)
	b, err := New(Config{Store: memory.New(), Zone: zone})
	must(t, err)
	// 29 March 2026 has 23 hours, and 25 October has 25.
	for _, c := range []struct{ now, ends string }{
		{"2026-03-29T01:59:00+01:00", "2026-03-30T00:00:00+02:00"},
		{"2026-10-25T02:30:00+01:00", "2026-10-26T00:00:00+01:00"},
		{"2028-02-28T23:30:00Z", "2028-03-01T00:00:00+01:00"},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		must(t, err)
		if got := b.tomorrow(now).Format(time.RFC3339); got != c.ends {
			t.Errorf("the day of %s ends at %s, want %s", c.now, got, c.ends)
		}
	}
	from, to := time.Date(2026, 3, 27, 0, 10, 0, 0, zone), time.Date(2026, 3, 31, 23, 50, 0, 0, zone)
	for d := 27; d <= 31; d++ {
		b.note(Row{Day: fmt.Sprintf("2026-03-%d", d), Model: "m", Calls: 1}, agentcore.ModelRef{})
	}
	rows, err := b.Spend(t.Context(), from, to)
	must(t, err)
	if len(rows) != 5 {
		t.Errorf("the days are\n%s", table(rows))
	}
	if _, err := b.Spend(t.Context(), from.AddDate(-10, 0, 0), to); err == nil {
		t.Error("ten years are told at once")
	}
}

// hearer hears "hello".
type hearer struct {
	heard time.Duration
	err   error
}

func (h hearer) Hear(context.Context, string, string, io.Reader) (string, time.Duration, error) {
	return "hello", h.heard, h.err
}

func TestListeningCountsByTheMinute(t *testing.T) {
	price := 0.6
	b := newBudget(t, memory.New(), Limits{DailyUSD: 2})
	a := account("chat:1", "chat:ana")
	ctx := With(t.Context(), a)
	minute := strings.Repeat("x", bytesPerMinute)
	listen := func(h hearer, price *float64) error {
		_, err := b.Transcriber(h, scriptRef, price).Transcribe(ctx, "v.ogg", "audio/ogg", strings.NewReader(minute))
		return err
	}
	for _, c := range []struct {
		h    hearer
		want int64 // thousandths, all together
	}{
		{hearer{heard: 30 * time.Second}, 300},
		{hearer{}, 910}, // as long as it can be, and a second
		{hearer{err: &agentcore.Error{Class: agentcore.ErrAuth, Status: 401}}, 910},
		{hearer{err: &agentcore.Error{Class: agentcore.ErrBadResponse}}, 1520},
	} {
		if err := listen(c.h, &price); (err == nil) != (c.h.err == nil) {
			t.Fatal(err)
		}
		if got := used(t, b, a, Daily); got != c.want {
			t.Errorf("%+v: %d are counted, want %d", c.h, got, c.want)
		}
	}
	var reached *Reached
	if err := listen(hearer{}, &price); !errors.As(err, &reached) {
		t.Errorf("beyond the cap: %v", err)
	}
	if err := listen(hearer{}, nil); agentcore.ClassOf(err) != agentcore.ErrLimit || !strings.Contains(err.Error(), "audio.usd_per_minute") {
		t.Errorf("an unknown price: %v", err)
	}
	rows, err := b.Spend(t.Context(), time.Now(), time.Now())
	must(t, err)
	if len(rows) != 1 || rows[0].Calls != 3 || rows[0].User != "chat:ana" {
		t.Errorf("the ledger has\n%s", table(rows))
	}
}

func TestAmountsAreWrittenForPeople(t *testing.T) {
	for n, want := range map[int64]string{0: "$0.00", 1: "less than $0.0001", 12_345_678: "$0.0123", 500_000_000: "$0.50", 123_400_000: "$0.1234", 1e9: "$1.00", 1_239_000_000: "$1.24"} {
		if got := Dollars(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	if Thousands(1234567) != "1,234,567" || Thousands(-123) != "-123" || Thousands(0) != "0" {
		t.Error(Thousands(1234567), Thousands(-123), Thousands(0))
	}
}
