package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

// asked waits for the question and returns it.
func (w *world) asked(command string) (message channeltest.SentMessage, approve, deny string) {
	w.t.Helper()
	w.wait(func(messages []channeltest.SentMessage) bool {
		for _, m := range messages {
			if strings.Contains(m.Text, "needs an approval") && strings.Contains(m.Text, command) && len(m.Buttons) > 0 {
				message = m
				return true
			}
		}
		return false
	})
	return message, message.Buttons[0][0].CallbackData, message.Buttons[0][1].CallbackData
}

func TestACommandRunsInTheSandboxAfterAButtonIsPressed(t *testing.T) {
	w := newWorld(t, options{script: modeltest.Turns(
		modeltest.Turn{Calls: []modeltest.Call{{ID: "c1", Name: "exec", Arguments: `{"command":"ls | sort"}`}}},
		modeltest.Turn{Calls: []modeltest.Call{{ID: "c2", Name: "exec", Arguments: `{"command":"mkdir made && cat /proc/self/environ"}`}}},
		modeltest.Turn{Calls: []modeltest.Call{{ID: "c3", Name: "exec", Arguments: `{"command":"rm -r made"}`}}},
		modeltest.Say("All done."),
	)})
	w.say("make a folder")
	w.nextRequest()
	listed := w.nextRequest()
	if !listed.Mentions("README.md") || !listed.Mentions("Exit status 0") {
		t.Errorf("ls: %+v", listed.Messages)
	}
	question, approve, _ := w.asked("mkdir made")
	if _, err := os.Stat(w.workspace("made")); err == nil {
		t.Error("it ran unapproved")
	}
	w.telegram.Press(ana, ana, question.ID, approve)
	made := w.nextRequest()
	if !made.Mentions("PATH=/usr/local/bin") || made.Mentions("TELEGRAM") || made.Mentions("HOME=/root") {
		t.Errorf("environment: %+v", made.Messages[len(made.Messages)-1])
	}
	if info, err := os.Stat(w.workspace("made")); err != nil || !info.IsDir() {
		t.Errorf("the folder: %v", err)
	}
	question, _, deny := w.asked("rm -r made")
	w.telegram.Press(ana, ana, question.ID, deny)
	if denied := w.nextRequest(); !denied.Mentions("denied it") {
		t.Errorf("after the denial: %+v", denied.Messages)
	}
	w.answer("All done.")
	if _, err := os.Stat(w.workspace("made")); err != nil {
		t.Errorf("denied, and yet: %v", err)
	}
	for _, m := range w.telegram.Messages(ana) {
		if strings.Contains(m.Text, "by Ana") && len(m.Buttons) > 0 {
			t.Errorf("a decided question has buttons: %q", m.Text)
		}
	}
}

func TestAnApprovalOutlivesTheBotThatAskedForIt(t *testing.T) {
	for name, kill := range map[string]bool{"killed": true, "stopped": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{script: modeltest.Turns(
				modeltest.Turn{Calls: []modeltest.Call{{ID: "c1", Name: "exec", Arguments: `{"command":"mkdir made"}`}}},
				modeltest.Say("It is there."),
			)})
			w.say("make a folder")
			w.nextRequest()
			question, approve, _ := w.asked("mkdir made")
			if kill {
				w.restart()
			} else {
				must(t, w.bot.stop())
				w.start()
			}
			w.telegram.Press(ana, ana, question.ID, approve)
			w.answer("It is there.")
			if _, err := os.Stat(w.workspace("made")); err != nil {
				t.Error(err)
			}
			if n := w.answers("needs an approval") + w.answers("Approved by"); n != 1 {
				t.Errorf("it was asked %d times", n)
			}
		})
	}
}

func TestACommandDiesWithTheBot(t *testing.T) {
	w := newWorld(t, options{
		config: "[tools.permissions.exec]\nmode = \"allow\"",
		script: modeltest.Turns(
			modeltest.Turn{Calls: []modeltest.Call{{ID: "c1", Name: "process", Arguments: `{"action":"start","command":"setsid sleep 87654.5"}`}}},
			modeltest.Turn{Calls: []modeltest.Call{{ID: "c2", Name: "exec", Arguments: `{"command":"touch up; (setsid sleep 87654.5 &); sleep 87654.5"}`}}},
			modeltest.Say("Never."),
		)})
	w.say("wait")
	w.nextRequest()
	w.nextRequest()
	w.until("the command begins", func() bool {
		_, err := os.Stat(w.workspace("up"))
		return err == nil
	})
	w.bot.kill()
	w.until("nothing of it is alive", func() bool {
		out, _ := exec.Command("pgrep", "-f", "sleep 87654.5").Output() // none is status 1
		return len(out) == 0
	})
}

// until looks again and again until cond holds.
func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	for !cond() {
		select {
		case <-w.ctx.Done():
			w.t.Fatalf("not so: %s\n%s", what, w.bot.log())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestTheOwnerDecidesInPrivateAboutWhatAStrangerAsksForInARoom(t *testing.T) {
	const room int64 = -1001
	w := newWorld(t, options{
		config: "[tools.channels.\"telegram:-1001\"]\nenabled = [\"exec\"]",
		script: modeltest.Turns(use("c1", "exec", `{"command":"mkdir made"}`), modeltest.Say("It is there.")),
	})
	w.telegram.AddChat(room, channeltest.ChatOptions{Title: "The Den"})
	w.telegram.SendText(ana, ana, "/status") // a bot may not write to whom it does not know
	w.saying("Model")
	w.telegram.SendText(room, ben, "@"+w.telegram.Username()+" make a folder")
	w.sayingIn(room, "needs an approval")
	question, approve, _ := w.asked("mkdir made")
	if !strings.Contains(question.Text, "Ben (telegram:2), in The Den") {
		t.Errorf("the owner is asked %q", question.Text)
	}
	w.telegram.Press(ana, ana, question.ID, approve)
	w.sayingIn(room, "It is there.")
	w.sayingIn(room, "Approved by Ana")
	w.saying("Approved by Ana")
}
