package agentcore_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"clawbot/agentcore"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the events and requests that happened into the conversations")

// TestConversations plays testdata/*.txtar, whose language testdata/README.md
// describes, and compares every event and every request.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := newConversation(t, archive)
			c.run(t)
			c.compare(t, file, archive)
		})
	}
}

// conversation is a loop with a scripted model, tools and hooks, and a record
// of what happened.
type conversation struct {
	script
	t      *testing.T
	loop   *agentcore.Loop
	cancel context.CancelCauseFunc
	broken bool // the consumer is to leave the range

	mu       sync.Mutex
	steering []*agentcore.Message
	followUp []*agentcore.Message
	seen     map[string]chan struct{} // closed when the event has been yielded
	updates  map[string]func(agentcore.Update)
	requests strings.Builder
	calls    map[string]int // model calls by model name

	events strings.Builder // the ranging goroutine's alone
	counts map[string]int
}

func newConversation(t *testing.T, archive *txtar.Archive) *conversation {
	c := &conversation{
		t: t, script: parseScript(t, archive), seen: map[string]chan struct{}{}, calls: map[string]int{},
		updates: map[string]func(agentcore.Update){}, counts: map[string]int{},
	}
	cfg := c.options
	cfg.Model = &conversationModel{c, ""}
	cfg.Messages = c.history
	n := 0
	cfg.NewID = func() string { n++; return fmt.Sprintf("m%d", n) }
	for _, tool := range c.tools {
		if !tool.deferred {
			cfg.Tools = append(cfg.Tools, tool.build(c))
		}
	}
	cfg.SteeringMessages = func(context.Context) ([]*agentcore.Message, error) { return c.take(&c.steering, c.steerAll), nil }
	cfg.FollowUpMessages = func(context.Context) ([]*agentcore.Message, error) { return c.take(&c.followUp, false), nil }
	c.hooks(&cfg)
	c.loop = agentcore.New(cfg)
	return c
}

func (c *conversation) take(q *[]*agentcore.Message, all bool) []*agentcore.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(1, len(*q))
	if all {
		n = len(*q)
	}
	taken := (*q)[:n]
	*q = (*q)[n:]
	return taken
}

func (c *conversation) run(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	c.cancel = cancel
	sequence := c.loop.Run(ctx, c.prompts)
	if c.resume {
		sequence = c.loop.Continue(ctx)
	}
	for ev, err := range sequence {
		if err != nil {
			fmt.Fprintf(&c.events, "error %v\n", err)
			continue
		}
		c.observe(ev)
		if c.broken {
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, left := range []struct {
		name  string
		queue []*agentcore.Message
	}{{"steering", c.steering}, {"follow-up", c.followUp}} {
		for _, m := range left.queue {
			fmt.Fprintf(&c.events, "still queued: %s %q\n", left.name, m.Text())
		}
	}
}

// observe records an event, does what the script wants done at it, and lets
// tools that wait for it go on.
func (c *conversation) observe(ev agentcore.Event) {
	line := traceEvent(ev)
	c.events.WriteString(line)
	name := ev.Type.String()
	c.counts[name]++
	keys := []string{name, fmt.Sprintf("%s:%d", name, c.counts[name])}
	if ev.Call != nil {
		keys = append(keys, name+":"+ev.Call.ID)
	}
	for _, key := range keys {
		for _, action := range c.on[key] {
			c.act(action)
		}
		c.mark(key)
	}
}

// await returns a channel that is closed once the event has been yielded.
func (c *conversation) await(key string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen[key] == nil {
		c.seen[key] = make(chan struct{})
	}
	return c.seen[key]
}

// mark says that the event has been yielded.
func (c *conversation) mark(key string) {
	seen := c.await(key)
	select {
	case <-seen:
	default:
		close(seen)
	}
}

// act does one of: steer TEXT, followup TEXT, abort [REASON], break.
func (c *conversation) act(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	c.mu.Lock()
	defer c.mu.Unlock()
	switch verb {
	case "steer":
		c.steering = append(c.steering, user(rest))
	case "followup":
		c.followUp = append(c.followUp, user(rest))
	case "abort":
		if rest == "" {
			c.cancel(nil)
		} else {
			c.cancel(errors.New(rest))
		}
	case "break":
		c.broken = true
	default:
		c.t.Errorf("unknown action %q", line)
	}
}

func (c *conversation) compare(t *testing.T, file string, archive *txtar.Archive) {
	got := map[string]string{"events": c.events.String(), "requests": c.requests.String()}
	changed := false
	for i := range archive.Files {
		f := &archive.Files[i]
		want, ok := got[f.Name]
		if !ok {
			continue
		}
		delete(got, f.Name)
		if string(f.Data) != want {
			changed = true
			if !*update {
				t.Errorf("%s differ (-want +got):\n%s", f.Name, cmp.Diff(string(f.Data), want))
			}
			f.Data = []byte(want)
		}
	}
	if _, ok := got["events"]; ok {
		archive.Files = append(archive.Files, txtar.File{Name: "events", Data: []byte(c.events.String())})
		changed = true
		if !*update {
			t.Error("the conversation has no events section; run with -update and read what it wrote")
		}
	}
	if changed && *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func user(text string) *agentcore.Message {
	return &agentcore.Message{Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Text{Text: text}}}
}
