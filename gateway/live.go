package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/store"
)

const (
	// liveEvery gathers text deltas, so that a fast model does not flood the
	// bus. The first delta after a pause goes out at once.
	liveEvery = 30 * time.Millisecond
	// liveOutput bounds what a live event repeats of a tool's output, in bytes.
	liveOutput = 16 << 10
)

// live publishes what happens in one session for the channels that draw it
// themselves, and for whoever looks at it.
type live struct {
	bus     store.Bus
	session string
	log     *slog.Logger
	// looked is nil on a channel that draws: its events are always published.
	looked *onlookers
}

// live returns a publisher for the session, a silent one unless the channel
// draws live events or somebody looks.
func (g *Gateway) live(ch channels.Channel, session string) *live {
	l := &live{bus: g.cfg.Store.Bus(), session: session, log: g.log}
	if _, ok := ch.(channels.Live); !ok {
		l.looked = &g.onlookers
	}
	return l
}

// on reports whether anybody would see an event.
func (l *live) on() bool { return l.looked == nil || l.looked.at(l.session) }

func (l *live) publish(ev channels.LiveEvent) {
	if !l.on() {
		return
	}
	ev.At = time.Now()
	data, err := json.Marshal(ev)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err = l.bus.Publish(ctx, channels.LiveTopic(l.session), data)
		cancel()
	}
	if err != nil {
		l.log.Debug("a live event was lost", "session", l.session, "err", err)
	}
}

// accepted tells that a message has arrived.
func (l *live) accepted(r *inbound) {
	if l.on() {
		l.publish(channels.LiveEvent{Type: "accepted", Message: rawMessage(r.plain())})
	}
}

// liveRun publishes one run. Text is gathered and published by a timer; the
// order of events is that of the calls.
type liveRun struct {
	*live
	id string

	mu      sync.Mutex
	seq     int64
	pending []byte
	offset  int // of pending in the open message
	timer   *time.Timer
	last    time.Time
	thinks  bool
	began   map[string]time.Time
}

func (l *live) run(id string) *liveRun {
	return &liveRun{live: l, id: id, began: map[string]time.Time{}}
}

func (l *liveRun) publish(ev channels.LiveEvent) {
	if !l.on() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.send(ev)
}

// send publishes ev after whatever text came before it. l.mu is held.
func (l *liveRun) send(ev channels.LiveEvent) {
	l.flush()
	l.put(ev)
}

func (l *liveRun) put(ev channels.LiveEvent) {
	l.seq++
	ev.Run, ev.Seq = l.id, l.seq
	l.live.publish(ev)
}

// flush publishes the gathered text. l.mu is held.
func (l *liveRun) flush() {
	if len(l.pending) == 0 {
		return
	}
	l.put(channels.LiveEvent{Type: "text", Text: string(l.pending), Offset: l.offset})
	l.offset += len(l.pending)
	l.pending = l.pending[:0]
	l.last = time.Now()
}

// text gathers a delta that begins at byte offset of the open message.
func (l *liveRun) text(delta string, offset int) {
	if !l.on() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.thinks = false
	if len(l.pending) == 0 {
		l.offset = offset
	}
	l.pending = append(l.pending, delta...)
	if since := time.Since(l.last); since >= liveEvery {
		l.flush()
	} else if l.timer == nil {
		l.timer = time.AfterFunc(liveEvery-since, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.timer = nil
			l.flush()
		})
	}
}

// thinking tells once that the model reasons; what, is not shown.
func (l *liveRun) thinking() {
	if !l.on() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.thinks {
		l.thinks = true
		l.send(channels.LiveEvent{Type: "thinking"})
	}
}

// reset takes back the text of the open message.
func (l *liveRun) reset() {
	if !l.on() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = l.pending[:0]
	l.offset, l.thinks = 0, false
	l.put(channels.LiveEvent{Type: "text_reset"})
}

func (l *liveRun) message(m *agentcore.Message, tail int64) {
	if !l.on() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.Role == agentcore.RoleAssistant {
		l.pending = l.pending[:0] // the message has it
		l.offset, l.thinks = 0, false
	} else {
		l.flush()
	}
	l.put(channels.LiveEvent{Type: "message", Message: rawMessage(m), Position: tail})
}

func (l *liveRun) tool(kind string, call channels.LiveCall) {
	if !l.on() {
		return
	}
	if n := len(call.Output); n > liveOutput {
		call.Output = "… " + call.Output[n-liveOutput:]
	}
	if !json.Valid(call.Arguments) {
		call.Arguments = nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch kind {
	case "tool_start":
		l.began[call.ID] = time.Now()
	case "tool_end":
		if at, ok := l.began[call.ID]; ok {
			call.MS = time.Since(at).Milliseconds()
			delete(l.began, call.ID)
		}
	}
	l.send(channels.LiveEvent{Type: kind, Call: &call})
}

func (l *liveRun) end(e runEnd) {
	l.publish(channels.LiveEvent{Type: "run_end", Text: e.text, Error: e.err})
}

// close stops the timer; what it has not sent yet is in the transcript.
func (l *liveRun) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.pending = nil
}

// plain is the message as its sender wrote it, for people to read.
func (r *inbound) plain() *agentcore.Message {
	return &agentcore.Message{
		ID: r.ID, Role: agentcore.RoleUser, Time: r.At,
		Content: []agentcore.Block{agentcore.Text{Text: r.shownText()}},
	}
}

func (r *inbound) shownText() string {
	switch {
	case r.changed && r.Kind == kindDelete:
		return "(deleted a message)"
	case r.changed:
		return "(changed a message) " + r.Text
	case r.Kind == kindSchedule:
		return "⏰ " + r.Text
	}
	lines := []string{r.Text}
	for _, a := range r.Attachments {
		lines = append(lines, "["+describeAttachment(a)+"]")
	}
	return strings.Join(lines, "\n")
}

// reset tells that a new conversation has begun at the transcript's position.
func (l *live) reset(tail int64) {
	l.publish(channels.LiveEvent{Type: "reset", Position: tail})
}
