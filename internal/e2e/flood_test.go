package e2e

import (
	"strings"
	"testing"

	"clawbot/internal/modeltest"
)

// A model that floods is cut off, said so in the chat, and forgotten: the next
// message is answered as ever.
func TestAnAnswerWithoutEndIsCutOffAndTheNextMessageWorks(t *testing.T) {
	flood := modeltest.Turn{Text: strings.Repeat("and so on ", 4<<20), Chunk: 1 << 15}
	w := newWorld(t, options{script: modeltest.Turns(flood, modeltest.Say("fine again"))})
	w.say("never stop")
	w.saying("did not stop writing")
	w.say("and now?")
	w.saying("fine again")
	if n := len(w.telegram.Messages(ana)); n > 300 {
		t.Errorf("the flood filled %d messages", n)
	}
}
