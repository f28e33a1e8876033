package web

import (
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"clawbot/channels"
)

const (
	// ringFrames and ringBytes bound what a page that was away for a moment
	// can catch up on without reading the transcript again.
	ringFrames = 1024
	ringBytes  = 256 << 10
	// clientFrames may wait for one slow page before it is dropped.
	clientFrames = 512
	// keepRing is how long frames are gathered when nobody looks.
	keepRing = 30 * time.Second
	// keepIdle and keepRunning are how long a hub lives that nobody looks at.
	keepIdle    = 2 * time.Minute
	keepRunning = 20 * time.Minute
	maxNotices  = 20
)

// hub follows one session on the bus for the pages that look at it. The bus
// calls it from one goroutine; pages join and leave from theirs.
type hub struct {
	session string
	epoch   string // of the frame ids: another hub's mean nothing here

	mu      sync.Mutex
	cancels []func()
	closed  bool
	clients map[*client]struct{}
	lastID  uint64
	ring    []frame
	bytes   int
	run     *openRun
	notices []notice
	tail    int64 // of the transcript, as far as it was heard; -1 unknown
	used    time.Time
}

// frame is a server-sent event, ready to be written.
type frame struct {
	id   uint64
	data []byte
}

// client is one open event stream. gone is closed when it was too slow or the
// hub ended.
type client struct {
	frames chan []byte
	gone   chan struct{}
}

// hub returns the session's hub, following the session from now on.
func (c *Channel) hub(session string, host channels.Host) (*hub, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.host == nil {
		return nil, errStarting
	}
	if h := c.hubs[session]; h != nil {
		h.touch(time.Now())
		return h, nil
	}
	h := &hub{session: session, epoch: newID()[:8], clients: map[*client]struct{}{}, tail: -1, used: time.Now()}
	for topic, fn := range map[string]func(string, []byte){
		channels.LiveTopic(session): h.onLive,
		noticeTopic(session):        h.onNotice,
	} {
		cancel, err := host.Subscribe(topic, fn)
		if err != nil {
			h.close()
			return nil, err
		}
		h.cancels = append(h.cancels, cancel)
	}
	c.hubs[session] = h
	return h, nil
}

// sweep closes the hubs that nobody has looked at for a while.
func (c *Channel) sweep(now time.Time) {
	c.mu.Lock()
	var idle []*hub
	for session, h := range c.hubs {
		if h.idle(now) {
			idle = append(idle, h)
			delete(c.hubs, session)
		}
	}
	c.mu.Unlock()
	for _, h := range idle {
		h.close()
	}
}

func (h *hub) touch(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.used = now
}

func (h *hub) idle(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	keep := keepIdle
	if h.run != nil || len(h.notices) > 0 {
		keep = keepRunning
	}
	return len(h.clients) == 0 && now.Sub(h.used) > keep
}

// close ends the streams and stops following. The bus may be in a call that
// waits for mu, so it is not held while cancelling.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	for cl := range h.clients {
		h.drop(cl)
	}
	cancels := h.cancels
	h.mu.Unlock()
	for _, cancel := range cancels {
		cancel()
	}
}

// join adds a page. It first gets the frames after the one it saw last, or, if
// those are not known any more, a snapshot.
func (h *hub) join(after string) (*client, [][]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	cl := &client{frames: make(chan []byte, clientFrames), gone: make(chan struct{})}
	h.used = time.Now()
	if h.closed {
		close(cl.gone)
		return cl, nil
	}
	h.clients[cl] = struct{}{}
	if missed, ok := h.since(after); ok {
		return cl, missed
	}
	return cl, [][]byte{h.snapshot()}
}

func (h *hub) leave(cl *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, cl)
	h.used = time.Now()
}

func (h *hub) drop(cl *client) {
	delete(h.clients, cl)
	close(cl.gone)
}

// since returns the frames after id, false if some of them are gone.
func (h *hub) since(id string) ([][]byte, bool) {
	if len(id) <= len(h.epoch) || id[:len(h.epoch)] != h.epoch {
		return nil, false
	}
	n, err := strconv.ParseUint(id[len(h.epoch)+1:], 10, 64)
	if err != nil || n > h.lastID || n+uint64(len(h.ring)) < h.lastID {
		return nil, false
	}
	var missed [][]byte
	for _, f := range h.ring {
		if f.id > n {
			missed = append(missed, f.data)
		}
	}
	return missed, true
}

// onLive takes an event of the run from the bus.
func (h *hub) onLive(_ string, data []byte) {
	var ev channels.LiveEvent
	if json.Unmarshal(data, &ev) != nil {
		return // not from this program
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if ev.Type == "approval" {
		h.approval(&ev)
		return
	}
	v := h.apply(&ev)
	h.broadcast("live", v)
}

// onNotice takes a notice from the bus.
func (h *hub) onNotice(_ string, data []byte) {
	var n notice
	if json.Unmarshal(data, &n) != nil || n.ID == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	n.Position = h.tail
	h.keep(&n)
	h.broadcast("notice", n)
}

// keep remembers the notice, in the place of its earlier text.
func (h *hub) keep(n *notice) {
	for i := range h.notices {
		if h.notices[i].ID == n.ID {
			n.Position = h.notices[i].Position
			h.notices[i] = *n
			return
		}
	}
	if len(h.notices) >= maxNotices {
		h.notices = append(h.notices[:0], h.notices[1:]...)
	}
	h.notices = append(h.notices, *n)
}

// broadcast sends v to the pages. One that does not keep up is dropped; it
// comes back with the id it saw last.
func (h *hub) broadcast(event string, v any) {
	h.lastID++
	if len(h.clients) == 0 && time.Since(h.used) > keepRing {
		h.ring, h.bytes = nil, 0
		return
	}
	f := frame{h.lastID, h.encode(event, v)}
	h.ring = append(h.ring, f)
	h.bytes += len(f.data)
	for len(h.ring) > ringFrames || h.bytes > ringBytes && len(h.ring) > 1 {
		h.bytes -= len(h.ring[0].data)
		h.ring[0].data = nil
		h.ring = h.ring[1:]
	}
	for cl := range h.clients {
		select {
		case cl.frames <- f.data:
		default:
			h.drop(cl)
		}
	}
}

func (h *hub) encode(event string, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		data = []byte("{}")
	}
	out := make([]byte, 0, len(data)+64)
	out = append(out, "id: "...)
	out = append(out, h.epoch...)
	out = append(out, '-')
	out = strconv.AppendUint(out, h.lastID, 10)
	out = append(out, "\nevent: "...)
	out = append(out, event...)
	out = append(out, "\ndata: "...)
	out = append(out, data...)
	return append(out, "\n\n"...)
}
