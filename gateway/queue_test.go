package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"clawbot/channels"
)

func TestAFollowUpGetsATurnOfItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{steps: []step{call("c1", "slow", `{}`)}, otherwise: echo}
		slow := tool("slow", func(ctx context.Context) string { sleep(ctx, 2*time.Second); return "slept" })
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: toolset{slow}, Queue: Queue{Mode: ModeFollowUp}})
		c.send(t, direct(sess, "1", "one"))
		time.Sleep(time.Second)
		c.send(t, direct(sess, "2", "two"))
		c.send(t, direct(sess, "3", "three"))
		settled(t, b)
		want(t, "posts", c.texts(), []string{"re: one", "re: two", "re: three"})
		want(t, "transcript", outline(t, s, sess), []string{
			"u one", "a →slow", "t slept", "a re: one", "u two", "a re: two", "u three", "a re: three",
		})
		valid(t, s, sess)
	})
}

func TestCollectAnswersAllThatWaitedTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{steps: []step{words(30)}, otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Queue: Queue{Mode: ModeCollect}})
		c.send(t, direct(sess, "1", "one"))
		time.Sleep(2 * time.Second)
		c.send(t, direct(sess, "2", "two"))
		time.Sleep(900 * time.Millisecond)
		c.send(t, direct(sess, "3", "three"))
		time.Sleep(300 * time.Millisecond)
		c.send(t, direct(sess, "4", "four"))
		settled(t, b)
		if n := len(m.asked()); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
		got := outline(t, s, sess)
		want(t, "transcript", got[2:], []string{"u two", "u three", "u four", "a re: four"})
	})
}

func TestInterruptTurnsToTheNewMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{steps: []step{words(100)}, otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Queue: Queue{Mode: ModeInterrupt}})
		c.send(t, direct(sess, "1", "go on"))
		time.Sleep(1050 * time.Millisecond)
		c.send(t, direct(sess, "2", "no, this"))
		settled(t, b)
		want(t, "posts", c.texts(), []string{strings.TrimSpace(strings.Repeat("word ", 10)), "re: no, this"})
		valid(t, s, sess)
	})
}

func TestMessagesThatComeRightAfterTheFirstAreAskedTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		thinks := echoAfter(time.Second)
		m := &script{otherwise: thinks}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		for i, text := range []string{"look", "at", "this"} {
			c.send(t, direct(sess, fmt.Sprint(i), text))
			time.Sleep(150 * time.Millisecond)
		}
		settled(t, b)
		want(t, "posts", c.texts(), []string{"re: this"})
		reqs := m.asked()
		want(t, "the last request", users(reqs[len(reqs)-1]), []string{"look", "at", "this"})
		want(t, "transcript", outline(t, s, sess), []string{"u look", "u at", "u this", "a re: this"})
		valid(t, s, sess)
	})
}

func TestTheFirstMessageInAnIdleChatWaitsForNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		var asked time.Time
		m := &script{steps: []step{{text: []string{"hi"}, wait: func(context.Context) error { asked = time.Now(); return nil }}}}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		<-c.ready
		sent := time.Now()
		c.send(t, direct(sess, "1", "hello"))
		settled(t, b)
		if !asked.Equal(sent) {
			t.Errorf("the model was asked %v after the message, want at once", asked.Sub(sent))
		}
	})
}

func TestMessagesBeyondTheCapAreDroppedAsConfiguredAndTheirSendersTold(t *testing.T) {
	for _, drop := range []string{dropSummarize, dropOld, dropNew} {
		t.Run(drop, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, s := newChat("chat"), newStore(t)
				m := &script{steps: []step{words(30)}, otherwise: echo}
				b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Queue: Queue{Cap: 3, Drop: drop}})
				c.send(t, direct(sess, "0", "start"))
				time.Sleep(time.Second)
				for i := range 5 {
					c.send(t, direct(sess, fmt.Sprint(i+1), fmt.Sprintf("m%d", i+1)))
				}
				settled(t, b)
				got := users(m.asked()[len(m.asked())-1])[1:]
				dead, err := s.Archive().Dead(t.Context(), 10)
				if err != nil || len(dead) != 2 {
					t.Fatalf("%d dead letters, %v; want 2", len(dead), err)
				}
				switch drop {
				case dropSummarize:
					if len(got) != 4 || !strings.Contains(got[0], "m1") || !strings.Contains(got[0], "m2") {
						t.Errorf("the model saw %q", got)
					}
				case dropOld:
					want(t, "the model saw", got, []string{"m3", "m4", "m5"})
				case dropNew:
					want(t, "the model saw", got, []string{"m1", "m2", "m3"})
				}
				told := 0
				for _, p := range c.texts() {
					if strings.HasPrefix(p, "More than 3 messages") {
						told++
					}
				}
				if told != 1 {
					t.Errorf("told %d times, want once: %q", told, c.texts())
				}
				valid(t, s, sess)
			})
		})
	}
}

// TestAMessageSentTheMomentAFinalAppearsIsAnswered sends from within the post of
// the final, which is as early as anybody can.
func TestAMessageSentTheMomentAFinalAppearsIsAnswered(t *testing.T) {
	for mode, rounds := range map[string]int{ModeSteer: 1000, ModeFollowUp: 300, ModeCollect: 300, ModeInterrupt: 300} {
		t.Run(mode, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, s, m := newChat("chat"), newStore(t), &script{otherwise: echo}
				eager := &eagerChat{chat: c, left: rounds}
				b := start(t, Config{Store: s, Channels: []channels.Channel{eager}, Model: m, Queue: Queue{Mode: mode}})
				began := time.Now()
				c.send(t, direct(sess, "first", "m"))
				settled(t, b)
				eager.wg.Wait()
				settled(t, b)
				// On the fake clock: nobody waited for the sweep to find a message.
				if took := time.Since(began); took > time.Second {
					t.Errorf("it took %v", took)
				}
				if n := len(c.texts()); n != rounds+1 {
					t.Errorf("%d of %d messages answered", n, rounds+1)
				}
				valid(t, s, sess)
			})
		})
	}
}
