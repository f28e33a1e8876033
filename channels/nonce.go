package channels

import (
	"crypto/rand"
	"strconv"
	"time"
)

// nonceTime is how many digits of base 36 the seconds take until the year 2038.
const nonceTime = 6

// NewNonce returns a nonce for [Outgoing]: 24 letters and digits that begin with
// the time, so that a platform without room for a nonce can tell which of the
// bot's messages are too old to be the one that is looked for.
func NewNonce() string {
	stamp := strconv.FormatInt(time.Now().Unix(), 36)
	for len(stamp) < nonceTime {
		stamp = "0" + stamp
	}
	return stamp[:nonceTime] + rand.Text()[:24-nonceTime]
}

// NonceTime is when a nonce was made, in whole seconds; false for one that
// [NewNonce] did not make.
func NonceTime(nonce string) (time.Time, bool) {
	if len(nonce) != 24 {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(nonce[:nonceTime], 36, 64)
	if err != nil {
		return time.Time{}, false
	}
	return time.Unix(n, 0), true
}
