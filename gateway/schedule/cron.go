package schedule

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Cron is a recurring time as crontab(5) writes it: minute, hour, day of the
// month, month, day of the week. If both kinds of days are restricted, one of
// them is enough.
type Cron struct {
	spec                                   string
	minutes, hours, days, months, weekdays uint64 // sets of numbers
	// everyHour is set for "*" in the field of hours: then what counts is the
	// time that has passed, not which hour the clock shows.
	everyHour bool
	// eitherDay is set if both kinds of days are restricted.
	eitherDay bool
}

// field is what one of the five may hold.
type field struct {
	name     string
	min, max int
	names    []string // of min, min+1, …
	example  string
}

var fields = [5]field{
	{name: "minute", min: 0, max: 59, example: "0, */15 or 5,35"},
	{name: "hour", min: 0, max: 23, example: "9, 8-18 or */2"},
	{name: "day of the month", min: 1, max: 31, example: "1 or 1,15"},
	{name: "month", min: 1, max: 12, example: "3 or jan-jun", names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day of the week", min: 0, max: 7, example: "mon-fri or 0 for Sunday", names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// shorthands are the names for common times.
var shorthands = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *",
	"@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// mostSpec bounds an expression, in bytes.
const mostSpec = 200

// ParseCron reads five fields or a name such as "@daily". The error says which
// field is wrong and what it may hold.
func ParseCron(spec string) (Cron, error) {
	text := strings.ToLower(strings.TrimSpace(spec))
	if len(text) > mostSpec {
		return Cron{}, fmt.Errorf("the cron expression is longer than %d characters", mostSpec)
	}
	if strings.HasPrefix(text, "@") {
		known, ok := shorthands[text]
		if !ok {
			return Cron{}, fmt.Errorf("unknown cron expression %q: use five fields such as \"0 9 * * mon-fri\", or @hourly, @daily, @weekly, @monthly, @yearly", spec)
		}
		text = known
	}
	parts := strings.Fields(text)
	if len(parts) != len(fields) {
		hint := ""
		if len(parts) > len(fields) {
			hint = "; seconds and years can't be given"
		}
		return Cron{}, fmt.Errorf("a cron expression has five fields (minute, hour, day of the month, month, day of the week), such as \"0 9 * * mon-fri\"; %q has %d%s", spec, len(parts), hint)
	}
	c := Cron{spec: strings.Join(parts, " ")}
	for i, set := range []*uint64{&c.minutes, &c.hours, &c.days, &c.months, &c.weekdays} {
		var err error
		if *set, err = fields[i].parse(parts[i]); err != nil {
			return Cron{}, err
		}
	}
	if c.weekdays&(1<<7) != 0 { // Sunday is 0 and 7
		c.weekdays = c.weekdays&^(1<<7) | 1
	}
	c.everyHour = parts[1] == "*" || parts[1] == "?"
	c.eitherDay = !open(parts[2]) && !open(parts[4])
	if c.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC).IsZero() {
		return Cron{}, fmt.Errorf("%q never comes: there is no such day", spec)
	}
	return c, nil
}

// String returns the five fields.
func (c Cron) String() string { return c.spec }

// open reports whether a field of days is unrestricted: in crontab(5) one that
// begins with a star is, whatever follows.
func open(part string) bool { return part[0] == '*' || part[0] == '?' }

// parse reads a list of numbers, ranges and steps.
func (f *field) parse(part string) (set uint64, err error) {
	for item := range strings.SplitSeq(part, ",") {
		low, high, step, err := f.item(item)
		if err != nil {
			return 0, fmt.Errorf("%w in the field for the %s (%q): it takes %d to %d, such as %s", err, f.name, part, f.min, f.max, f.example)
		}
		for n := low; n <= high; n += step {
			set |= 1 << n
		}
	}
	return set, nil
}

var (
	errNumber = errors.New("something that is no number")
	errRange  = errors.New("a number out of range")
	errOrder  = errors.New("a range that runs backwards")
	errStep   = errors.New("a step that is no positive number")
)

func (f *field) item(item string) (low, high, step int, err error) {
	span, by, stepped := strings.Cut(item, "/")
	step = 1
	if stepped {
		if step, err = strconv.Atoi(by); err != nil || step < 1 || step > f.max {
			return 0, 0, 0, errStep
		}
	}
	if span == "*" || span == "?" {
		return f.min, f.max, step, nil
	}
	from, to, ranged := strings.Cut(span, "-")
	if low, err = f.number(from); err != nil {
		return 0, 0, 0, err
	}
	switch {
	case ranged:
		if high, err = f.number(to); err != nil {
			return 0, 0, 0, err
		}
		if high == 0 && f.max == 7 {
			high = 7 // until Sunday
		}
	case stepped:
		high = f.max
	default:
		high = low
	}
	if low > high {
		return 0, 0, 0, errOrder
	}
	return low, high, step, nil
}

func (f *field) number(text string) (int, error) {
	for i, name := range f.names {
		if text == name {
			return f.min + i, nil
		}
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil || text[0] == '+' || text[0] == '-':
		return 0, errNumber
	case n < f.min || n > f.max:
		return 0, errRange
	}
	return n, nil
}

// Shortest is the least time between two occurrences, going by the times of
// day alone.
func (c Cron) Shortest() time.Duration {
	least, first, last := 24*60, -1, -1
	for h := range 24 {
		if c.hours&(1<<h) == 0 {
			continue
		}
		for m := range 60 {
			if c.minutes&(1<<m) == 0 {
				continue
			}
			at := h*60 + m
			if last >= 0 {
				least = min(least, at-last)
			} else {
				first = at
			}
			last = at
		}
	}
	return time.Duration(min(least, first+24*60-last)) * time.Minute
}

// onDay reports whether the date is one of the expression's.
func (c Cron) onDay(month time.Month, day int, weekday time.Weekday) bool {
	if c.months&(1<<month) == 0 {
		return false
	}
	inMonth, inWeek := c.days&(1<<day) != 0, c.weekdays&(1<<weekday) != 0
	if c.eitherDay {
		return inMonth || inWeek
	}
	return inMonth && inWeek
}

// atOrAfter returns the least number in set that is not below n; -1 if none is.
func atOrAfter(set uint64, n int) int {
	rest := set >> n << n
	if n > 63 || rest == 0 {
		return -1
	}
	return bits.TrailingZeros64(rest)
}
