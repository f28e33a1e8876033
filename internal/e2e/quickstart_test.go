package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

var (
	shBlock  = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	pairCode = regexp.MustCompile(`clawbot pairing approve ([A-Z0-9]+)`)
)

// The page is followed as a person would: each block in a shell, in order, in a
// fresh home. What differs is where the platform and the vendor are, and that
// the placeholders are filled in.
func TestTheQuickStartLeadsToABotThatAnswersItsOwner(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "quickstart.md"))
	must(t, err)
	var blocks []string
	for _, m := range shBlock.FindAllStringSubmatch(string(page), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != 7 || !strings.HasPrefix(blocks[0], "make build") || blocks[5] != "clawbot run\n" {
		t.Fatalf("the page has other blocks than this test knows: %q", blocks)
	}
	w := &world{t: t, ctx: t.Context(), dir: t.TempDir(), telegram: channeltest.NewTelegram(channeltest.TelegramConfig{}),
		model: modeltest.New(modeltest.Turns(modeltest.Say("OK"), modeltest.Say("Hello, owner.")))}
	t.Cleanup(w.model.Close)
	t.Cleanup(w.telegram.Close)
	w.telegram.SetPerson(ana, channeltest.Person{Name: "Ana"})
	folder := filepath.Join(w.dir, "mybot")
	env := []string{"PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH"), "HOME=" + w.dir}
	shell := func(dir, block string) string {
		t.Helper()
		cmd := exec.Command("bash", "-euc", block)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", block, err, out)
		}
		return string(out)
	}
	if out := shell(w.dir, blocks[1]); out != "The first heading of README.md is “The workspace”.\n" || !strings.Contains(string(page), "```\n"+out) {
		t.Errorf("the demo model says otherwise than the page: %s", out)
	}
	shell(w.dir, blocks[2])
	keys := strings.NewReplacer("sk-ant-…", "sk-ant-0123456789", "123456:ABC-…", w.telegram.Token()).Replace(blocks[3])
	if strings.Contains(keys, "…") {
		t.Fatalf("an unknown placeholder in %s", keys)
	}
	shell(folder, keys)
	file := filepath.Join(folder, "clawbot.toml")
	written, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, fmt.Appendf(written, "api_url = %q\n[providers.anthropic]\nbase_url = %q\n[server]\nlisten = \"127.0.0.1:0\"\n",
		w.telegram.URL(), w.model.URL()), 0o600))
	if out := shell(folder, blocks[4]); !strings.Contains(out, "ok    telegram") || !strings.Contains(out, "ok    model      anthropic/") {
		t.Errorf("the doctor: %s", out)
	}
	w.bot = startProcess(t, folder, env, "run")
	must(t, w.telegram.WaitPoll(w.ctx))
	w.say("hello")
	code := pairCode.FindStringSubmatch(w.saying("clawbot pairing approve"))
	if len(code) == 0 {
		t.Fatal("the stranger is told no code")
	}
	if out := shell(folder, strings.Replace(blocks[6], "CODE", code[1], 1)); !strings.Contains(out, "owner") {
		t.Errorf("the approval: %s", out)
	}
	w.saying("you are my owner") // the bot has heard of it
	w.say("hello again")
	w.answer("Hello, owner.")
}
