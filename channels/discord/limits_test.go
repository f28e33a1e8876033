package discord

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/channels"
)

func answerWith(limit, left int, after time.Duration, bucket string) *attempt {
	h := http.Header{}
	h.Set("X-RateLimit-Limit", strconv.Itoa(limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(left))
	h.Set("X-RateLimit-Reset-After", strconv.FormatFloat(after.Seconds(), 'f', 3, 64))
	h.Set("X-RateLimit-Bucket", bucket)
	return &attempt{status: 200, header: h}
}

func TestADraftLeavesTheLastCallToAFinalAndAFinalWaitsForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		final, draft := &request{op: "send", major: "1"}, &request{op: "send", major: "1", draft: true}
		l.note(final, answerWith(5, 1, 3*time.Second, "b"), nil)
		if err := l.await(t.Context(), draft); channels.OutcomeOf(err) != channels.RateLimited {
			t.Error("the draft got", err)
		}
		begin := time.Now()
		for i := range 2 {
			if err := l.await(t.Context(), final); err != nil {
				t.Error(err)
			}
			if waited := time.Since(begin); waited != time.Duration(i)*3*time.Second {
				t.Errorf("final %d waited %s", i, waited)
			}
		}
		if err := l.await(t.Context(), &request{op: "send", major: "2", draft: true}); err != nil {
			t.Error("another channel waits, too:", err)
		}
	})
}

func TestALongWaitIsLeftToTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		r := &request{op: "send", major: "1"}
		l.note(r, answerWith(5, 0, time.Minute, "b"), nil)
		err := l.await(t.Context(), r)
		if e := sendError(t, err); e.Outcome != channels.RateLimited || e.RetryAfter != time.Minute {
			t.Errorf("got %#v", e)
		}
	})
}

func TestKindsOfCallsThatDiscordCountsTogetherAreCountedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		send, edit := &request{op: "send", major: "1", draft: true}, &request{op: "edit", major: "1", draft: true}
		l.note(send, answerWith(5, 4, 2*time.Second, "shared"), nil)
		l.note(edit, answerWith(5, 0, 2*time.Second, "shared"), nil)
		if err := l.await(t.Context(), send); channels.OutcomeOf(err) != channels.RateLimited {
			t.Error("the shared limit is not kept:", err)
		}
	})
}

func TestAGlobalLimitHoldsEveryCallButAnswersToInteractions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		h := http.Header{"X-Ratelimit-Global": {"true"}}
		l.note(&request{op: "send", major: "1"}, &attempt{status: 429, header: h}, []byte(`{"retry_after":2.5,"global":true}`))
		if err := l.await(t.Context(), &request{op: "typing", major: "9", draft: true}); channels.OutcomeOf(err) != channels.RateLimited {
			t.Error("another call got", err)
		}
		if err := l.await(t.Context(), &request{op: "answer", major: "5", foreign: true}); err != nil {
			t.Error(err)
		}
		begin := time.Now()
		if err := l.await(t.Context(), &request{op: "send", major: "1"}); err != nil || time.Since(begin) != 2500*time.Millisecond {
			t.Error(err, time.Since(begin))
		}
	})
}

func TestCallsInTheAirAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		r := &request{op: "send", major: "1", draft: true}
		l.note(r, answerWith(5, 4, 2*time.Second, "b"), nil)
		for range 3 {
			if err := l.await(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		l.note(r, answerWith(5, 3, 2*time.Second, "b"), nil) // two of the three are still under way
		if err := l.await(t.Context(), r); channels.OutcomeOf(err) != channels.RateLimited {
			t.Error("calls without an answer are not counted")
		}
	})
}

func TestTheLimitsOfManyChannelsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		for i := range 2 * keptBuckets {
			l.note(&request{op: "send", major: strconv.Itoa(i)}, answerWith(5, 4, time.Millisecond, "b"), nil)
			time.Sleep(time.Millisecond)
		}
		if n := len(l.buckets); n > keptBuckets {
			t.Errorf("%d limits are kept", n)
		}
	})
}

func TestTalksAreBoundedAndForgottenWithTime(t *testing.T) {
	var all talks
	now := time.Now()
	for i := range 3 * keptTalks {
		all.heard(strconv.Itoa(i), "", snowflakeAt(now.Add(time.Duration(i)*time.Second)), true)
	}
	if n := len(all.all); n > keptTalks+keptTalks/10 {
		t.Errorf("%d talks are kept", n)
	}
	if _, ok := all.get(strconv.Itoa(3*keptTalks - 1)); !ok {
		t.Error("the newest talk was forgotten")
	}
	all.heard("old", "", snowflakeAt(now.Add(-8*24*time.Hour)), true)
	all.trim(now)
	if _, ok := all.get("old"); ok {
		t.Error("a talk of last week is kept")
	}
}
