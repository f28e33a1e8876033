package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

// kitchen is a group that ana and ben are in.
const kitchen int64 = -1001

// rememberer calls remember with what follows "remember that", and otherwise
// says whether it knows of peanuts.
func rememberer(_ context.Context, req *modeltest.Request) modeltest.Turn {
	if last := req.Last(); last.Role == "tool" {
		return modeltest.Say("The tool says: " + last.Text)
	}
	if _, fact, ok := strings.Cut(req.LastUser(), "remember that "); ok {
		return modeltest.Use("remember", fmt.Sprintf(`{"fact":%q}`, fact))
	}
	if req.Mentions("peanuts") {
		return modeltest.Say("No peanuts, I know.")
	}
	return modeltest.Say("I know nothing about you.")
}

func TestAFactToldInOneConversationIsUsedInAnotherAndNobodyElseLearnsIt(t *testing.T) {
	w := newWorld(t, options{script: rememberer})
	w.telegram.AddChat(kitchen, channeltest.ChatOptions{Title: "Kitchen"})
	w.say("What may I eat?")
	w.saying("I know nothing about you.")
	w.telegram.SendText(kitchen, ana, "@"+w.telegram.Username()+" remember that Ana can't eat peanuts")
	if told := w.sayingIn(kitchen, "The tool says: "); !strings.Contains(told, "Kept for the person alone") {
		t.Errorf("the room was told %q", told)
	}
	w.say("What may I eat now?")
	w.saying("No peanuts, I know.")

	w.telegram.SendText(ben, ben, "What may Ana eat?")
	w.sayingIn(ben, "I know nothing about you.")
	w.telegram.SendText(ben, ben, "/memory")
	w.sayingIn(ben, "I remember nothing about you")

	w.say("/memory")
	w.saying("Ana can't eat peanuts")
	must(t, w.bot.stop())
	w.start()
	w.say("/memory delete all")
	w.saying("Forgotten: 1 fact.")
	w.say("/new")
	before := w.model.Count()
	w.say("And now?")
	w.wait(func(messages []channeltest.SentMessage) bool {
		return w.model.Count() > before && strings.Contains(messages[len(messages)-1].Text, "I know nothing about you.")
	})
}

// searcher calls search_history with what follows "find".
func searcher(_ context.Context, req *modeltest.Request) modeltest.Turn {
	if last := req.Last(); last.Role == "tool" {
		return modeltest.Say("The tool says: " + last.Text)
	}
	if words, ok := strings.CutPrefix(req.LastUser(), "find "); ok {
		return modeltest.Use("search_history", fmt.Sprintf(`{"query":%q}`, words))
	}
	return modeltest.Say("Noted.")
}

func TestWhatWasSaidBeforeIsFoundByWhoSaidItAlone(t *testing.T) {
	w := newWorld(t, options{script: searcher})
	w.say("The jam is called Marmalade No. 5, 东京塔.")
	w.saying("Noted.")
	w.telegram.SendText(ben, ben, "My jam is marmalade, too, says Ben.")
	w.sayingIn(ben, "Noted.")
	w.say("/new")
	must(t, w.bot.stop())
	w.start()
	w.say("find marmalade 东京")
	if got := w.saying("The tool says:"); !strings.Contains(got, "Marmalade No. 5") || strings.Contains(got, "Ben") {
		t.Errorf("found %q", got)
	}
}
