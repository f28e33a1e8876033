package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"clawbot/internal/modeltest"
)

// The model's window is small, so that a few long messages fill it.
const smallWindow = `[providers.test.models."scripted-1"]
window = 6000`

func TestALongConversationIsSummedUpAndGoesOn(t *testing.T) {
	w := newWorld(t, options{config: smallWindow, script: func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		if strings.Contains(req.LastUser(), "<conversation>") {
			return modeltest.Say("They told each other stories about a whale.")
		}
		return modeltest.Say("Answer to " + strings.Fields(req.LastUser())[0] + ".")
	}})
	for i := range 8 {
		w.say(fmt.Sprintf("m%d ", i) + strings.Repeat("the whale sang ", 200))
		w.answer(fmt.Sprintf("Answer to m%d.", i))
	}
	w.say("/compact")
	w.saying("Summed up: of ")
	w.say("last one")
	w.answer("Answer to last.")
	requests := w.model.Requests()
	last := requests[len(requests)-1]
	if !last.Mentions("They told each other stories about a whale.") || last.Mentions("m0 ") {
		t.Errorf("the last request does not begin with the summary: %+v", last.Messages)
	}
	if out := w.cli("sessions", "show", "telegram:"); !strings.Contains(out, "m0 the whale sang") || !strings.Contains(out, "m7 the whale sang") {
		t.Errorf("the history has lost something:\n%.2000s", out)
	}
	w.say("/usage")
	w.saying("model calls")
}
