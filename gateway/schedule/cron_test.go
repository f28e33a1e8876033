package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func cron(t testing.TB, spec string) Cron {
	t.Helper()
	c, err := ParseCron(spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCronExpressionsComeWhenCrontabSaysSo(t *testing.T) {
	const layout = "Mon 2006-01-02 15:04"
	for _, c := range []struct{ spec, zone, after, want string }{
		{"0 9 * * *", "UTC", "Mon 2026-11-30 21:00", "Tue 2026-12-01 09:00, Wed 2026-12-02 09:00"},
		{"0 9 * * mon-fri", "UTC", "Fri 2026-12-04 09:00", "Mon 2026-12-07 09:00, Tue 2026-12-08 09:00"},
		{"30 8 * * SAT-SUN", "UTC", "Fri 2026-12-04 09:00", "Sat 2026-12-05 08:30, Sun 2026-12-06 08:30, Sat 2026-12-12 08:30"},
		{"0 0 * * 7", "UTC", "Mon 2026-11-30 21:00", "Sun 2026-12-06 00:00"},
		{"0 0 * * 5-7", "UTC", "Mon 2026-11-30 21:00", "Fri 2026-12-04 00:00, Sat 2026-12-05 00:00, Sun 2026-12-06 00:00"},
		{"*/20 8-9 * * *", "UTC", "Mon 2026-11-30 08:10", "Mon 2026-11-30 08:20, Mon 2026-11-30 08:40, Mon 2026-11-30 09:00"},
		{"5,35 * * * *", "UTC", "Mon 2026-11-30 23:05", "Mon 2026-11-30 23:35, Tue 2026-12-01 00:05"},
		{"10/25 4 * * *", "UTC", "Mon 2026-11-30 04:10", "Mon 2026-11-30 04:35, Tue 2026-12-01 04:10"},
		{"0 12 1 jan,jul *", "UTC", "Mon 2026-11-30 21:00", "Fri 2027-01-01 12:00, Thu 2027-07-01 12:00"},
		{"0 12 13 * fri", "UTC", "Mon 2026-11-30 21:00", "Fri 2026-12-04 12:00, Fri 2026-12-11 12:00, Sun 2026-12-13 12:00"},
		{"0 12 */2 * mon", "UTC", "Mon 2026-11-30 21:00", "Mon 2026-12-07 12:00, Mon 2026-12-21 12:00"},
		{"0 0 29 2 *", "UTC", "Mon 2026-11-30 21:00", "Tue 2028-02-29 00:00, Sun 2032-02-29 00:00"},
		{"0 0 29 2 ?", "UTC", "Thu 2096-03-01 00:00", "Fri 2104-02-29 00:00"},
		{"0 0 29 2 */7", "UTC", "Sun 2032-03-07 00:00", "Sun 2060-02-29 00:00"},
		{"0 0 31 * *", "UTC", "Mon 2026-11-30 21:00", "Thu 2026-12-31 00:00, Sun 2027-01-31 00:00, Wed 2027-03-31 00:00"},
		{"@hourly", "UTC", "Mon 2026-11-30 21:00", "Mon 2026-11-30 22:00"},
		{"@Weekly", "UTC", "Mon 2026-11-30 21:00", "Sun 2026-12-06 00:00"},
		{"@yearly", "UTC", "Mon 2026-11-30 21:00", "Fri 2027-01-01 00:00"},
		// Clocks go forward at 02:00: 02:30 comes at 03:00, once; every hour goes on.
		{"30 2 * * *", "Europe/Berlin", "Fri 2026-03-27 12:00", "Sat 2026-03-28 02:30, Sun 2026-03-29 03:00, Mon 2026-03-30 02:30"},
		{"*/15 2 * * *", "Europe/Berlin", "Sun 2026-03-29 01:00", "Sun 2026-03-29 03:00, Mon 2026-03-30 02:00"},
		{"30 * * * *", "Europe/Berlin", "Sun 2026-03-29 01:00", "Sun 2026-03-29 01:30, Sun 2026-03-29 03:30"},
		{"0 3 * * *", "Europe/Berlin", "Sun 2026-03-29 01:00", "Sun 2026-03-29 03:00, Mon 2026-03-30 03:00"},
		// And back at 03:00: 02:30 comes once, every hour goes on.
		{"30 2 * * *", "Europe/Berlin", "Sat 2026-10-24 12:00", "Sun 2026-10-25 02:30, Mon 2026-10-26 02:30"},
		{"30 * * * *", "Europe/Berlin", "Sun 2026-10-25 01:00", "Sun 2026-10-25 01:30, Sun 2026-10-25 02:30, Sun 2026-10-25 02:30, Sun 2026-10-25 03:30"},
		// A day that begins at 01:00, and one that does not exist.
		{"0 0 * * *", "America/Havana", "Sat 2026-03-07 12:00", "Sun 2026-03-08 01:00, Mon 2026-03-09 00:00"},
		{"0 9 * * *", "Pacific/Apia", "Thu 2011-12-29 08:00", "Thu 2011-12-29 09:00, Sat 2011-12-31 00:00, Sat 2011-12-31 09:00"},
		{"15 2 * * *", "Australia/Lord_Howe", "Sat 2026-10-03 12:00", "Sun 2026-10-04 02:30, Mon 2026-10-05 02:15"},
	} {
		z := zone(t, c.zone)
		at, err := time.ParseInLocation(layout, c.after, z)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range strings.Count(c.want, ",") + 1 {
			at = cron(t, c.spec).Next(at, z)
			got = append(got, at.Format(layout))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s in %s:\n got %s\nwant %s", c.spec, c.zone, s, c.want)
		}
	}
}

func TestTheHourThatIsThereTwiceComesInTheFirst(t *testing.T) {
	z := zone(t, "America/New_York")
	at := cron(t, "30 1 * * *").Next(time.Date(2026, 10, 31, 12, 0, 0, 0, z), z)
	if got := at.Format(time.RFC3339); got != "2026-11-01T01:30:00-04:00" {
		t.Errorf("it comes at %s", got)
	}
	if next := cron(t, "30 1 * * *").Next(at, z); next.Day() != 2 {
		t.Errorf("and again at %s", next)
	}
}

func TestCronExpressionsThatMeanNothingAreRefusedWithTheReason(t *testing.T) {
	for spec, reason := range map[string]string{
		"":                                      "has 0",
		"* * * *":                               "has 4",
		"0 0 9 * * *":                           "seconds and years can't be given",
		"60 * * * *":                            "out of range in the field for the minute",
		"* 24 * * *":                            "field for the hour",
		"* * 0 * *":                             "day of the month",
		"* * * 13 *":                            "month",
		"* * * * 8":                             "day of the week",
		"* * * * funday":                        "no number",
		"*/0 * * * *":                           "step",
		"*/-5 * * * *":                          "step",
		"-5 * * * *":                            "no number",
		"10-5 * * * *":                          "runs backwards",
		"1,,2 * * * *":                          "no number",
		"1- * * * *":                            "no number",
		"0 0 L * *":                             "no number",
		"0 0 30 2 *":                            "never comes",
		"0 0 31 4,6,9 *":                        "never comes",
		"@every 5m":                             "unknown cron expression",
		"@reboot":                               "@daily",
		"0 9 * * mon#1":                         "no number",
		"+1 * * * *":                            "no number",
		"9999999999999999999 * * * *":           "no number",
		strings.Repeat("1,", 200) + "1 * * * *": "longer than",
	} {
		if _, err := ParseCron(spec); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v, want %q in it", spec, err, reason)
		}
	}
}

func TestTheLeastTimeBetweenTwoOccurrencesIsKnown(t *testing.T) {
	for spec, want := range map[string]time.Duration{
		"* * * * *": time.Minute, "*/15 * * * *": 15 * time.Minute, "0 * * * *": time.Hour, "0 9 * * *": 24 * time.Hour,
		"0,1 9 * * *": time.Minute, "58,2 0,23 * * *": 4 * time.Minute, "0 9,17 * * *": 8 * time.Hour, "0 0 1 1 *": 24 * time.Hour,
		"*/25 * * * *": 10 * time.Minute,
	} {
		if got := cron(t, spec).Shortest(); got != want {
			t.Errorf("%s: %v, want %v", spec, got, want)
		}
	}
}

// calendar is every minute of a span of time with what clocks show.
type calendar struct {
	first map[time.Time]time.Time // the first moment that shows it
	list  []time.Time
	zone  *time.Location
}

func newCalendar(from, to time.Time, z *time.Location) calendar {
	c := calendar{first: map[time.Time]time.Time{}, zone: z}
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		w := shows(at.In(z))
		if _, ok := c.first[w]; !ok {
			c.first[w] = at
		}
		c.list = append(c.list, at)
	}
	return c
}

