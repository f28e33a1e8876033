package schedule

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"clawbot/store"
)

const (
	userPrefix = "schedule/user/"
	userEnd    = "schedule/user0" // sorts right behind all that begin so
	roomPrefix = "schedule/in/"
	duePrefix  = "schedule/due/"
)

// ref is what the two keys that refer to an item hold.
type ref struct {
	User    string `json:"user"` // the key of what is kept of the person
	ID      string `json:"id"`
	Session string `json:"session"`
}

func userKey(channel, user string) string {
	return userPrefix + keyPart(channel) + "/" + keyPart(user)
}

// unique names an item among those of all people.
func unique(user, id string) string {
	sum := sha256.Sum256([]byte(user))
	return id + "-" + hex.EncodeToString(sum[:8])
}

func roomKey(session, user, id string) string {
	return roomPrefix + session + "/" + unique(user, id)
}

func dueKey(user, id string, at time.Time) string { return dueBound(at) + "/" + unique(user, id) }

// dueBound sorts as the moment does, to the second.
func dueBound(at time.Time) string { return fmt.Sprintf("%s%011d", duePrefix, max(at.Unix(), 0)) }

// dueAt reads the moment of a key.
func dueAt(key string) time.Time {
	text, _, _ := strings.Cut(strings.TrimPrefix(key, duePrefix), "/")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(n, 0)
}

// keyPart makes any id a part of a key.
func keyPart(id string) string {
	if !strings.Contains(id, "/") && len(id) <= 100 && id != "" && store.CheckKey("x"+id) == nil {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha-" + hex.EncodeToString(sum[:16])
}
