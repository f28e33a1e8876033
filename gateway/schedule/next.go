package schedule

import "time"

// searched is how many years are looked through for the next occurrence: the
// 29th of February falls on one day of the week after 40 years at the latest.
const searched = 41

// Next returns the first occurrence after a moment, by the clocks of zone; the
// zero time if there is none.
//
// Where clocks are put forward, what falls into the hour that is left out comes
// the moment after it, once. Where they are put back, what falls into the hour
// that is there twice comes in the first of the two. With "*" for hours nothing
// is moved: it comes every hour that passes.
func (c Cron) Next(after time.Time, zone *time.Location) time.Time {
	if c.everyHour {
		return c.nextPassing(after, zone)
	}
	y, m, d := after.In(zone).Date()
	day := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	for end := day.AddDate(searched, 0, 0); day.Before(end); {
		if c.months&(1<<day.Month()) == 0 {
			day = time.Date(day.Year(), day.Month()+1, 1, 0, 0, 0, 0, time.UTC)
			continue
		}
		if c.onDay(day.Month(), day.Day(), day.Weekday()) {
			if at := c.onDate(day, after, zone); !at.IsZero() {
				return at
			}
		}
		day = day.AddDate(0, 0, 1)
	}
	return time.Time{}
}

// onDate returns the first occurrence after a moment among those of a date.
// Later times of day never come earlier, whatever clocks do.
func (c Cron) onDate(day, after time.Time, zone *time.Location) time.Time {
	for h := atOrAfter(c.hours, 0); h >= 0; h = atOrAfter(c.hours, h+1) {
		if !wall(day, h, 59, zone).After(after) {
			continue
		}
		for m := atOrAfter(c.minutes, 0); m >= 0; m = atOrAfter(c.minutes, m+1) {
			if at := wall(day, h, m, zone); at.After(after) {
				return at
			}
		}
	}
	return time.Time{}
}

// nextPassing goes from minute to minute as they pass.
func (c Cron) nextPassing(after time.Time, zone *time.Location) time.Time {
	at := after.In(zone)
	at = at.Add(-time.Duration(at.Second())*time.Second - time.Duration(at.Nanosecond())).Add(time.Minute)
	for end := at.AddDate(searched, 0, 0); at.Before(end); {
		var step time.Duration
		m := at.Minute()
		switch {
		case !c.onDay(at.Month(), at.Day(), at.Weekday()):
			// To midnight, but not over it: days differ in length.
			step = time.Duration(24*60-at.Hour()*60-m) * time.Minute
		case c.minutes&(1<<m) != 0:
			return at
		default:
			next := atOrAfter(c.minutes, m)
			if next < 0 {
				next = 60
			}
			step = time.Duration(next-m) * time.Minute
		}
		to := at.Add(step)
		if _, change := at.ZoneBounds(); !change.IsZero() && to.After(change) {
			to = change
		}
		at = to
	}
	return time.Time{}
}

// wall returns when a clock of the zone shows a time of day on a date for the
// first time; if it never does, the moment at which it jumps over it.
func wall(date time.Time, hour, minute int, zone *time.Location) time.Time {
	want := time.Date(date.Year(), date.Month(), date.Day(), hour, minute, 0, 0, time.UTC)
	at := time.Date(date.Year(), date.Month(), date.Day(), hour, minute, 0, 0, zone)
	start, end := at.ZoneBounds()
	switch shown := shows(at); {
	case shown.Before(want):
		return end // it jumps ahead there
	case shown.After(want):
		return start
	}
	if !start.IsZero() {
		if earlier := want.Add(-offset(start.Add(-time.Second))); earlier.Before(start) {
			return earlier.In(zone)
		}
	}
	return at
}

// exists reports whether a clock of the zone ever shows that time.
func exists(date time.Time, hour, minute int, zone *time.Location) bool {
	at := wall(date, hour, minute, zone)
	return at.Hour() == hour && at.Minute() == minute && at.Day() == date.Day()
}

// shows is what a clock shows, as a time of UTC.
func shows(at time.Time) time.Time {
	return time.Unix(at.Unix(), 0).UTC().Add(offset(at))
}

func offset(at time.Time) time.Duration {
	_, seconds := at.Zone()
	return time.Duration(seconds) * time.Second
}
