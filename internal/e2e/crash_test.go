package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

// answers counts the bot's messages in ana's chat that contain text.
func (w *world) answers(text string) int {
	n := 0
	for _, m := range w.telegram.Messages(ana) {
		if strings.Contains(m.Text, text) {
			n++
		}
	}
	return n
}

// restart kills the bot as a power cut would and starts it again.
func (w *world) restart() {
	w.t.Helper()
	w.bot.kill()
	w.start()
}

func TestAKilledBotAnswersOnceWhatItHadAccepted(t *testing.T) {
	var hold chan struct{}
	w := newWorld(t, options{script: func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		turn := modeltest.Say("answer to " + req.LastUser()[strings.LastIndex(req.LastUser(), "#"):])
		turn.Hold = hold
		return turn
	}})
	for round := range 8 {
		// The model holds its answer back until the bot that asked is dead.
		hold = make(chan struct{})
		id := w.say(fmt.Sprintf("question #%d", round)).UpdateID
		if round%2 == 0 {
			must(t, w.telegram.WaitConfirmed(w.ctx, id))
		}
		w.nextRequest()
		w.bot.kill()
		close(hold)
		hold = nil
		w.start()
		want := fmt.Sprintf("answer to #%d", round)
		w.answer(want)
		w.nextRequest()
	}
	// One more exchange, so that a late double would have been seen.
	w.say("question #last")
	w.answer("answer to #last")
	for round := range 8 {
		if n := w.answers(fmt.Sprintf("answer to #%d", round)); n != 1 {
			t.Errorf("question %d has %d answers", round, n)
		}
	}
	if refused := strings.Count(w.bot.log(), "level=ERROR"); refused > 0 {
		t.Errorf("%d errors in the log:\n%s", refused, w.bot.log())
	}
}

func TestAKillBetweenAToolAndItsResultLeavesAValidTranscript(t *testing.T) {
	hold := make(chan struct{})
	w := newWorld(t, options{script: modeltest.Turns(
		modeltest.Turn{Calls: []modeltest.Call{{ID: "c1", Name: "list_dir", Arguments: `{}`}, {ID: "c2", Name: "current_time", Arguments: `{}`}}},
		modeltest.Turn{Text: "never seen", Hold: hold},
		modeltest.Say("Both are done."),
	)})
	w.say("look around")
	w.nextRequest()
	w.nextRequest()
	w.bot.kill()
	close(hold)
	w.start()
	// The model server refuses a request whose calls lack results.
	w.saying("Both are done.")
	if n := w.model.Count(); n != 3 {
		t.Errorf("%d model calls, want 3", n)
	}
}

func TestAKilledBotFinishesTheMessageThatIsThere(t *testing.T) {
	text := strings.Repeat("A sentence that is long enough to be shown early. ", 10)
	w := newWorld(t, options{script: modeltest.Turns(
		modeltest.Turn{Text: text, Chunk: 50, Pace: 300 * time.Millisecond, Stall: true, After: 8},
		modeltest.Turn{Text: text, Chunk: 50},
	)})
	w.say("go")
	// An edit follows the answer to the first send, so the message is known.
	w.wait(func(messages []channeltest.SentMessage) bool {
		return len(messages) > 0 && len(messages[0].History) > 1
	})
	w.bot.kill()
	w.start()
	messages := w.wait(func(messages []channeltest.SentMessage) bool {
		return strings.TrimSpace(messages[len(messages)-1].Text) == strings.TrimSpace(text)
	})
	if len(messages) != 1 {
		t.Errorf("%d messages, want the first one finished:\n%s", len(messages), transcript(messages))
	}
}

func TestASecondBotOnTheSameDatabaseRefuses(t *testing.T) {
	w := newWorld(t, options{script: modeltest.Always(modeltest.Say("hi"))})
	second := startProcess(t, w.dir, nil, "run", "--config", w.dir+"/clawbot.toml")
	<-second.done
	if second.err == nil || !strings.Contains(second.log(), fmt.Sprint(w.bot.cmd.Process.Pid)) {
		t.Errorf("the second bot ended with %v:\n%s", second.err, second.log())
	}
	w.say("still there?")
	w.answer("hi")
}

func TestARestartWithSIGTERMLosesNothing(t *testing.T) {
	w := newWorld(t, options{script: func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		return modeltest.Say("answer to " + req.LastUser()[strings.LastIndex(req.LastUser(), "#"):])
	}})
	const rounds = 12
	for round := range rounds {
		w.say(fmt.Sprintf("question #%d.", round))
		if err := w.bot.stop(); err != nil {
			t.Fatalf("SIGTERM: %v\n%s", err, w.bot.log())
		}
		w.start()
	}
	w.answer(fmt.Sprintf("answer to #%d.", rounds-1))
	// Questions that waited together may share a turn; each was shown.
	requests := w.model.Requests()
	last := requests[len(requests)-1]
	for round := range rounds {
		if !last.Mentions(fmt.Sprintf("question #%d.", round)) {
			t.Errorf("question %d is not in the transcript", round)
		}
	}
}
