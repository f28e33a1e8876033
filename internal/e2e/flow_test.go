package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

// formats are those of the model that the whole bot is tried with.
var formats = []string{modeltest.OpenAI, modeltest.Anthropic, modeltest.Google, modeltest.Mistral}

func TestAnAgentReadsWritesAndReadsBackInFourTurns(t *testing.T) {
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			w := newWorld(t, options{format: format, script: modeltest.Turns(
				modeltest.Turn{Text: "Let me look.", Calls: []modeltest.Call{{ID: "callread1", Name: "read_file", Arguments: `{"path":"test.txt"}`}}, Fragment: 3},
				modeltest.Turn{Calls: []modeltest.Call{{ID: "callwrit2", Name: "write_file", Arguments: `{"path":"test.txt","content":"hello openclaw"}`}}, Fragment: 5},
				modeltest.Turn{Calls: []modeltest.Call{{ID: "callread3", Name: "read_file", Arguments: `{"path":"test.txt"}`}}},
				modeltest.Turn{Text: "test.txt now says hello openclaw.", Chunk: 4},
			)})
			must(t, os.WriteFile(w.workspace("test.txt"), []byte("hello world"), 0o644))
			w.say("change world to openclaw in test.txt")
			w.wait(func(messages []channeltest.SentMessage) bool {
				return len(messages) > 0 && strings.HasSuffix(messages[len(messages)-1].Text, "test.txt now says hello openclaw.")
			})
			got, err := os.ReadFile(w.workspace("test.txt"))
			must(t, err)
			if string(got) != "hello openclaw" {
				t.Errorf("test.txt is %q", got)
			}
			requests := w.model.Requests()
			if len(requests) != 4 {
				t.Fatalf("%d model calls, want 4", len(requests))
			}
			for id, want := range map[string]string{"callread1": "hello world", "callread3": "hello openclaw"} {
				if text, ok := requests[3].Result(id); !ok || text != want {
					t.Errorf("result of %s is %q, want %q", id, text, want)
				}
			}
			if requests[0].LastUser() == "" || !strings.Contains(requests[0].LastUser(), "change world") {
				t.Errorf("the first request asks %q", requests[0].LastUser())
			}
		})
	}
}

func TestARunEndsAtItsIterationLimitWithAnAccount(t *testing.T) {
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			w := newWorld(t, options{format: format, loop: "max_iterations = 3", script: func(_ context.Context, req *modeltest.Request) modeltest.Turn {
				if len(req.Tools) == 0 {
					return modeltest.Say("I looked three times and found nothing.")
				}
				return modeltest.Use("read_file", fmt.Sprintf(`{"path":"try%d.txt"}`, req.Number))
			}})
			w.say("look for ever")
			text := w.saying("loop.max_iterations")
			if !strings.Contains(text, "Reached the limit of 3 model calls (loop.max_iterations)") {
				t.Errorf("the chat says %q", text)
			}
			w.saying("I looked three times")
			if n := w.model.Count(); n != 4 {
				t.Errorf("%d model calls, want 3 and the account", n)
			}
		})
	}
}

func TestAMessageDuringARunSteersIt(t *testing.T) {
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			hold := make(chan struct{})
			w := newWorld(t, options{format: format, script: modeltest.Turns(
				modeltest.Turn{Text: "Working on it.", Calls: []modeltest.Call{{Name: "list_dir", Arguments: `{}`}}, Hold: hold, After: 1},
				modeltest.Say("Done, in French."),
			)})
			w.say("write a poem")
			w.nextRequest()
			w.saying("Working on it.")
			id := w.say("make it French").UpdateID
			must(t, w.telegram.WaitConfirmed(w.ctx, id))
			close(hold)
			second := w.nextRequest()
			if !second.Mentions("make it French") || !second.Mentions("write a poem") {
				t.Errorf("the second request has %+v", second.Messages)
			}
			w.saying("Done, in French.")
			if n := w.model.Count(); n != 2 {
				t.Errorf("%d model calls, want 2: the first run goes on", n)
			}
		})
	}
}

func TestAFollowUpGetsATurnOfItsOwn(t *testing.T) {
	hold := make(chan struct{})
	w := newWorld(t, options{config: "[queue]\nmode = \"followup\"", script: modeltest.Turns(
		modeltest.Turn{Text: "First.", Calls: []modeltest.Call{{Name: "list_dir", Arguments: `{}`}}, Hold: hold, After: 1},
		modeltest.Say("First is done."), modeltest.Say("Second is done."),
	)})
	w.say("do the first")
	w.nextRequest()
	must(t, w.telegram.WaitConfirmed(w.ctx, w.say("do the second").UpdateID))
	close(hold)
	if second := w.nextRequest(); second.Mentions("do the second") {
		t.Error("the follow-up steered the run")
	}
	if third := w.nextRequest(); !strings.Contains(third.LastUser(), "do the second") {
		t.Errorf("the third request asks %q", third.LastUser())
	}
	w.saying("Second is done.")
}

