package gateway

import (
	"context"
	"fmt"
	"testing"
	"time"

	"clawbot/agentcore"
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
