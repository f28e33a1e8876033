package slack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/channels/channeltest"
	"clawbot/channels/reply"
)

// crowd is many answers at once, each in a thread of its own.
func (r *quietRig) crowd(bot *Channel, answers, rooms, deltas int, every time.Duration) (finish func() error, texts map[string]string) {
	pacer := reply.NewPacer()
	done := make(chan error, answers)
	texts = map[string]string{}
	for i := range answers {
		room := fmt.Sprintf("C0ROOM%d", i%rooms)
		root := r.Send(channeltest.SlackIncoming{Channel: room, User: ana, Text: "a question", Silent: true})
		to := channels.Target{Conversation: "slack:" + r.Team() + ":" + room + ":" + root, Chat: room, Thread: root, User: ana}
		texts[root] = strings.TrimSpace(strings.Repeat(fmt.Sprintf("answer %d goes on ", i), deltas))
		rep := reply.New(reply.Config{Channel: bot, Target: to, Pacer: pacer})
		go func() { _ = rep.Run(r.t.Context()) }()
		go func() {
			for range deltas {
				rep.Write(fmt.Sprintf("answer %d goes on ", i))
				time.Sleep(every)
			}
			done <- rep.Finish(r.t.Context())
		}()
	}
	return func() error {
		for range answers {
			if err := <-done; err != nil {
				return err
			}
		}
		return nil
	}, texts
}

func TestAThousandAnswersAtOnceStayBelowSlacksLimits(t *testing.T) {
	bubble(t, channeltest.SlackConfig{RateLimits: true}, func(r *quietRig) {
		r.SetLatency(50 * time.Millisecond)
		bot := r.bot()
		began := time.Now()
		finish, texts := r.crowd(bot, 1000, 200, 20, 500*time.Millisecond)
		r.must(finish())
		took := time.Since(began)
		early, late := map[string]int{}, map[string]int{}
		for _, call := range r.Calls() {
			if call.Status == 429 && call.At.Sub(began) > time.Minute {
				late[call.Method]++
			} else if call.Status == 429 {
				early[call.Method]++
			}
		}
		t.Logf("1,000 answers took %s; %v refused in the first minute, %v later; calls: %d posts, %d updates, %d starts, %d appends, %d stops, %d signs",
			took, early, late, r.CallCount("chat.postMessage"), r.CallCount("chat.update"), r.CallCount("chat.startStream"),
			r.CallCount("chat.appendStream"), r.CallCount("chat.stopStream"), r.CallCount("assistant.threads.setStatus"))
		if len(late) > 0 {
			t.Errorf("refused after the first minute: %v", late)
		}
		shown := 0
		for i := range 200 {
			for _, m := range r.Messages(fmt.Sprintf("C0ROOM%d", i)) {
				if m.Shown() == texts[m.Thread] && !m.Streaming() {
					shown++
				}
			}
		}
		if shown != 1000 {
			t.Errorf("%d answers are shown whole", shown)
		}
	})
}
