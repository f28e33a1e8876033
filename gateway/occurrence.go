package gateway

import (
	"fmt"
	"strings"
	"time"

	"clawbot/gateway/schedule"
	"clawbot/store"
)

const (
	// lateAfter is from when on an occurrence counts as late.
	lateAfter = 2 * time.Minute
	// missedAfter is from when on one is told of instead of done.
	missedAfter = 24 * time.Hour
)

// isOccurrence reports whether a queued message is one of a schedule: it waits
// for its turn and neither interrupts a run nor makes it begin again.
func isOccurrence(q *store.Queued) bool { return strings.HasPrefix(q.ID, schedule.EventPrefix) }

// scheduled writes what the model is told of a scheduled task, before and after
// its text.
func (r *inbound) scheduled() (before, after string) {
	it := r.Schedule
	if it == nil {
		it = &schedule.Item{Next: r.At, Set: r.At, Zone: "UTC"}
	}
	name := displayName(r.Sender.Name)
	set := "the user"
	if !r.Target.Direct {
		set = name + " · " + displayName(r.Sender.ID)
	}
	before = fmt.Sprintf("scheduled task %s, set by %s on %s", it.ID, set, it.Clock(it.Set))
	if it.Cron != "" {
		before += ", recurring (" + it.Cron + ")"
	}
	before += ". It is due now; nobody has written"
	var b strings.Builder
	switch late := r.At.Sub(it.Next); {
	case late > missedAfter:
		fmt.Fprintf(&b, "it was due on %s, when I was not running: too long ago, so do not do it. Tell them that it was missed, and ask whether they still want it", it.Clock(it.Next))
		if it.Cron != "" {
			b.WriteString("; it goes on as planned")
		}
	case late > lateAfter:
		fmt.Fprintf(&b, "it was due on %s, when I was not running: do it now, and say that it is late and when it was due", it.Clock(it.Next))
	default:
		b.WriteString("do it now; if it is a reminder, remind them")
	}
	b.WriteString(". Your answer is posted here. Ask nothing back that it could be done without, and don't schedule it again")
	if !r.Target.Direct {
		fmt.Fprintf(&b, ". Begin with their name, %s", name)
	}
	return before, b.String()
}
