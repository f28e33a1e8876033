package gateway

import (
	"container/list"
	"slices"
	"sync"
	"time"

	"clawbot/channels"
)

const (
	overheardKept  = 30   // messages a room
	overheardRooms = 1000 // rooms, the longest silent forgotten first
	overheardText  = 1000 // bytes of one message
)

// overheard is what was said in a room but not to the bot. It is kept in
// memory only, and goes along with the next message that is meant for the bot.
type overheard struct {
	Key    string    `json:"key,omitempty"`
	Sender string    `json:"sender"`
	Name   string    `json:"name"`
	Text   string    `json:"text"`
	At     time.Time `json:"at"`
}

// ears keeps the last overheard messages of each room.
type ears struct {
	mu    sync.Mutex
	rooms map[string]*list.Element
	order list.List // of *room, the latest heard first
}

type room struct {
	key   string
	heard []overheard // oldest first
}

// roomKey names the place where something is said. A message that a thread will
// begin with is said in the room.
func roomKey(channel string, to channels.Target) string {
	thread := to.Thread
	if thread != "" && thread == to.ReplyTo {
		thread = ""
	}
	return channel + "\x00" + to.Chat + "\x00" + thread
}

// hear adds a message; one with a known key replaces the text it had.
func (e *ears) hear(key string, o overheard) {
	e.mu.Lock()
	defer e.mu.Unlock()
	el, ok := e.rooms[key]
	if !ok {
		if e.rooms == nil {
			e.rooms = make(map[string]*list.Element)
		}
		el = e.order.PushFront(&room{key: key})
		e.rooms[key] = el
		if len(e.rooms) > overheardRooms {
			oldest := e.order.Back()
			delete(e.rooms, e.order.Remove(oldest).(*room).key)
		}
	}
	e.order.MoveToFront(el)
	r := el.Value.(*room)
	if i := r.find(o.Key); i >= 0 {
		r.heard[i].Text = o.Text
		return
	}
	if len(r.heard) == overheardKept {
		r.heard = append(r.heard[:0], r.heard[1:]...)
	}
	r.heard = append(r.heard, o)
}

// revise changes or, with an empty text, forgets a message, and reports whether
// it was known.
func (e *ears) revise(key, message, text string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	el, ok := e.rooms[key]
	if !ok {
		return false
	}
	r := el.Value.(*room)
	i := r.find(message)
	if i < 0 {
		return false
	}
	if text == "" {
		r.heard = append(r.heard[:i], r.heard[i+1:]...)
	} else {
		r.heard[i].Text = text
	}
	return true
}

// recall returns what the room holds, without forgetting it.
func (e *ears) recall(key string) []overheard {
	e.mu.Lock()
	defer e.mu.Unlock()
	el, ok := e.rooms[key]
	if !ok {
		return nil
	}
	return append([]overheard(nil), el.Value.(*room).heard...)
}

// forget drops what a message has carried into its session; what was heard
// since stays.
func (e *ears) forget(key string, carried []overheard) {
	if len(carried) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	el, ok := e.rooms[key]
	if !ok {
		return
	}
	r := el.Value.(*room)
	last := carried[len(carried)-1]
	for i, o := range slices.Backward(r.heard) {
		if o.Key == last.Key && o.At.Equal(last.At) {
			r.heard = append([]overheard(nil), r.heard[i+1:]...)
			break
		}
	}
	if len(r.heard) == 0 {
		e.order.Remove(el)
		delete(e.rooms, key)
	}
}

func (r *room) find(message string) int {
	if message == "" {
		return -1
	}
	for i := range r.heard {
		if r.heard[i].Key == message {
			return i
		}
	}
	return -1
}
