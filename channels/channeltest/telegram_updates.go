package channeltest

import (
	"encoding/json"
	"sync"
	"time"
)

// updateQueue holds the updates that the bot has not confirmed yet.
type updateQueue struct {
	mu        sync.Mutex
	next      int64
	pending   []tgUpdate // by id
	confirmed []tgUpdate // the last ones, for redelivery
	again     []tgUpdate // to be delivered once more, whatever was confirmed
	changed   signal
	allowed   map[string]bool
	poller    chan struct{} // closed to end the poller that waits
	webhook   *webhook
	polls     int
}

type tgUpdate struct {
	id   int64
	body json.RawMessage
}

// keepConfirmed is how many confirmed updates can be redelivered.
const keepConfirmed = 1000

// pushUpdate queues an update of a kind, unless the bot did not ask for it. A
// kind "" is queued always.
func (t *Telegram) pushUpdate(kind string, build func(id int64) any) int64 {
	q := &t.updates
	q.mu.Lock()
	defer q.mu.Unlock()
	id := q.next
	q.next++
	if kind != "" && !q.wants(kind) {
		return id
	}
	body, err := json.Marshal(build(id))
	if err != nil {
		panic("channeltest: encode an update: " + err.Error())
	}
	q.pending = append(q.pending, tgUpdate{id, body})
	q.changed.wake()
	return id
}

// wants tells whether updates of kind are delivered. q.mu is held.
func (q *updateQueue) wants(kind string) bool {
	if len(q.allowed) > 0 {
		return q.allowed[kind]
	}
	return kind != "chat_member" && kind != "message_reaction" && kind != "message_reaction_count"
}

// allow takes allowed_updates, which stick until they are set again. q.mu is
// held.
func (q *updateQueue) allow(req *tgRequest) *tgError {
	if req.params["allowed_updates"] == "" {
		return nil
	}
	var kinds []string
	if err := req.json("allowed_updates", &kinds); err != nil {
		return err
	}
	q.allowed = map[string]bool{}
	for _, k := range kinds {
		q.allowed[k] = true
	}
	return nil
}

// confirm drops what lies before offset. q.mu is held.
func (q *updateQueue) confirm(offset int64) {
	n := 0
	for n < len(q.pending) && q.pending[n].id < offset {
		n++
	}
	if n == 0 {
		return
	}
	q.confirmed = append(q.confirmed, q.pending[:n]...)
	if over := len(q.confirmed) - keepConfirmed; over > keepConfirmed {
		q.confirmed = append([]tgUpdate(nil), q.confirmed[over:]...)
	}
	q.pending = q.pending[n:]
	q.changed.wake()
}

// takeover ends the poller that waits and registers a new one. q.mu is held.
func (q *updateQueue) takeover() chan struct{} {
	if q.poller != nil {
		close(q.poller)
	}
	q.poller = make(chan struct{})
	return q.poller
}

// terminate ends a waiting poller.
func (q *updateQueue) terminate() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.poller != nil {
		close(q.poller)
		q.poller = nil
	}
}

func (t *Telegram) getUpdates(req *tgRequest) (any, *tgError) {
	q := &t.updates
	q.mu.Lock()
	if q.webhook != nil {
		q.mu.Unlock()
		return nil, refuse(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	}
	if err := q.allow(req); err != nil {
		q.mu.Unlock()
		return nil, err
	}
	offset := req.int("offset")
	if offset > q.next {
		offset = 0 // from other times: the server begins at the oldest update
	}
	if offset < 0 && len(q.pending) > 0 {
		offset = q.pending[max(0, len(q.pending)+int(offset))].id
	}
	q.confirm(offset)
	q.polls++
	q.changed.wake()
	ended := q.takeover()
	q.mu.Unlock()
	limit := int(req.int("limit"))
	if limit <= 0 || limit > 100 {
		limit = 100
	}
	return t.poll(req, limit, ended)
}

func (t *Telegram) poll(req *tgRequest, limit int, ended chan struct{}) (any, *tgError) {
	q := &t.updates
	timeout := time.NewTimer(time.Duration(req.int("timeout")) * time.Second)
	defer timeout.Stop()
	for {
		q.mu.Lock()
		if q.poller != ended {
			q.mu.Unlock()
			if t.revoked.Load() {
				return nil, refuse(401, "Unauthorized")
			}
			return nil, refuse(409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running")
		}
		out := q.batch(limit)
		changed := q.changed.wait()
		if len(out) > 0 {
			q.poller = nil
			q.mu.Unlock()
			return out, nil
		}
		q.mu.Unlock()
		select {
		case <-changed:
		case <-ended:
		case <-timeout.C:
			q.leave(ended)
			return []json.RawMessage{}, nil
		case <-req.ctx.Done():
			q.leave(ended)
			return []json.RawMessage{}, nil
		}
	}
}

// leave forgets a poller that gave up by itself.
func (q *updateQueue) leave(ended chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.poller == ended {
		q.poller = nil
	}
}

// batch returns what to deliver now. q.mu is held.
func (q *updateQueue) batch(limit int) []json.RawMessage {
	var out []json.RawMessage
	for _, u := range q.again {
		out = append(out, u.body)
	}
	q.again = nil
	for _, u := range q.pending {
		if len(out) >= limit {
			break
		}
		out = append(out, u.body)
	}
	return out
}
