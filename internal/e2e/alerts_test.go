package e2e

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"clawbot/internal/modeltest"
)

func TestTheOwnerIsToldOnceThatAKeyFailsAndOnceThatItWorksAgain(t *testing.T) {
	var refused atomic.Bool
	refused.Store(true)
	w := newWorld(t, options{script: func(context.Context, *modeltest.Request) modeltest.Turn {
		if refused.Load() {
			return modeltest.Turn{Status: 401, Message: "invalid x-api-key"}
		}
		return modeltest.Say("Here I am.")
	}})
	for range 3 {
		w.telegram.SendText(ben, ben, "are you there?")
	}
	if told := w.saying("refuses its key"); !strings.Contains(told, "providers.test.api_key") || strings.Contains(told, "canary") {
		t.Errorf("told: %q", told)
	}
	must(t, w.bot.stop()) // it is known to the next one, too
	w.start()
	w.telegram.SendText(ben, ben, "and now?")
	w.until("the key is refused once more", func() bool { return strings.Count(w.bot.log(), "run failed") > 0 })
	refused.Store(false)
	w.telegram.SendText(ben, ben, "are you there now?")
	w.sayingIn(ben, "Here I am.")
	w.saying("The provider test answers again.")
	if n := strings.Count(transcript(w.telegram.Messages(ana)), "refuses its key"); n != 1 {
		t.Errorf("the owner was told %d times:\n%s", n, transcript(w.telegram.Messages(ana)))
	}
}
