package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/store"
)

func TestAFinalIsDeliveredAlthoughItsRunWentOnAndDiedBeforeItWasShown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p1 := &process{}
		asked := 0
		m := &script{otherwise: func(req *agentcore.Request) step {
			s := say("This is the answer to " + lastUser(req))
			switch asked++; asked {
			case 1:
				s.wait = func(ctx context.Context) error { sleep(ctx, time.Second); return nil }
			case 2:
				// The first answer is recorded, but too fresh to be shown.
				s.wait = func(ctx context.Context) error { p1.kill(); return errDead }
			}
			return s
		}}
		w := newWorld(t, m)
		_, conn := w.spawn(p1)
		if err := conn.accept(direct(sess, "1", "one")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(800 * time.Millisecond)
		if err := conn.accept(direct(sess, "2", "two")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if !p1.isDead() || len(w.chat.texts()) > 0 {
			t.Fatalf("dead: %v, posts: %q", p1.isDead(), w.chat.texts())
		}
		b2, _ := w.spawn(&process{})
		time.Sleep(20 * time.Second)
		settled(t, b2)
		want(t, "posts", w.chat.texts(), []string{"This is the answer to one", "This is the answer to two"})
		valid(t, w.store, sess)
	})
}

func TestAResetThatWasWrittenIsNotWrittenAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p1 := &process{dieOn: "compact", after: true}
		w := newWorld(t, &script{otherwise: echo})
		_, conn := w.spawn(p1)
		for i, text := range []string{"one", "/new"} {
			if err := conn.accept(direct(sess, fmt.Sprint(i), text)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
		}
		if !p1.isDead() {
			t.Fatal("the first process is alive")
		}
		b2, conn2 := w.spawn(&process{})
		time.Sleep(20 * time.Second)
		if err := conn2.accept(direct(sess, "3", "two")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		settled(t, b2)
		want(t, "transcript", outline(t, w.store, sess), []string{"u one", "a re: one", "s", "u two", "a re: two"})
		want(t, "posts", w.chat.texts(), []string{"re: one", resetText, "re: two"})
		valid(t, w.store, sess)
	})
}

func TestASignalWhoseHintWasLostIsObeyedBeforeTheMessageThatCameAfterIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &script{otherwise: echo})
		b, conn := w.spawn(&process{})
		if err := conn.accept(direct(sess, "1", "one")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		in := direct(sess, "2", "/new")
		data, err := encode(signal{V: recordVersion, ID: newID(), Kind: signalReset, Channel: "chat", Target: in.Target, Sender: in.Sender})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.store.Accept(t.Context(), store.Event{ID: "lost", Session: sess, Lane: store.Signals, Data: data}); err != nil {
			t.Fatal(err)
		}
		if err := conn.accept(direct(sess, "3", "two")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		settled(t, b)
		want(t, "posts", w.chat.texts(), []string{"re: one", resetText, "re: two"})
		want(t, "transcript", outline(t, w.store, sess), []string{"u one", "a re: one", "s", "u two", "a re: two"})
	})
}

func TestMessagesThatWereShortenedAreNotAnsweredBesideAfterACrash(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p1 := &process{dieOn: "bury"}
		slow := tool("slow", func(ctx context.Context) string { sleep(ctx, 5*time.Second); return "slept" })
		w := newWorld(t, &script{steps: []step{call("c1", "slow", `{}`)}, otherwise: echo}, slow)
		w.queue = Queue{Cap: 1}
		_, conn := w.spawn(p1)
		for i, text := range []string{"work", "first", "second", "third"} {
			if err := conn.accept(direct(sess, fmt.Sprint(i), text)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Second)
		if !p1.isDead() {
			t.Fatal("the first process is alive")
		}
		b2, _ := w.spawn(&process{})
		time.Sleep(30 * time.Second)
		settled(t, b2)
		for _, text := range []string{"first", "second", "third"} {
			n := 0
			for _, line := range outline(t, w.store, sess) {
				if line[0] == 'u' {
					n += strings.Count(line, text)
				}
			}
			if n != 1 {
				t.Errorf("%q is in the transcript %d times: %q", text, n, outline(t, w.store, sess))
			}
		}
		dead, err := w.store.Archive().Dead(t.Context(), 10)
		if err != nil || len(dead) != 2 {
			t.Errorf("%d dead letters, %v", len(dead), err)
		}
		valid(t, w.store, sess)
	})
}
