package gateway

import (
	"errors"
	"testing"
	"time"

	"clawbot/store"
)

func TestADeletedSessionIsForgottenByEveryReplica(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := &script{steps: []step{say("one"), say("two")}}
		w := newWorld(t, m)
		b1, a := w.spawn(&process{})
		b2, _ := w.spawn(&process{})
		if err := a.accept(direct(sess, "1", "the secret is 42")); err != nil {
			t.Fatal(err)
		}
		settled(t, b1, b2)
		if err := DeleteSession(t.Context(), w.store, sess); err != nil {
			t.Fatal(err)
		}
		settled(t, b1, b2)
		if list, _, err := w.store.Archive().Sessions(t.Context(), "", "", 10); err != nil || len(list) != 0 {
			t.Errorf("sessions: %v, %v", list, err)
		}
		if b1.cache.take(sess) != nil || b2.cache.take(sess) != nil {
			t.Error("a replica keeps the deleted transcript")
		}
		if err := a.accept(direct(sess, "2", "what is it?")); err != nil {
			t.Fatal(err)
		}
		settled(t, b1, b2)
		reqs := m.asked()
		want(t, "what the model sees", users(reqs[len(reqs)-1]), []string{"what is it?"})
	})
}

func TestASessionThatIsWorkedOnIsNotDeleted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, &script{steps: []step{words(1000)}})
		b, a := w.spawn(&process{})
		if err := a.accept(direct(sess, "1", "work")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		err := DeleteSession(t.Context(), w.store, sess)
		if _, held := errors.AsType[*store.HeldError](err); !held {
			t.Errorf("DeleteSession: %v", err)
		}
		settled(t, b)
		valid(t, w.store, sess)
	})
}
