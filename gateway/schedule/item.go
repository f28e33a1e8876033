package schedule

import (
	"fmt"
	"strings"
	"time"

	"clawbot/channels"
)

// Item is one schedule. Times are in UTC.
type Item struct {
	// ID is short, for people, and unique among those of its person.
	ID      string          `json:"id"`
	Channel string          `json:"channel"`
	Target  channels.Target `json:"target"`
	Room    string          `json:"room,omitempty"`
	// Sender set it, with Role, their role with the bot then. With are the others
	// in the conversation then who are no owners: it runs with no more rights
	// than all of them have.
	Sender channels.Sender   `json:"sender"`
	Role   string            `json:"role,omitempty"`
	With   []channels.Sender `json:"with,omitempty"`

	Text string `json:"text"`
	// Cron is empty for what is done once. Zone is the IANA zone that it goes by.
	Cron string `json:"cron,omitempty"`
	Zone string `json:"zone"`
	// Next is the occurrence that comes next, Last the one that came last, and
	// Ran what the clock showed then.
	Next time.Time `json:"next"`
	Last time.Time `json:"last,omitzero"`
	Ran  time.Time `json:"ran,omitzero"`
	Set  time.Time `json:"set"`
}

// after returns the first occurrence after both the one that came last and now;
// the zero time if there is none.
func (it *Item) after(last, now time.Time) time.Time {
	if it.Cron == "" {
		return time.Time{}
	}
	c, err := ParseCron(it.Cron)
	if err != nil {
		return time.Time{}
	}
	if last.After(now) {
		now = last
	}
	return c.Next(now, it.zone()).UTC()
}

// zone is UTC for a zone that this machine no longer has.
func (it *Item) zone() *time.Location {
	if it.Zone == time.Local.String() {
		return time.Local
	}
	zone, err := time.LoadLocation(it.Zone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// Clock writes a moment as the schedule's person reads it.
func (it *Item) Clock(at time.Time) string {
	zone := it.zone()
	return at.In(zone).Format("Mon 2 Jan 2006, 15:04") + seconds(at) + " (" + zone.String() + ")"
}

func seconds(at time.Time) string {
	if at.Second() == 0 {
		return ""
	}
	return at.Format(":05")
}

// When says when it comes: "once, Tue 1 Dec 2026, 09:00 (Europe/Berlin)".
func (it *Item) When() string {
	if it.Cron == "" {
		return "once, " + it.Clock(it.Next)
	}
	return fmt.Sprintf("`%s`, next %s", it.Cron, it.Clock(it.Next))
}

// Line is the schedule in one line of Markdown.
func (it *Item) Line() string {
	text := strings.Join(strings.Fields(it.Text), " ")
	if runes := []rune(text); len(runes) > 100 {
		text = string(runes[:100]) + " …"
	}
	return fmt.Sprintf("`%s` · %s · %s", it.ID, it.When(), text)
}
