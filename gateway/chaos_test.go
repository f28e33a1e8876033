package gateway

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/store"
)

// TestNothingIsLostUnderRandomCrashes plays conversations on replicas that die,
// come back and lose answers of the store at random, and then checks what must
// always hold. A failing seed can be run alone by its name.
func TestNothingIsLostUnderRandomCrashes(t *testing.T) {
	for seed := range uint64(40) {
		for _, mode := range []string{ModeSteer, ModeFollowUp, ModeCollect, ModeInterrupt} {
			t.Run(fmt.Sprintf("%s/%d", mode, seed), func(t *testing.T) {
				bubble(t, func(t *testing.T) { chaos(t, mode, seed) })
			})
		}
	}
}

// storm is one play.
type storm struct {
	*world
	rand  *rand.Rand
	alive []*mortalChat
	sent  map[string][]string // messages by session, in order

	mu    sync.Mutex
	tools map[string]int // how often each call took effect
}

func chaos(t *testing.T, mode string, seed uint64) {
	w := &storm{rand: rand.New(rand.NewPCG(seed, uint64(len(mode)))), sent: map[string][]string{}, tools: map[string]int{}}
	once := tool("once", func(context.Context) string { return "" })
	once.Execute = func(ctx context.Context, c agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
		w.mu.Lock()
		w.tools[string(c.Arguments)]++
		w.mu.Unlock()
		sleep(ctx, 700*time.Millisecond)
		return agentcore.TextResult("ran"), nil
	}
	w.world = newWorld(t, &script{otherwise: w.reply}, once)
	w.queue.Mode = mode
	w.revive()
	w.revive()
	for range 12 {
		w.step()
		time.Sleep(time.Duration(w.rand.IntN(1500)) * time.Millisecond)
	}
	for _, c := range w.alive {
		c.p.heal()
	}
	w.revive()
	time.Sleep(5 * time.Minute)
	settled(t, w.bots...)
	w.check()
}

// reply calls a tool for every other question, and then answers.
func (w *storm) reply(req *agentcore.Request) step {
	last := req.Messages[len(req.Messages)-1]
	if last.Role == agentcore.RoleUser && len(last.Text())%2 == 0 {
		id := fmt.Sprintf("%q", last.ID+fmt.Sprint(len(req.Messages)))
		s := call("c", "once", `{"id":`+id+`}`)
		s.every = 50 * time.Millisecond
		s.text = []string{"Let me ", "see."}
		return s
	}
	s := echo(req)
	s.every = 200 * time.Millisecond
	return s
}

func (w *storm) revive() {
	p := &process{}
	if w.rand.IntN(2) == 0 {
		p.lose = 1 + w.rand.IntN(30)
	}
	_, conn := w.spawn(p)
	w.alive = append(w.alive, conn)
}

func (w *storm) step() {
	switch w.rand.IntN(4) {
	case 0:
		i := w.rand.IntN(len(w.alive))
		w.alive[i].p.kill()
		w.alive = slices.Delete(w.alive, i, i+1)
		w.revive()
	default:
		session := fmt.Sprintf("chat:%d", w.rand.IntN(2))
		n := len(w.sent[session]) + 1
		text := fmt.Sprintf("m%d%s", n, strings.Repeat(".", w.rand.IntN(3)))
		w.sent[session] = append(w.sent[session], text)
		in := direct(session, fmt.Sprint(n), text)
		for w.alive[w.rand.IntN(len(w.alive))].accept(in) != nil {
			time.Sleep(50 * time.Millisecond)
		}
		if w.rand.IntN(3) == 0 { // the platform delivers it once more
			_ = w.alive[w.rand.IntN(len(w.alive))].accept(in)
		}
	}
}

func (w *storm) check() {
	t := w.t
	for session, sent := range w.sent {
		valid(t, w.store, session)
		var got []string
		for _, e := range entries(t, w.store, session) {
			if e.Kind == store.KindUser {
				r, err := userRecord(e)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, r.Text)
			}
		}
		want(t, session+": messages in the transcript", got, sent)
		last := sent[len(sent)-1]
		shown := slices.ContainsFunc(w.chat.texts(), func(s string) bool { return strings.Contains(s, "re: "+last) })
		if !shown {
			t.Errorf("%s: the answer to %q is not shown: %q", session, last, w.chat.texts())
		}
	}
	for id, n := range w.tools {
		if n > 1 {
			t.Errorf("call %s took effect %d times", id, n)
		}
	}
	if due, err := w.store.Due(t.Context(), 10); err != nil || len(due) > 0 {
		t.Errorf("still due: %v, %v", due, err)
	}
	if t.Failed() {
		for session := range w.sent {
			t.Logf("%s: %q", session, outline(t, w.store, session))
		}
	}
}
