package e2e

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

// teller says which model it is, what it was told to be, and what it has.
func teller(_ context.Context, req *modeltest.Request) modeltest.Turn {
	var tools []string
	for _, t := range req.Tools {
		tools = append(tools, t.Name)
	}
	first, _, _ := strings.Cut(req.System, ".")
	has := "many tools"
	if slices.Equal(tools, []string{"current_time"}) {
		has = "the time"
	}
	text := req.Model + ": " + first + ", with " + has
	if strings.Contains(req.System, "Always say moo.") {
		text += ", moo"
	}
	return modeltest.Say(text)
}

func TestAgentsAnswerByRouteAndByChoice(t *testing.T) {
	w := newWorld(t, options{script: teller, config: `
[agents.coder]
model = "test/scripted-2"
system_prompt = "I write code. Well."
[agents.host]
system_prompt = "I welcome people."
tools = ["current_time", "exec"]
deny = ["ex*"]
[[routes]]
agent = "coder"
room = "telegram:-1001"
[[routes]]
agent = "host"
user = "telegram:2"
`})
	w.telegram.AddChat(kitchen, channeltest.ChatOptions{Title: "Kitchen"})
	must(t, os.WriteFile(w.workspace("AGENTS.md"), []byte("Always say moo."), 0o600))

	w.say("hi")
	w.answer("scripted-1: You are clawbot, an assistant that people talk to in a chat (Telegram), with many tools, moo")
	w.telegram.SendText(ben, ben, "hi")
	w.sayingIn(ben, "scripted-1: I welcome people, with the time")
	w.telegram.SendText(kitchen, ana, "@"+w.telegram.Username()+" hi")
	if got := w.sayingIn(kitchen, "scripted-2: I write code, with many tools"); strings.Contains(got, "moo") {
		t.Errorf("the room is told what the owner's workspace says: %q", got)
	}

	w.say("/agent codr")
	w.saying("There is no agent")
	w.say("/agent coder")
	w.saying("coder answers here")
	must(t, w.bot.stop())
	w.start()
	w.say("and now?")
	w.answer("scripted-2: I write code, with many tools, moo")
	w.say("/status")
	w.saying("Agent: coder")
	list := w.cli("sessions", "list")
	for _, want := range []string{"AGENT", "coder", "host"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list has no %q:\n%s", want, list)
		}
	}
}