func TestStopKeepsWhatWasSaidAndTheNextMessageWorks(t *testing.T) {
	w := newWorld(t, options{script: modeltest.Turns(
		modeltest.Turn{Text: "The quick brown fox jumps over the lazy dog, and then", Stall: true, After: 1},
		modeltest.Say("Here again."),
	)})
	w.say("tell me a story")
	w.saying("The quick brown fox")
	w.say("🙂 /stop")
	w.wait(func(messages []channeltest.SentMessage) bool {
		return strings.Contains(strings.ToLower(transcript(messages)), "stopped")
	})
	if w.model.Active() != 0 {
		t.Error("the model's stream is still open")
	}
	w.saying("The quick brown fox jumps over the lazy dog, and then")
	w.say("are you there?")
	w.saying("Here again.")
	last := w.model.Requests()[1]
	if !last.Mentions("The quick brown fox") || !last.Mentions("are you there?") {
		t.Errorf("the next request lacks what was said: %+v", last.Messages)
	}
}

func TestALongAnswerArrivesCompleteInValidMessages(t *testing.T) {
	var long strings.Builder
	for i := range 40 {
		fmt.Fprintf(&long, "Paragraph %d says something of moderate length, for the sake of length.\n\n", i)
		fmt.Fprintf(&long, "```go\nfunc f%d() string {\n\treturn \"%s\"\n}\n```\n\n", i, strings.Repeat("x", 120))
	}
	w := newWorld(t, options{script: modeltest.Always(modeltest.Turn{Text: long.String(), Chunk: 50})})
	w.say("a long one")
	messages := w.wait(func(messages []channeltest.SentMessage) bool {
		return strings.Contains(transcriptWhole(messages), "func f39()") && strings.HasSuffix(strings.TrimSpace(transcriptWhole(messages)), "}")
	})
	whole := transcriptWhole(messages)
	at := 0
	for i := range 40 {
		for _, part := range []string{fmt.Sprintf("Paragraph %d says", i), fmt.Sprintf("func f%d() string", i), strings.Repeat("x", 120)} {
			next := strings.Index(whole[at:], part)
			if next < 0 {
				t.Fatalf("%q is missing after byte %d", part, at)
			}
			at += next
		}
	}
	for _, m := range messages {
		if units := len(utf16.Encode([]rune(m.Text))); units > 4096 {
			t.Errorf("message %d has %d units", m.ID, units)
		}
	}
	if strings.Contains(whole, "```") {
		t.Error("a fence is shown as text")
	}
}

func transcriptWhole(messages []channeltest.SentMessage) string {
	var out strings.Builder
	for _, m := range messages {
		out.WriteString(m.Text)
		out.WriteByte('\n')
	}
	return out.String()
}

func TestTheMessageSentWhenAFinalAppearsIsAlwaysAnswered(t *testing.T) {
	const rounds = 1000
	w := newWorld(t, options{script: func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		return modeltest.Say("answer to " + req.LastUser()[strings.LastIndex(req.LastUser(), "#"):])
	}})
	seen := 0
	for i := range rounds {
		w.say(fmt.Sprintf("question #%d", i))
		want := fmt.Sprintf("answer to #%d", i)
		messages := w.wait(func(messages []channeltest.SentMessage) bool {
			return len(messages) > seen && messages[len(messages)-1].Text == want
		})
		seen = len(messages)
	}
	if seen != rounds {
		t.Errorf("%d answers to %d questions", seen, rounds)
	}
}

func TestHealthAndReadinessAnswer(t *testing.T) {
	w := newWorld(t, options{script: modeltest.Always(modeltest.Say("hi"))})
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, body := w.bot.get(path); status != http.StatusOK {
			t.Errorf("%s is %d: %s", path, status, body)
		}
	}
	if err := w.bot.stop(); err != nil {
		t.Errorf("SIGTERM: %v\n%s", err, w.bot.log())
	}
	if strings.Contains(w.bot.log(), "canary") || strings.Contains(w.bot.log(), w.telegram.Token()) {
		t.Error("a secret is in the log")
	}
}
