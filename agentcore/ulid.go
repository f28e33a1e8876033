package agentcore

import (
	"math/rand/v2"
	"time"
)

// ulids makes ULIDs (github.com/ulid/spec) that sort in the order they were
// made. Their random part comes from the runtime's ChaCha8 source and counts up
// within a millisecond. It is not safe for concurrent use.
type ulids struct {
	ms int64
	hi uint16 // the upper 16 of the 80 random bits
	lo uint64
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

func (u *ulids) next(now time.Time) string {
	if ms := now.UnixMilli(); ms > u.ms {
		// The top bit stays clear so that counting up has room.
		u.ms, u.hi, u.lo = ms, uint16(rand.Uint32())>>1, rand.Uint64() //nolint:gosec // ids are unique, not secret
	} else if u.lo++; u.lo == 0 {
		u.hi++
	}
	var id [26]byte
	t := uint64(u.ms)
	for i := 9; i >= 0; i-- {
		id[i] = crockford[t&31]
		t >>= 5
	}
	hi, lo := uint64(u.hi), u.lo
	for i := 25; i >= 10; i-- {
		id[i] = crockford[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(id[:])
}
