package schedule

import (
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestAPlanIsResolvedInItsZone(t *testing.T) {
	for _, c := range []struct {
		plan Plan
		want string
	}{
		{Plan{At: "2026-12-24T18:00", Zone: "Europe/Berlin"}, "2026-12-24T17:00:00Z"},
		{Plan{At: "2026-12-24 18:00:30"}, "2026-12-24T23:00:30Z"},
		{Plan{At: "2026-12-24T18:00:00+02:00", Zone: "Asia/Tokyo"}, "2026-12-24T16:00:00Z"},
		{Plan{At: "2027-07-01T09:00"}, "2027-07-01T14:00:00Z"},
		{Plan{At: "2027-10-31T02:30", Zone: "Europe/Berlin"}, "2027-10-31T00:30:00Z"}, // there twice: the first
		{Plan{In: "20m"}, "2026-11-30T12:20:00Z"},
		{Plan{In: "1s"}, "2026-11-30T12:00:01Z"},
		{Plan{In: "2 h 30 m"}, "2026-11-30T14:30:00Z"},
		{Plan{In: "1w2d3h"}, "2026-12-09T15:00:00Z"},
		{Plan{In: "3d"}, "2026-12-03T12:00:00Z"},
		{Plan{Cron: "0 9 * * *"}, "2026-11-30T14:00:00Z"},
		{Plan{Cron: "0 9 * * *", Zone: " Europe/Berlin "}, "2026-12-01T08:00:00Z"},
		{Plan{Cron: "@yearly", Zone: "UTC"}, "2027-01-01T00:00:00Z"},
	} {
		c.plan.Text = "x"
		it, err := c.plan.Resolve(noon, zone(t, "America/Lima"), 5*time.Minute)
		if got := it.Next.Format(time.RFC3339); err != nil || got != c.want {
			t.Errorf("%+v: %s, %v, want %s", c.plan, got, err, c.want)
		}
	}
}

func TestAPlanThatCanNotBeKeptIsRefusedWithTheReason(t *testing.T) {
	for _, c := range []struct {
		plan   Plan
		reason string
	}{
		{Plan{In: "1h"}, "say in text"},
		{Plan{Text: " \n", In: "1h"}, "say in text"},
		{Plan{Text: strings.Repeat("x", MostText+1), In: "1h"}, "2000 is the most"},
		{Plan{Text: "x"}, "exactly one of"},
		{Plan{Text: "x", In: "1h", Cron: "0 9 * * *"}, "exactly one of"},
		{Plan{Text: "x", At: "2026-11-30T11:59:59", Zone: "UTC"}, "has passed: it is Mon 30 Nov 2026, 12:00:00 now"},
		{Plan{Text: "x", At: "2026-11-30T12:00", Zone: "UTC"}, "has passed"},
		{Plan{Text: "x", At: "2026-12-01"}, "no time of day: write it as 2026-12-01T09:00"},
		{Plan{Text: "x", At: "tomorrow at nine"}, "no date and time that I can read"},
		{Plan{Text: "x", At: "2026-02-30T09:00"}, "no date and time that I can read"},
		{Plan{Text: "x", At: "2027-03-28T02:30", Zone: "Europe/Berlin"}, "no clock in Europe/Berlin shows 02:30 on that day, for it is put forward then: the next time there is is 03:00"},
		{Plan{Text: "x", At: "2090-01-01T09:00"}, "10 years"},
		{Plan{Text: "x", In: "-5m"}, "not in the future"},
		{Plan{Text: "x", In: "0s"}, "not in the future"},
		{Plan{Text: "x", In: "4000d"}, "10 years"},
		{Plan{Text: "x", In: "99999999999h"}, "no duration"},
		{Plan{Text: "x", In: "soon"}, "no duration that I can read"},
		{Plan{Text: "x", In: "d"}, "no duration that I can read"},
		{Plan{Text: "x", Cron: "* * * * *"}, "comes every 1m at times, and the least time between two is 5m here (schedules.min_interval)"},
		{Plan{Text: "x", Cron: "0,1 9 * * *"}, "schedules.min_interval"},
		{Plan{Text: "x", Cron: "*/5 * * * * *"}, "seconds and years"},
		{Plan{Text: "x", In: "1h", Zone: "Mars/Base"}, "use an IANA name"},
		{Plan{Text: "x", In: "1h", Zone: "Local"}, "unknown time zone"},
		{Plan{Text: "x", In: "1h", Zone: "../../etc/passwd"}, "unknown time zone"},
		{Plan{Text: "x", In: "1h", Zone: strings.Repeat("A", 1000)}, "unknown time zone"},
	} {
		if _, err := c.plan.Resolve(noon, time.UTC, 5*time.Minute); err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%.80v: %v, want %q in it", c.plan, err, c.reason)
		}
	}
}

func TestAnUnknownZoneIsGuessed(t *testing.T) {
	for name, want := range map[string]string{
		"europe/berlin": "Europe/Berlin", "Berlin": "Europe/Berlin", "New York": "America/New_York", "America/New York": "America/New_York",
		"Europe/Berln": "Europe/Berlin", "Amerika/Lima": "America/Lima", "PST": "America/Los_Angeles", "ist": "Asia/Kolkata", "Warsav": "Europe/Warsaw",
		"buenos aires": "America/Argentina/Buenos_Aires", "UTC+2": "Etc/GMT-2",
	} {
		if _, err := Zone(name); err == nil || !strings.Contains(err.Error(), `did you mean "`+want+`"?`) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	for _, known := range knownZones {
		if _, err := Zone(known); err != nil {
			t.Error(err)
		}
	}
	for short, known := range abbreviations {
		if _, err := Zone(known); err != nil {
			t.Errorf("%s: %v", short, err)
		}
	}
}

func TestTheHostHasAZone(t *testing.T) {
	if HostZone() == nil {
		t.Fatal("none")
	}
	now := time.Now()
	_, want := now.Zone()
	if _, got := now.In(HostZone()).Zone(); got != want {
		t.Errorf("its clock is %d s off", got-want)
	}
}

func FuzzResolve(f *testing.F) {
	f.Add("2026-12-24T18:00", "", "", "Europe/Berlin")
	f.Add("", "1w2d3h", "", "")
	f.Add("", "", "0 9 * * mon-fri", "UTC")
	f.Fuzz(func(t *testing.T, at, in, cron, zone string) {
		it, err := Plan{Text: "x", At: at, In: in, Cron: cron, Zone: zone}.Resolve(noon, time.UTC, 5*time.Minute)
		if err == nil && (!it.Next.After(noon) || it.Next.After(noon.AddDate(searched+1, 0, 0))) {
			t.Errorf("it comes at %v", it.Next)
		}
	})
}
