package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"clawbot/channels/channeltest"
)

// latencies has one chat write again and again and prints how long it takes
// from a message to the model, and from the model's last byte to the final.
func latencies(ctx context.Context, dir string, s settings) error {
	s.stream, s.deltas = 20*time.Millisecond, 10
	r, err := newRig(ctx, dir, s)
	if err != nil {
		return err
	}
	defer r.close()
	time.Sleep(3 * time.Second) // so that what starts late has started
	rested := r.usage()
	time.Sleep(s.idle)
	idle := r.usage()
	fmt.Printf("idle %.1f MB (PSS), CPU %.2f s in %s\n", float64(idle.pss)/1e6, (idle.cpu - rested.cpu).Seconds(), s.idle)

	var toModel, toFinal []time.Duration
	before := r.usage()
	for i := range s.quiet {
		message := fmt.Sprint("q", i)
		sent := time.Now()
		r.telegram.SendText(1, 1, "question #"+message)
		seen, err := r.final(ctx, 1, message)
		if err != nil {
			return err
		}
		r.mu.Lock()
		toModel = append(toModel, r.asked[message].Sub(sent))
		toFinal = append(toFinal, seen.Sub(r.ended[message]))
		r.mu.Unlock()
	}
	cpu := r.usage().cpu - before.cpu
	fmt.Printf("one chat, %d exchanges: message → model %s median, %s p95; last byte → final %s median, %s p95; CPU a reply %.1f ms\n",
		s.quiet, at(toModel, 50), at(toModel, 95), at(toFinal, 50), at(toFinal, 95), cpu.Seconds()*1000/float64(s.quiet))
	return nil
}

func at(times []time.Duration, percent int) time.Duration {
	slices.Sort(times)
	return times[min(len(times)*percent/100, len(times)-1)].Round(10 * time.Microsecond)
}

// final waits for the answer to message in chat.
func (r *rig) final(ctx context.Context, chat int64, message string) (time.Time, error) {
	end := "end #" + message
	_, err := r.telegram.Wait(ctx, chat, func(messages []channeltest.SentMessage) bool {
		return len(messages) > 0 && strings.HasSuffix(messages[len(messages)-1].Text, end)
	})
	return time.Now(), err
}

// missing says how far a chat came that got no answer in time.
func (r *rig) missing(chat int64) {
	message := fmt.Sprint(chat)
	r.mu.Lock()
	_, asked := r.asked[message]
	_, ended := r.ended[message]
	r.mu.Unlock()
	texts := r.telegram.Messages(chat)
	last := "nothing"
	if len(texts) > 0 {
		last = fmt.Sprintf("%.60q", texts[len(texts)-1].Text)
	}
	fmt.Printf("chat %d: model asked %t, answer streamed %t, %d messages, the last is %s\n", chat, asked, ended, len(texts), last)
}

// firstChat is beyond the small numbers that are the fake's own: the bot does
// not answer itself.
const firstChat = 100_000

// crowd has n chats write at once and prints a row.
func crowd(ctx context.Context, dir string, n int, s settings) error {
	s.quiet = 0
	r, err := newRig(ctx, dir, s)
	if err != nil {
		return err
	}
	defer r.close()
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	before := r.usage()
	begun := time.Now()
	for chat := range int64(n) {
		chat += firstChat
		r.telegram.SendText(chat, chat, fmt.Sprintf("question #%d", chat))
	}
	var peak atomic.Int64
	watching, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			peak.Store(max(peak.Load(), r.usage().pss))
			select {
			case <-tick.C:
			case <-watching.Done():
				return
			}
		}
	})
	var answered atomic.Int64
	var waiting sync.WaitGroup
	for chat := range int64(n) {
		chat += firstChat
		waiting.Go(func() {
			if _, err := r.final(ctx, chat, fmt.Sprint(chat)); err == nil {
				answered.Add(1)
			} else {
				r.missing(chat)
			}
		})
	}
	waiting.Wait()
	took := time.Since(begun)
	stop()
	group.Wait()
	cpu := r.usage().cpu - before.cpu
	writes := r.telegram.CallCount("sendMessage") + r.telegram.CallCount("editMessageText")
	fmt.Printf("%5d  %8d  %7.2f s  %8.2f ms  %9.1f MB  %14.1f  %7d\n", n, answered.Load(), took.Seconds(),
		cpu.Seconds()*1000/float64(n), float64(peak.Load())/1e6, float64(writes)/float64(n), r.telegram.Refused())
	return nil
}
