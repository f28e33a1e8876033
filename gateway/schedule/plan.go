package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// MostText bounds what is to be done, in bytes.
	MostText = 2000
	// furthest is how far ahead something can be set.
	furthest = 10 * 365 * 24 * time.Hour
	// soonest is the least notice.
	soonest = time.Second
)

// Plan is when something is to be done, as it is asked for: exactly one of At,
// In and Cron.
type Plan struct {
	Text string
	// At is a date and a time of day, RFC 3339 or without an offset.
	At string
	// In is a duration from now on: "90m", "2h30m", "3d".
	In string
	// Cron is a recurring time, see [ParseCron].
	Cron string
	// Zone is an IANA name; empty is the default zone.
	Zone string
}

// layouts of At without an offset.
var layouts = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"}

// Resolve makes an item of a plan, with what it says of time. The errors are for
// whoever made the plan and say what to do instead.
func (p Plan) Resolve(now time.Time, zone *time.Location, shortest time.Duration) (Item, error) {
	text := strings.TrimSpace(p.Text)
	switch {
	case text == "":
		return Item{}, errors.New("say in text what is to be done then")
	case len(text) > MostText:
		return Item{}, fmt.Errorf("the text has %d bytes, and %d is the most: say what is to be done in fewer words, or keep it in a file and name that", len(text), MostText)
	}
	if p.Zone != "" {
		var err error
		if zone, err = Zone(p.Zone); err != nil {
			return Item{}, err
		}
	}
	it := Item{Text: text, Zone: zone.String(), Set: now.UTC().Truncate(time.Second)}
	given := 0
	for _, s := range []string{p.At, p.In, p.Cron} {
		if strings.TrimSpace(s) != "" {
			given++
		}
	}
	if given != 1 {
		return Item{}, errors.New("give exactly one of at (a date and time), in (a duration) and cron (five fields)")
	}
	var err error
	switch {
	case p.Cron != "":
		err = it.recur(p.Cron, now, zone, shortest)
	case p.At != "":
		err = it.once(p.At, now, zone)
	default:
		err = it.delay(p.In, now)
	}
	return it, err
}

func (it *Item) recur(spec string, now time.Time, zone *time.Location, shortest time.Duration) error {
	c, err := ParseCron(spec)
	if err != nil {
		return err
	}
	if c.Shortest() < shortest {
		return fmt.Errorf("%q comes every %s at times, and the least time between two is %s here (schedules.min_interval): choose a longer one",
			c, brief(c.Shortest()), brief(shortest))
	}
	it.Cron, it.Next = c.String(), c.Next(now, zone).UTC()
	return nil
}

func (it *Item) delay(text string, now time.Time) error {
	d, err := parseDuration(text)
	switch {
	case err != nil:
		return err
	case d < soonest:
		return fmt.Errorf("%q is not in the future: give a duration of a second or more", text)
	case d > furthest:
		return fmt.Errorf("%q is more than 10 years away: choose something nearer", text)
	}
	it.Next = now.Add(d).UTC().Truncate(time.Second)
	if it.Next.Before(now.Add(d)) {
		it.Next = it.Next.Add(time.Second)
	}
	return nil
}

func (it *Item) once(text string, now time.Time, zone *time.Location) error {
	at, err := parseTime(strings.TrimSpace(text), zone)
	switch {
	case err != nil:
		return err
	case at.Before(now.Add(soonest)):
		return fmt.Errorf("%s has passed: it is %s now", it.Clock(at), now.In(zone).Format("Mon 2 Jan 2006, 15:04:05"))
	case at.After(now.Add(furthest)):
		return fmt.Errorf("%s is more than 10 years away: choose something nearer", it.Clock(at))
	}
	it.Next = at.UTC().Truncate(time.Second)
	return nil
}

// parseTime reads a date and time of day. One that a clock of the zone never
// shows is an error; of one that it shows twice it is the first.
func parseTime(text string, zone *time.Location) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	for _, layout := range layouts {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if !exists(at, at.Hour(), at.Minute(), zone) {
			return at, fmt.Errorf("no clock in %s shows %s on that day, for it is put forward then: the next time there is is %s",
				zone, at.Format("15:04"), wall(at, at.Hour(), at.Minute(), zone).Format("15:04"))
		}
		return wall(at, at.Hour(), at.Minute(), zone).Add(time.Duration(at.Second()) * time.Second), nil
	}
	if _, err := time.Parse(time.DateOnly, text); err == nil {
		return time.Time{}, fmt.Errorf("%q has no time of day: write it as %sT09:00", text, text)
	}
	return time.Time{}, fmt.Errorf("%q is no date and time that I can read: write it as 2026-12-01T09:00 (in the time zone) or 2026-12-01T09:00:00+01:00", text)
}

// parseDuration reads Go's durations, with d for days and w for weeks.
func parseDuration(text string) (time.Duration, error) {
	bad := fmt.Errorf("%q is no duration that I can read: write it as 90s, 20m, 2h30m or 3d", text)
	rest, total := strings.ReplaceAll(strings.ToLower(text), " ", ""), time.Duration(0)
	for _, unit := range []struct {
		letter string
		long   time.Duration
	}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}} {
		before, after, ok := strings.Cut(rest, unit.letter)
		if !ok {
			continue
		}
		var n int
		if _, err := fmt.Sscanf(before+"!", "%d!", &n); err != nil || n < 0 || n > 5000 {
			return 0, bad
		}
		total += time.Duration(n) * unit.long
		rest = after
	}
	if rest == "" && total > 0 {
		return total, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d > furthest {
		if err == nil {
			return d, nil
		}
		return 0, bad
	}
	return total + d, nil
}

// brief writes a duration without the zeros at its end.
func brief(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"0s", "0m"} {
		if cut := strings.TrimSuffix(s, zero); cut != s && cut != "" && (strings.HasSuffix(cut, "m") || strings.HasSuffix(cut, "h")) {
			s = cut
		}
	}
	return s
}
