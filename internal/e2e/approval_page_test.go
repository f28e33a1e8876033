package e2e

import (
	"context"
	"os"
	"strings"
	"testing"

	"clawbot/internal/browsertest"
	"clawbot/internal/modeltest"
)

// button is a button of the last notice that has any.
func button(label string) string {
	return `[...document.querySelectorAll(".notice .buttons button")].find((b) => b.textContent === "` + label + `")`
}

func press(tab *browsertest.Tab, label string) {
	tab.Until("there is "+label, button(label))
	browsertest.Eval[bool](tab, button(label)+`.click() ?? true`)
}

func TestOnThePageACallIsApprovedDeniedAndAllowedForGood(t *testing.T) {
	w := newWorld(t, options{script: func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		if last := req.Last(); last.Role == "tool" {
			return modeltest.Say("It said: " + strings.Join(strings.Fields(last.Text), " "))
		}
		said := req.LastUser()
		return use("", "exec", `{"command":"`+said[strings.LastIndex(said, "mkdir"):]+`"}`)
	}})
	tab := browsertest.Open(t, w.bot.page())
	tab.Open("/")
	entries := `document.querySelector(".entries").textContent`

	tab.Write("mkdir one")
	tab.Until("the question shows the command", `document.querySelector(".notice")?.textContent.includes("mkdir one")`)
	if browsertest.Eval[bool](tab, `!`+button("Always allow this")) {
		t.Error("it can't be allowed for good")
	}
	tab.Shot("approval")
	press(tab, "Deny")
	tab.Until("the model is told", entries+`.includes("It said: Not run:") && `+entries+`.includes("Denied by")`)
	tab.Until("the buttons are gone", `!document.querySelector(".notice .buttons")`)

	tab.Write("mkdir two")
	tab.Until("the next question", button("Approve"))
	tab.Open("/c/" + tab.Conversation())
	press(tab, "Approve") // the question is there after a reload, too
	tab.Until("it ran", entries+`.includes("Approved by") && `+entries+`.includes("Exit status 0")`)

	tab.Write("mkdir three")
	press(tab, "Always allow this")
	tab.Until("it ran", entries+`.includes("Approved for good by")`)
	tab.Until("it is idle", `document.getElementById("stop").hidden`)
	must(t, os.Remove(w.workspace("three")))
	tab.Write("once more: mkdir three")
	w.until("it runs unasked", func() bool {
		_, err := os.Stat(w.workspace("three"))
		return err == nil
	})
	for name, want := range map[string]bool{"one": false, "two": true} {
		if _, err := os.Stat(w.workspace(name)); (err == nil) != want {
			t.Errorf("%s is there: %v", name, err == nil)
		}
	}
}
