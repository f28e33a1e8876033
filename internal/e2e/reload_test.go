package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// rewrite replaces texts of the configuration, as an editor does, whole.
func (w *world) rewrite(pairs ...string) {
	w.t.Helper()
	file := filepath.Join(w.dir, "clawbot.toml")
	data, err := os.ReadFile(file)
	must(w.t, err)
	text := strings.NewReplacer(pairs...).Replace(string(data))
	if text == string(data) {
		w.t.Fatalf("%q is not in the configuration", pairs)
	}
	must(w.t, os.WriteFile(file+"~", []byte(text), 0o600))
	must(w.t, os.Rename(file+"~", file))
}

func TestARunningBotTakesAChangedConfigurationAndRefusesAWrongOneWhole(t *testing.T) {
	w := newWorld(t, options{
		config: priced + "daily_usd = 0.0001\n[log]\naudit = \"audit.jsonl\"\n", script: spending(6000),
		files: map[string]string{"key": "sk-test-canary-0123456789"},
	})
	w.telegram.SendText(ben, ben, "question #1.")
	w.sayingTo(ben, "Today's budget of $0.0001 for everybody is reached")

	// A wrong one changes nothing, though the cap in it is raised.
	w.rewrite("daily_usd = 0.0001", "daily_usd = 5", "dm_policy", "dm_polcy")
	w.bot.waitLog("the new configuration is refused whole")
	if log := w.bot.log(); !strings.Contains(log, "clawbot.toml:") || !strings.Contains(log, "did you mean") {
		t.Errorf("the log does not say where:\n%s", log)
	}
	w.telegram.SendText(ben, ben, "question #2.")
	w.sayingTo(ben, "Today's budget of $0.0001")

	// Mended: the cap, an owner and the key's place hold at once; the address does not.
	w.rewrite("dm_polcy", "dm_policy", `owners = ["telegram:1"]`, `owners = ["telegram:1", "telegram:2"]`,
		`api_key = "sk-test-canary-0123456789"`, `api_key = "${file:key}"`, `listen = "127.0.0.1:0"`, `listen = "127.0.0.1:1"`)
	w.bot.waitLog("the configuration was changed")
	w.telegram.SendText(ben, ben, "question #3.")
	w.sayingTo(ben, "answer to #3.")
	w.telegram.SendText(ben, ben, "/budget")
	w.sayingTo(ben, "of $5.00")
	log := w.bot.log()
	for _, want := range []string{"budget.daily_usd: 0.0001 -> 5", "access.owners: ", "need a restart", "server.listen: "} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q", want)
		}
	}

	// A mounted secret that changes is another key; the vendor refuses it.
	must(t, os.WriteFile(filepath.Join(w.dir, "key"), []byte("sk-another-secret-9876543210"), 0o600))
	w.bot.waitLog("providers.test.api_key: changed")
	w.rewrite("daily_usd = 5", "daily_usd = 6")
	must(t, w.bot.cmd.Process.Signal(syscall.SIGHUP))
	w.bot.waitLog("budget.daily_usd: 5 -> 6")
	must(t, w.bot.stop())
	log = w.bot.log()
	audit, err := os.ReadFile(filepath.Join(w.dir, "audit.jsonl"))
	must(t, err)
	for _, want := range []string{`"event":"config"`, `"outcome":"refused"`, `"outcome":"changed"`, "budget.daily_usd: 0.0001 -\\u003e 5"} {
		if !strings.Contains(string(audit), want) {
			t.Errorf("the audit log lacks %s:\n%s", want, audit)
		}
	}
	for _, secret := range []string{"sk-test-canary", "sk-another-secret"} {
		if strings.Contains(log, secret) || strings.Contains(string(audit), secret) {
			t.Errorf("%s is in the log or the audit log", secret)
		}
	}
}
