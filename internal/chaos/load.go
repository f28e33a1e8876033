package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"clawbot/channels/channeltest"
)

// patience is how long a chat waits for an answer before it writes on.
const patience = 8 * time.Second

// chat is one person who talks with the bot.
type chat struct {
	id      int64
	session string
	number  int      // of the latest question
	asked   []string // in order
}

// loadAndHinder lets all chats talk and injects faults until the schedule is
// over, then waits until everything was delivered and is mended.
func (w *world) loadAndHinder(ctx context.Context, s schedule) {
	loading, stop := context.WithTimeout(ctx, s.duration)
	defer stop()
	bot, _, _ := strings.Cut(w.telegram.Token(), ":")
	var talking sync.WaitGroup
	for i := range s.sessions {
		c := &chat{id: int64(1000 + i)}
		c.session = fmt.Sprintf("telegram:%s:%d", bot, c.id)
		w.chats = append(w.chats, c)
		w.telegram.SetPerson(c.id, channeltest.Person{Name: fmt.Sprint("Person ", i)})
		talking.Go(func() { w.talk(loading, c) })
	}
	w.hinder(loading, s)
	<-loading.Done()
	talking.Wait()
	w.mend()
	last := w.telegram.SendText(1, 1, "/status") // the last update of all
	delivered, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := w.telegram.WaitConfirmed(delivered, last.UpdateID)
	for !w.ingress.idle() && delivered.Err() == nil {
		sleep(delivered, 20*time.Millisecond)
	}
	if err != nil || delivered.Err() != nil {
		w.fail("not every update was taken within a minute after the faults")
	}
	if s.doubles > 0 {
		time.Sleep(2 * time.Second) // what is delivered again is under way
	}
}

// talk asks in bursts, waits for the answer, and is silent for a moment.
func (w *world) talk(ctx context.Context, c *chat) {
	for round := 1; ctx.Err() == nil; round++ {
		began := time.Now()
		burst := 1 + max(0, rand.IntN(6)-3)
		for range burst {
			c.number++
			q := fmt.Sprintf("%d.%d", c.id, c.number)
			c.asked = append(c.asked, q)
			w.sent.Add(1)
			w.telegram.SendText(c.id, c.id, "q "+q)
			sleep(ctx, time.Duration(rand.IntN(120))*time.Millisecond)
		}
		if rand.IntN(30) == 0 {
			sleep(ctx, time.Duration(rand.IntN(400))*time.Millisecond)
			w.telegram.SendText(c.id, c.id, "/stop")
		}
		if w.answered(ctx, c) || ctx.Err() == nil {
			w.waits.add(time.Since(began)) // at least
		}
		if round%12 == 0 {
			w.telegram.SendText(c.id, c.id, "/new")
		}
		sleep(ctx, time.Duration(rand.IntN(300))*time.Millisecond)
	}
}

// answered waits for an answer to the latest question, or for being told that
// there will be none.
func (w *world) answered(ctx context.Context, c *chat) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	want := fmt.Sprintf(" %d.%d ", c.id, c.number)
	before := ends(w.telegram.Messages(c.id))
	_, err := w.telegram.Wait(ctx, c.id, func(messages []channeltest.SentMessage) bool {
		for _, m := range slices.Backward(messages) {
			if strings.Contains(m.Text, want) {
				return true
			}
		}
		return ends(messages) > before
	})
	return err == nil
}

// ends counts what tells of an end without an answer.
func ends(messages []channeltest.SentMessage) (n int) {
	for _, m := range messages {
		for _, sign := range []string{"Stopped.", "gave up", "could not take up", "⚠"} {
			n += strings.Count(m.Text, sign)
		}
	}
	return n
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// waits are how long people waited for answers.
type waits struct {
	mu   sync.Mutex
	list []time.Duration
}

func (w *waits) add(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, d)
}

// most is the longest wait.
func (w *waits) most() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.list) == 0 {
		return 0
	}
	return slices.Max(w.list)
}

func (w *waits) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.list) == 0 {
		return "no answers"
	}
	slices.Sort(w.list)
	at := func(p float64) time.Duration {
		return w.list[int(p*float64(len(w.list)-1))].Round(time.Millisecond)
	}
	return fmt.Sprintf("waits p50=%v p99=%v max=%v", at(0.5), at(0.99), at(1))
}
