package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

func TestAPersonHasTheirDataDeletedAndTheOperatorSomebodyElses(t *testing.T) {
	w := newWorld(t, options{script: rememberer, config: "[log]\nwire = true\n"})
	w.say("remember that Ana can't eat peanuts")
	w.saying("The tool says: ")
	w.telegram.SendText(ben, ben, "remember that Ben eats no peanuts either")
	w.sayingIn(ben, "The tool says: ")
	folders := func() (names []string) {
		list, err := filepath.Glob(filepath.Join(w.dir, "*", "s-*"))
		must(t, err)
		for _, dir := range list {
			names = append(names, filepath.Base(dir))
		}
		return names
	}
	if n := len(folders()); n != 2 {
		t.Fatalf("%d conversations have recorded calls", n)
	}
	w.say("/forgetme")
	w.saying("1 direct conversation with their files, 1 fact that I remember")
	w.say("/forgetme yes")
	if told := w.saying("I have deleted what I kept about you"); !strings.Contains(told, "1 direct conversation") || !strings.Contains(told, "1 fact") || !strings.Contains(told, "the name in 1 record of costs") {
		t.Errorf("told: %q", told)
	}
	if out := w.cli("sessions", "list"); strings.Contains(out, "telegram:4711:1 ") || !strings.Contains(out, "telegram:4711:2 ") {
		t.Errorf("the sessions are:\n%s", out)
	}
	w.until("the recorded calls are gone", func() bool { return len(folders()) == 1 })
	before := w.model.Count()
	w.say("And now?")
	w.wait(func(messages []channeltest.SentMessage) bool {
		return w.model.Count() > before && strings.Contains(messages[len(messages)-1].Text, "I know nothing about you.")
	})

	// Beside the running bot, and with none.
	if out := w.cli("users", "delete", "--yes", "telegram:2"); !strings.Contains(out, "deleted of telegram:2:\n- 1 direct conversation\n") || !strings.Contains(out, "What stays:") {
		t.Errorf("users delete says:\n%s", out)
	}
	w.telegram.SendText(ben, ben, "/memory")
	w.sayingIn(ben, "I remember nothing about you")
	must(t, w.bot.stop())
	if out := w.cli("users", "delete", "--yes", "telegram:1"); !strings.Contains(out, "deleted of telegram:1:\n- 1 direct conversation\n") {
		t.Errorf("users delete says:\n%s", out)
	}
	if n := len(folders()); n != 0 {
		t.Errorf("%d conversations have recorded calls still", n)
	}
}

func TestAPersonIsForgottenThoughAnotherReplicaWorksForThem(t *testing.T) {
	f := newFleet(t, 2, "webhook", modeltest.Turns(
		modeltest.Turn{Text: "The quick brown fox jumps over the lazy dog, and then", Stall: true, After: 1},
		modeltest.Say("Who are you?"),
	))
	f.via(0)
	f.say("tell me a story")
	f.saying("The quick brown fox")
	f.via(1)
	f.say("/forgetme yes")
	if told := f.saying("I have deleted what I kept about you"); !strings.Contains(told, "1 direct conversation") {
		t.Errorf("told: %q", told)
	}
	if f.model.Active() != 0 {
		t.Error("the model's stream is still open")
	}
	if out := f.cli("sessions", "list"); strings.Contains(out, "telegram:4711:1 ") {
		t.Errorf("left:\n%s", out)
	}
	f.via(0)
	f.say("do you know me?")
	if second := f.nextOf("do you know me?"); second.Mentions("story") {
		t.Errorf("the replica that worked still knows: %+v", second.Messages)
	}
	f.saying("Who are you?")
	if out := f.cli("users", "delete", "--yes", "telegram:1"); !strings.Contains(out, "- 1 direct conversation\n") {
		t.Errorf("users delete says:\n%s", out)
	}
}

// nextOf waits for the request whose latest words of a person are text.
func (w *world) nextOf(text string) *modeltest.Request {
	w.t.Helper()
	for {
		if req := w.nextRequest(); strings.Contains(req.LastUser(), text) {
			return req
		}
	}
}
