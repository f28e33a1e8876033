package builtin

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"clawbot/tools/sandbox"
)

// background is the processes that outlive the call that started them. They
// belong to this process of the bot and end with it.
type background struct {
	mu     sync.Mutex
	jobs   map[string][]*job // by conversation, in order of their start
	count  int
	closed bool
}

// job is one background process. process is set once it has started.
type job struct {
	id      string
	command string
	starter string // whose call started it
	began   time.Time
	process *sandbox.Process
	log     *tail
	up      bool // guarded by background.mu
}

func (j *job) ended() bool {
	if !j.up {
		return false
	}
	select {
	case <-j.process.Done():
		return true
	default:
		return false
	}
}

// add takes a place for j, if there is one left.
func (b *background) add(session string, j *job) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return fmt.Errorf("the bot is shutting down")
	}
	running := 0
	var kept []*job
	for _, other := range b.jobs[session] {
		if !other.ended() {
			running++
		}
	}
	if running >= maxProcesses {
		return fmt.Errorf("%d processes run already, the most a conversation may have: kill one first", running)
	}
	// The oldest that have ended are forgotten first.
	drop := len(b.jobs[session]) + 1 - maxRemembered
	for _, other := range b.jobs[session] {
		if drop > 0 && other.ended() {
			drop--
			continue
		}
		kept = append(kept, other)
	}
	b.count++
	j.id = fmt.Sprintf("p%d", b.count)
	if b.jobs == nil {
		b.jobs = map[string][]*job{}
	}
	b.jobs[session] = append(kept, j)
	return nil
}

// started says that the process of j is there.
func (b *background) started(j *job) {
	b.mu.Lock()
	j.up = true
	closed := b.closed
	b.mu.Unlock()
	if closed {
		j.process.Kill("the bot ended")
		j.process.Wait()
	}
}

func (b *background) remove(session string, j *job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.jobs[session]
	for i := range list {
		if list[i] == j {
			b.jobs[session] = append(list[:i:i], list[i+1:]...)
			return
		}
	}
}

func (b *background) find(session, id string) *job {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, j := range b.jobs[session] {
		if j.id == id && j.up {
			return j
		}
	}
	return nil
}

func (b *background) list(session string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out strings.Builder
	for _, j := range b.jobs[session] {
		if j.up {
			fmt.Fprintf(&out, "%s: %s: %s\n", j.id, j.command, j.state())
		}
	}
	if out.Len() == 0 {
		return "(none)"
	}
	return out.String()
}

// close kills all of them and waits for their ends.
func (b *background) close() {
	b.mu.Lock()
	b.closed = true
	var all []*job
	for _, list := range b.jobs {
		for _, j := range list {
			if j.up {
				all = append(all, j)
			}
		}
	}
	b.mu.Unlock()
	for _, j := range all {
		j.process.Kill("the bot ended")
	}
	for _, j := range all {
		j.process.Wait()
	}
}

// tail keeps the end of an output, and what of it was not looked at yet.
type tail struct {
	mu     sync.Mutex
	limit  int
	unread []byte
	lost   int64
	signal chan struct{}
}

func newTail(limit int) *tail { return &tail{limit: limit, signal: make(chan struct{}, 1)} }

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unread = append(t.unread, p...)
	// It is cut at twice the limit, so that a byte is moved once, not with
	// every write.
	if over := len(t.unread) - t.limit; over > t.limit {
		t.lost += int64(over)
		t.unread = append(t.unread[:0], t.unread[over:]...)
	}
	select {
	case t.signal <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (t *tail) news() <-chan struct{} { return t.signal }

// take returns what is new, and how many bytes before it are lost.
func (t *tail) take() (text string, lost int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if over := len(t.unread) - t.limit; over > 0 {
		t.lost += int64(over)
		t.unread = t.unread[over:]
	}
	text, lost = strings.ToValidUTF8(string(t.unread), "\uFFFD"), t.lost
	t.unread, t.lost = nil, 0
	select {
	case <-t.signal:
	default:
	}
	return text, lost
}
