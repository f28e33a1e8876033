package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

// cli runs a command beside the bot and returns what it printed.
func (w *world) cli(args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.ctx, binary, append(args, "--config", filepath.Join(w.dir, "clawbot.toml"))...)
	cmd.Dir = w.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "XDG_DATA_HOME=" + w.dir}
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("clawbot %s: %v\n%s\nthe bot's log:\n%s", strings.Join(args, " "), err, out, w.bot.log())
	}
	return string(out)
}

// sayingIn waits until the bot has said something in a chat.
func (w *world) sayingIn(chat int64, text string) string {
	w.t.Helper()
	var found string
	w.waitIn(chat, func(messages []channeltest.SentMessage) bool {
		for _, m := range messages {
			if strings.Contains(m.Text, text) {
				found = m.Text
				return true
			}
		}
		return false
	})
	return found
}

var pairingCode = regexp.MustCompile(`\b[A-HJ-NP-Z2-9]{8}\b`)

func TestAStrangerIsLetInBesideTheRunningBotAndShutOutAgain(t *testing.T) {
	w := newWorld(t, options{script: modeltest.Always(modeltest.Say("Hello Ben.")), config: `dm_policy = "pairing"`})
	w.telegram.SendText(ben, ben, "hello?")
	code := pairingCode.FindString(w.sayingIn(ben, "Your code is"))
	if list := w.cli("pairing", "list"); !strings.Contains(list, code) || !strings.Contains(list, "telegram:2") || !strings.Contains(list, "Ben") {
		t.Fatalf("the list has no %s:\n%s", code, list)
	}
	if out := w.cli("pairing", "approve", strings.ToLower(code)); !strings.Contains(out, "Ben (telegram:2) may write") {
		t.Fatalf("approve says %q", out)
	}
	w.sayingIn(ben, "You were let in")
	w.telegram.SendText(ben, ben, "hello!")
	w.sayingIn(ben, "Hello Ben.")
	if list := w.cli("pairing", "list"); strings.Contains(list, code) || !strings.Contains(list, "paired") {
		t.Errorf("after the approval the list is:\n%s", list)
	}
	w.cli("pairing", "deny", "telegram:2")
	// The bot knows within two seconds; until then it still answers.
	w.waitIn(ben, func(messages []channeltest.SentMessage) bool {
		last := messages[len(messages)-1].Text
		if strings.Contains(last, "Your code is") && len(messages) > 3 {
			return true
		}
		if last == "Hello Ben." {
			w.telegram.SendText(ben, ben, "still there?")
		}
		return false
	})
}

func TestTheOwnerLetsSomebodyInFromTheChat(t *testing.T) {
	w := newWorld(t, options{script: modeltest.Always(modeltest.Say("Hello Ben.")), config: `dm_policy = "pairing"`})
	w.telegram.SendText(ben, ben, "hello?")
	code := pairingCode.FindString(w.sayingIn(ben, "Your code is"))
	w.telegram.SendText(ben, ben, "/pair "+code) // nobody lets themselves in
	w.say("/pair " + code)
	w.saying("may write to me in private now")
	w.sayingIn(ben, "You were let in")
	w.telegram.SendText(ben, ben, "hello!")
	w.sayingIn(ben, "Hello Ben.")
}
