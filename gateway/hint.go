package gateway

import (
	"strconv"
	"strings"
	"time"

	"clawbot/store"
)

// hint says that a session has something new. On the bus it may be lost; the
// sweep and the renewal of leases find what it pointed at.
type hint struct {
	session string
	lane    store.Lane
	// sender wrote the message, if it is one and known.
	sender string
	// after is one past the message's inbox position; 0 if it is not known.
	after int64
	// waiting is how many messages the inbox held.
	waiting int
	// rest is how long to wait for what belongs to the message.
	rest time.Duration
	// look is set when nobody knows what waits: look at both lanes.
	look bool
	// forget is set when the session was deleted.
	forget bool
	// since is when the session joined the line here.
	since time.Time
}

// wakeAny reaches every process: the session has no owner.
const wakeAny = "wake:any"

func wakeTopic(owner string) string { return "wake:" + owner }

func (h hint) encode() []byte {
	lane := "m"
	switch {
	case h.forget:
		lane = "f"
	case h.lane == store.Signals:
		lane = "s"
	case h.look:
		lane = "l"
	case h.rest > 0:
		lane += strconv.FormatInt(h.rest.Milliseconds(), 10)
	}
	return []byte(lane + "\x00" + h.session + "\x00" + strconv.Itoa(h.waiting) + "\x00" +
		strconv.FormatInt(h.after, 10) + "\x00" + h.sender)
}

func decodeHint(data []byte) (hint, bool) {
	parts := strings.SplitN(string(data), "\x00", 5)
	if len(parts) < 5 || parts[1] == "" {
		return hint{}, false
	}
	waiting, err1 := strconv.Atoi(parts[2])
	after, err2 := strconv.ParseInt(parts[3], 10, 64)
	h := hint{session: parts[1], waiting: waiting, after: after, sender: parts[4]}
	if ms, ok := strings.CutPrefix(parts[0], "m"); ok && ms != "" {
		n, err := strconv.ParseInt(ms, 10, 32)
		if err != nil || n < 0 {
			return hint{}, false
		}
		h.rest = min(time.Duration(n)*time.Millisecond, mostRest)
	}
	switch parts[0] {
	case "s":
		h.lane = store.Signals
	case "l":
		h.look = true
	case "f":
		h.forget = true
	}
	return h, err1 == nil && err2 == nil
}
