package storetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"

	"clawbot/store"
)

// room is a session, or a term, as its contract says it changes. It is compared
// by ==; lists are words.
type room struct {
	token, owner string
	epoch        int
	brief        bool   // may have ended by itself
	given        string // the token, or owner, that gave it up last
	inbox        string
	log          string // "id" or, of a drained message, "id/first"
	seen         string // ids of events, in order of their positions
	value        string // of the term
}

var (
	fenced     = class(store.ErrFenced)
	leaseModel = modelOf((*room).lease)
	termModel  = modelOf((*room).tenancy)
)

// modelOf makes a model of what applies a call to a room: it reports whether
// that is what the client was told.
func modelOf(apply func(*room, question, response) bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return room{} },
		Step: func(state, input, output any) (bool, any) {
			r := state.(room)
			ok := apply(&r, input.(question), output.(response))
			return ok || output.(response).lost, r
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
	}
}

func (r *room) lease(q question, a response) bool {
	switch q.op {
	case "accept":
		return r.accept(q, a)
	case "acquire":
		return r.acquire(q, a)
	case "release", "hand off":
		return r.giveUp(q, a)
	}
	if r.token != q.token {
		return a.class == fenced
	}
	switch q.op {
	case "renew":
		return a.class == "" && a.n == int64(len(strings.Fields(r.inbox)))
	case "drain":
		return a.class == "" && a.text == r.drain(int(q.first))
	case "append":
		log := strings.Fields(r.log)
		if at := int(q.first); at < len(log) {
			return a.class == "" && log[at] == q.id
		}
		r.log = r.log + " " + q.id
		return a.class == "" && int(q.first) == len(log)
	}
	return false
}

func (r *room) accept(q question, a response) bool {
	seen := strings.Fields(r.seen)
	at := slices.Index(seen, q.id)
	duplicate := at >= 0
	if !duplicate {
		at = len(seen)
		r.seen += " " + q.id
		r.inbox += " " + q.id
	}
	// One whose lease may have ended may be named or not.
	return a.class == "" && a.flag == duplicate && a.n == int64(at) && (a.text == r.owner || a.text == "" && r.brief)
}

func (r *room) acquire(q question, a response) bool {
	if a.class != "" {
		return r.token != "" && a.class == class(&store.HeldError{Owner: r.owner}) && r.owner != q.owner
	}
	if a.n != int64(len(strings.Fields(r.log))) {
		return false
	}
	if a.token == r.token { // the same tenure again
		r.brief = q.brief
		return r.owner == q.owner
	}
	if r.token != "" && !r.brief {
		return false
	}
	word, _, _ := strings.Cut(a.token, ":")
	epoch, err := strconv.Atoi(word)
	crashed := r.token != ""
	ok := err == nil && epoch > r.epoch && a.flag == crashed
	r.token, r.owner, r.epoch, r.brief = a.token, q.owner, epoch, q.brief
	return ok
}

func (r *room) giveUp(q question, a response) bool {
	switch {
	case r.token != q.token:
		return r.given == q.token && a.class == "" && a.flag == (q.op == "release") || r.given != q.token && a.class == fenced
	case q.op == "release" && r.inbox != "":
		return a.class == "" && !a.flag
	}
	r.given, r.token, r.owner, r.brief = r.token, "", "", false
	return a.class == "" && a.flag == (q.op == "release")
}

// drain moves two messages, or returns what the same call has moved.
func (r *room) drain(first int) string {
	tag, log := fmt.Sprint("/", first), strings.Fields(r.log)
	var moved []string
	if first < len(log) {
		for _, e := range log[first:] {
			id, ok := strings.CutSuffix(e, tag)
			if !ok {
				break
			}
			moved = append(moved, id)
		}
		return strings.Join(moved, " ")
	}
	inbox := strings.Fields(r.inbox)
	moved = inbox[:min(len(inbox), 2)]
	for _, id := range moved {
		r.log += " " + id + tag
	}
	r.inbox = strings.Join(inbox[len(moved):], " ")
	return strings.Join(moved, " ")
}

// tenancy is a term. A client uses none but its latest, so that the owner's
// name is the token.
func (r *room) tenancy(q question, a response) bool {
	switch {
	case q.op == "elect" && a.class != "":
		return r.owner != "" && r.owner != q.owner && a.class == class(&store.HeldError{Owner: r.owner})
	case q.op == "elect":
		ok := r.owner == "" || r.owner == q.owner || r.brief
		if r.given == q.owner {
			r.given = "" // not by the term that the client has from now on
		}
		r.owner, r.brief = q.owner, q.brief
		return ok
	case q.op == "resign" && r.owner == q.owner:
		r.given, r.owner, r.brief = q.owner, "", false
		return a.class == ""
	case q.op == "resign" && r.given == q.owner:
		return a.class == ""
	case r.owner != q.owner:
		return a.class == fenced
	case q.op == "get":
		return a.class == "" && a.text == r.value
	case q.op == "put":
		r.value = q.id
	}
	return a.class == ""
}
