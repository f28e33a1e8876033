package gateway

import (
	"strconv"
	"strings"

	"clawbot/store"
)

// hint says that a session has something new. On the bus it may be lost; the
// sweep and the renewal of leases find what it pointed at.
type hint struct {
	session string
	lane    store.Lane
	// sender wrote the message, if it is one and known.
	sender string
	// waiting is how many messages the inbox held.
	waiting int
	// look is set when nobody knows what waits: look at both lanes.
	look bool
}

// wakeAny reaches every process: the session has no owner.
const wakeAny = "wake:any"

func wakeTopic(owner string) string { return "wake:" + owner }

func (h hint) encode() []byte {
	lane := "m"
	if h.lane == store.Signals {
		lane = "s"
	}
	return []byte(lane + "\x00" + h.session + "\x00" + strconv.Itoa(h.waiting) + "\x00" + h.sender)
}

func decodeHint(data []byte) (hint, bool) {
	parts := strings.SplitN(string(data), "\x00", 4)
	if len(parts) < 4 || parts[1] == "" {
		return hint{}, false
	}
	waiting, err := strconv.Atoi(parts[2])
	h := hint{session: parts[1], waiting: waiting, sender: parts[3]}
	if parts[0] == "s" {
		h.lane = store.Signals
	}
	return h, err == nil
}
