package session

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"clawbot/store"
)

// Cursor is a place in the list of sessions, the latest active first and those
// of one instant by id.
type Cursor struct {
	Active int64
	ID     string
}

// ParseCursor reads a cursor that Page wrote; empty is the list's beginning.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{Active: math.MaxInt64}, nil
	}
	active, id, ok := strings.Cut(s, "/")
	n, err := strconv.ParseInt(active, 10, 64)
	if !ok || err != nil {
		return Cursor{}, fmt.Errorf("%w: cursor %q", store.ErrInvalid, s)
	}
	return Cursor{Active: n, ID: id}, nil
}

// Before reports whether a session lies behind the cursor.
func (c Cursor) Before(active int64, id string) bool {
	return active < c.Active || active == c.Active && id > c.ID
}

// Page cuts list to limit and returns the cursor to what was cut off.
func Page(list []store.SessionInfo, limit int) ([]store.SessionInfo, string, error) {
	if limit <= 0 {
		return nil, "", fmt.Errorf("list sessions: %w: limit %d", store.ErrInvalid, limit)
	}
	if len(list) <= limit {
		return list, "", nil
	}
	list = list[:limit]
	last := list[limit-1]
	return list, fmt.Sprintf("%d/%s", last.LastActive.UnixNano(), last.Session), nil
}