// brute finds the occurrences by looking at every minute.
func (cal calendar) brute(c Cron, from, to time.Time) (out []time.Time) {
	has := func(w time.Time) bool {
		return c.onDay(w.Month(), w.Day(), w.Weekday()) && c.hours&(1<<w.Hour()) != 0 && c.minutes&(1<<w.Minute()) != 0
	}
	if c.everyHour {
		for _, at := range cal.list {
			if has(shows(at.In(cal.zone))) {
				out = append(out, at)
			}
		}
	} else {
		// Every time of day that is written, whether or not a clock shows it.
		for w := shows(cal.list[0].In(cal.zone)); w.Before(shows(cal.list[len(cal.list)-1].In(cal.zone))); w = w.Add(time.Minute) {
			if !has(w) {
				continue
			}
			at, ok := cal.first[w]
			for past := w; !ok; at, ok = cal.first[past] {
				past = past.Add(time.Minute)
			}
			out = append(out, at)
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	out = slices.CompactFunc(out, time.Time.Equal)
	return slices.DeleteFunc(out, func(at time.Time) bool { return !at.After(from) || !at.Before(to) })
}

// TestOccurrencesAreThoseFoundByLookingAtEveryMinute compares with brute force
// around every change of clocks of many zones.
func TestOccurrencesAreThoseFoundByLookingAtEveryMinute(t *testing.T) {
	specs := []string{
		"* * * * *", "*/15 * * * *", "30 * * * *", "0 0 * * *", "30 0 * * *", "59 23 * * *", "0 1 * * *", "30 1 * * *", "0 2 * * *",
		"30 2 * * *", "*/7 1-3 * * *", "15 */2 * * *", "0 3 * * *", "0 9 * * mon-fri", "30 2 * * sun", "45 1,2,3 */2 * *", "0 12 1,15 * fri",
		"0 0 29 2 *", "10 2 29 2,3 *", "* 2 * * *", "0,30 23,0 * * *", "20 */3 * * sat,sun",
	}
	zones := []string{
		"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "Asia/Tehran", "Pacific/Chatham",
		"America/St_Johns", "Antarctica/Troll", "Africa/Casablanca", "America/Havana", "Asia/Beirut", "Africa/Cairo", "Asia/Kathmandu", "Asia/Pyongyang",
		"America/Caracas", "Europe/Istanbul", "Asia/Gaza", "America/Scoresbysund",
	}
	const around = 30 * time.Hour
	checked := 0
	for _, name := range zones {
		z := zone(t, name)
		for at := time.Date(2022, 1, 1, 0, 0, 0, 0, z); at.Year() < 2030; {
			_, change := at.ZoneBounds()
			if change.IsZero() || change.Year() >= 2030 {
				change = time.Date(2028, 2, 29, 0, 0, 0, 0, z)
			}
			cal := newCalendar(change.Add(-2*around).UTC(), change.Add(2*around).UTC(), z)
			from, to := change.Add(-around), change.Add(around)
			for _, spec := range specs {
				c := cron(t, spec)
				want := cal.brute(c, from, to)
				var got []time.Time
				for n := c.Next(from, z); n.Before(to); n = c.Next(n, z) {
					got = append(got, n)
				}
				checked += len(got)
				if !slices.EqualFunc(got, want, time.Time.Equal) {
					t.Fatalf("%s in %s around %s:\n got %v\nwant %v", spec, name, change, got, want)
				}
			}
			if change.Year() == 2028 && change.Month() == 2 {
				break
			}
			at = change
		}
	}
	if checked < 10_000 {
		t.Errorf("only %d occurrences were compared", checked)
	}
}

func FuzzParseCron(f *testing.F) {
	for _, s := range []string{"0 9 * * mon-fri", "*/5 1-3,7 ? jan 7", "@daily", "0 0 30 2 *", "a/b c-d , - /"} {
		f.Add(s)
	}
	now := time.Date(2026, 11, 30, 21, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, spec string) {
		c, err := ParseCron(spec)
		if err != nil {
			return
		}
		next := c.Next(now, time.UTC)
		if !next.After(now) || next.Second() != 0 {
			t.Errorf("%q comes at %v", spec, next)
		}
		again, err := ParseCron(c.String())
		if err != nil || again != c {
			t.Errorf("%q reads back as %+v, %v", spec, again, err)
		}
	})
}
