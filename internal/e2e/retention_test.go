package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOldConversationsAreDeletedWhereTheConfigurationSaysSo(t *testing.T) {
	w := newWorld(t, options{script: rememberer})
	w.say("hello")
	w.saying("I know nothing about you.")
	w.telegram.SendText(ben, ben, "hello")
	w.sayingIn(ben, "I know nothing about you.")
	must(t, w.bot.stop())
	w.start()
	if out := w.cli("sessions", "list"); !strings.Contains(out, "telegram:4711:1 ") || !strings.Contains(out, "telegram:4711:2 ") {
		t.Fatalf("without rules, these are left:\n%s", out)
	}
	must(t, w.bot.stop())
	file := filepath.Join(w.dir, "clawbot.toml")
	config, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, append(config, "[retention]\ncount = 1\n"...), 0o600))
	w.start()
	w.bot.waitLog("deleted what is old")
	if out := w.cli("sessions", "list"); strings.Contains(out, "telegram:4711:1 ") || !strings.Contains(out, "telegram:4711:2 ") {
		t.Errorf("left:\n%s", out)
	}
	// Whose conversation is gone begins a new one.
	before := w.model.Count()
	w.say("hello again")
	w.until("the new conversation is answered", func() bool { return w.model.Count() > before })
}
