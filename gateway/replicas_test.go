package gateway

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
)

func TestAMessageAcceptedByAnotherReplicaSteersTheRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := &script{steps: []step{call("c1", "slow", `{}`), say("done both")}}
		slow := tool("slow", func(ctx context.Context) string { sleep(ctx, 2*time.Second); return "slept" })
		w := newWorld(t, m, slow)
		b1, a := w.spawn(&process{})
		b2, b := w.spawn(&process{})
		if err := a.accept(direct(sess, "1", "work")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := b.accept(direct(sess, "2", "and this")); err != nil {
			t.Fatal(err)
		}
		settled(t, b1, b2)
		reqs := m.asked()
		want(t, "second request", users(reqs[1]), []string{"work", "and this"})
		want(t, "posts", w.chat.texts(), []string{"done both"})
		valid(t, w.store, sess)
	})
}

func TestStopOnAnotherReplicaStopsTheRunAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := &script{steps: []step{words(1000)}}
		w := newWorld(t, m)
		b1, a := w.spawn(&process{})
		b2, b := w.spawn(&process{})
		if err := a.accept(direct(sess, "1", "work")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		at := time.Now()
		if err := b.accept(direct(sess, "2", "/stop")); err != nil {
			t.Fatal(err)
		}
		for b1.dispatch.busy() || b2.dispatch.busy() {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(at); took > time.Second {
			t.Errorf("stopping took %v", took)
		}
		if got := w.chat.texts(); len(got) != 1 || !strings.HasSuffix(got[0], stoppedText) {
			t.Errorf("posts: %q", got)
		}
		valid(t, w.store, sess)
	})
}

func TestDuplicatesThatReachTwoReplicasAreAnsweredOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &script{otherwise: echo})
		b1, a := w.spawn(&process{})
		b2, b := w.spawn(&process{})
		for _, conn := range []*mortalChat{a, b, a, b} {
			if err := conn.accept(direct(sess, "1", "hello")); err != nil {
				t.Fatal(err)
			}
		}
		settled(t, b1, b2)
		want(t, "posts", w.chat.texts(), []string{"re: hello"})
	})
}

func TestAProcessThatEndsHandsItsRunOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := &script{steps: []step{call("c1", "slow", `{}`)}, otherwise: echo}
		slow := tool("slow", func(ctx context.Context) string { sleep(ctx, time.Hour); return "woken" })
		w := newWorld(t, m, slow)
		b1, a := w.spawn(&process{})
		if err := a.accept(direct(sess, "1", "work")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		at := time.Now()
		if err := b1.stop(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(at); took > time.Second {
			t.Errorf("ending took %v", took)
		}
		b2, _ := w.spawn(&process{})
		time.Sleep(2 * time.Second)
		settled(t, b2)
		got := outline(t, w.store, sess)
		if len(got) != 4 || got[3] != "a re: work" {
			t.Errorf("transcript: %q", got)
		}
		want(t, "posts", w.chat.texts(), []string{"re: work"})
		valid(t, w.store, sess)
	})
}

func TestAProcessThatEndsWhileTheModelThinksHandsTheMessageOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &script{otherwise: echoAfter(time.Minute)})
		b1, a := w.spawn(&process{})
		if err := a.accept(direct(sess, "1", "work")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := b1.stop(); err != nil {
			t.Fatal(err)
		}
		b2, _ := w.spawn(&process{})
		time.Sleep(2 * time.Second)
		settled(t, b2)
		want(t, "posts", w.chat.texts(), []string{"re: work"})
		want(t, "transcript", outline(t, w.store, sess), []string{"u work", "a re: work"})
	})
}

func TestAFinalWhoseRecordingWasNotConfirmedIsStillDelivered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &script{otherwise: echo})
		b, a := w.spawn(&process{loseOn: "append"})
		if err := a.accept(direct(sess, "1", "work")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		settled(t, b)
		want(t, "posts", w.chat.texts(), []string{"re: work"})
		want(t, "transcript", outline(t, w.store, sess), []string{"u work", "a re: work"})
	})
}

func TestAProcessThatEndsLetsARunFinishFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: &script{steps: []step{words(30)}}})
		c.send(t, direct(sess, "1", "work"))
		time.Sleep(time.Second)
		if err := b.stop(); err != nil {
			t.Fatal(err)
		}
		want(t, "posts", c.texts(), []string{strings.TrimSpace(strings.Repeat("word ", 30))})
		info, err := b.sessionInfo(t.Context(), sess)
		if err != nil || info.Owner != "" {
			t.Errorf("at the end: %+v, %v", info, err)
		}
		valid(t, s, sess)
	})
}

func TestAReplyThatWasBeingStreamedGoesOnInTheSameMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := &script{steps: []step{words(100)}, otherwise: func(*agentcore.Request) step { return say(strings.Repeat("word ", 30) + "end") }}
		w := newWorld(t, m)
		b1, a := w.spawn(&process{})
		if err := a.accept(direct(sess, "1", "work")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if err := b1.stop(); err != nil {
			t.Fatal(err)
		}
		if n := len(w.chat.texts()); n != 1 {
			t.Fatalf("%d posts before the hand-off", n)
		}
		b2, _ := w.spawn(&process{})
		time.Sleep(2 * time.Second)
		settled(t, b2)
		want(t, "posts", w.chat.texts(), []string{strings.Repeat("word ", 30) + "end"})
		valid(t, w.store, sess)
	})
}

func TestAFinalOlderThanAnHourIsAnnouncedNotSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &script{otherwise: echo})
		p1 := &process{dieOn: "set reply"} // the final is recorded, and not sent
		_, a := w.spawn(p1)
		if err := a.accept(direct(sess, "1", "work")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		want(t, "transcript", outline(t, w.store, sess), []string{"u work", "a re: work"})
		b2, _ := w.spawn(&process{})
		time.Sleep(5 * time.Second)
		settled(t, b2)
		got := w.chat.texts()
		if len(got) != 1 || !strings.HasPrefix(got[0], "I had finished an answer") {
			t.Errorf("posts: %q", got)
		}
	})
}

func TestRunsAreSharedFairlyWhenThereAreMoreSessionsThanSlots(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{otherwise: echoAfter(time.Second)}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, MaxRuns: 1, Queue: Queue{Mode: ModeFollowUp}})
		for _, id := range []string{"1", "2", "3"} {
			c.send(t, direct("chat:a", id, "a"+id))
		}
		c.send(t, direct("chat:b", "1", "b1"))
		settled(t, b)
		got := c.texts()
		if i := slices.Index(got, "re: b1"); i != 1 {
			t.Errorf("b waited for all of a: %q", got)
		}
		if len(got) != 4 {
			t.Errorf("posts: %q", got)
		}
	})
}
