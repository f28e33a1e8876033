package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

func TestPeopleAreToldWhatIsWrongWithTheModel(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, closed.Close())
	html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html><body>Welcome to the captive portal</body></html>")
	}))
	defer html.Close()
	tests := []struct {
		name   string
		config string // replaces the provider's lines
		script modeltest.Script
		chat   []string // one of these must be said
		log    string
	}{
		{"nobody listens", fmt.Sprintf("format = \"openai\"\nbase_url = \"http://%s\"\napi_key = \"k\"", closed.Addr()), nil,
			[]string{"reach", "connect"}, "providers.test.base_url"},
		{"a wrong key", "", modeltest.Always(modeltest.Turn{Status: 401, Message: "invalid api key"}),
			[]string{"key"}, "providers.test.api_key"},
		{"a page instead of a model", fmt.Sprintf("format = \"openai\"\nbase_url = %q\napi_key = \"k\"", html.URL), nil,
			[]string{"model", "server"}, "providers.test.base_url"},
		{"a proxy that is not there", fmt.Sprintf("format = \"openai\"\nbase_url = \"http://model.example\"\napi_key = \"k\"\nproxy = \"http://%s\"", closed.Addr()), nil,
			[]string{"reach", "connect", "proxy"}, "proxy"},
		{"no such model", "", modeltest.Always(modeltest.Turn{Status: 404, Message: "model not found"}),
			[]string{"model"}, "scripted-1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			script := test.script
			if script == nil {
				script = modeltest.Always(modeltest.Say("unreachable"))
			}
			w := newWorld(t, options{script: script, loop: "retry_on_error = 0"})
			if test.config != "" {
				w.bot.kill()
				w.reconfigure(test.config)
				w.start()
			}
			w.say("hello?")
			messages := w.wait(func(messages []channeltest.SentMessage) bool { return len(messages) > 0 })
			said := strings.ToLower(transcript(messages))
			ok := false
			for _, word := range test.chat {
				ok = ok || strings.Contains(said, word)
			}
			if !ok {
				t.Errorf("the chat is told %s", said)
			}
			w.bot.waitLog(test.log)
			if strings.Contains(said+w.bot.log(), "canary") {
				t.Error("the key is shown")
			}
		})
	}
}

// reconfigure replaces the provider's table.
func (w *world) reconfigure(provider string) {
	w.t.Helper()
	file := filepath.Join(w.dir, "clawbot.toml")
	old, err := os.ReadFile(file)
	must(w.t, err)
	before, rest, _ := strings.Cut(string(old), "[providers.test]\n")
	_, after, _ := strings.Cut(rest, "[server]")
	must(w.t, os.WriteFile(file, []byte(before+"[providers.test]\n"+provider+"\n[server]"+after), 0o600))
}

func TestJunkIsSkippedAndTheNextMessageWorks(t *testing.T) {
	w := newWorld(t, options{script: modeltest.Always(modeltest.Say("fine"))})
	w.telegram.SendRaw(`{"message_reaction":{"chat":{"id":1,"type":"private"},"new_reaction":[{"type":"hologram"}]}}`)
	w.telegram.SendRaw(`{"brand_new_thing":{"a":[1,2,{"b":null}]}}`)
	w.telegram.SendRaw(`{"message":{"message_id":"not a number"}}`)
	w.telegram.SendRaw(`{"message":{"message_id":77,"date":1,"chat":{"id":1,"type":"private"},"from":{"id":1,"first_name":"Ana"},"text":"` + strings.Repeat(`\u0000\ufffd`, 40) + `"}}`)
	w.say(strings.Repeat("x", 1<<20))
	w.say("and now?")
	w.saying("fine")
	must(t, w.telegram.WaitConfirmed(w.ctx, w.say("once more").UpdateID))
}

func TestAStreamedReplyAppearsSoonAndKeepsToTheLimits(t *testing.T) {
	text := strings.TrimSpace(strings.Repeat("Thirty characters of an answer. ", 94))
	w := newWorld(t, options{rateLimits: true, script: modeltest.Always(modeltest.Turn{Text: text, Chunk: 30, Pace: 50 * time.Millisecond})})
	w.say("stream")
	messages := w.wait(func(messages []channeltest.SentMessage) bool {
		return len(messages) > 0 && messages[len(messages)-1].Text == text
	})
	history := messages[0].History
	if len(messages) != 1 || len(history) < 3 {
		t.Errorf("%d messages, %d states; want one message that grew", len(messages), len(history))
	}
	for i := 1; i < len(history)-1; i++ {
		if !strings.HasPrefix(text, strings.TrimRight(history[i].Text, " …")) {
			t.Errorf("state %d is no beginning of the answer: %q", i, history[i].Text)
		}
	}
	if refused := w.telegram.Refused(); refused > 0 {
		t.Errorf("%d calls were refused", refused)
	}
}

func TestStrangersAreHeldOffByTheAllowlist(t *testing.T) {
	w := newWorld(t, options{config: "dm_policy = \"allowlist\"\nallow_from = [7]\n", script: modeltest.Always(modeltest.Say("welcome"))})
	w.telegram.SendText(ben, ben, "let me in")
	w.waitIn(ben, func(messages []channeltest.SentMessage) bool { return len(messages) == 1 })
	w.telegram.SendText(ben, ben, "let me in again")
	w.telegram.SendText(7, 7, "hello")
	w.waitIn(7, func(messages []channeltest.SentMessage) bool {
		return len(messages) == 1 && messages[0].Text == "welcome"
	})
	w.say("hello")
	w.answer("welcome")
	if n := w.model.Count(); n != 2 {
		t.Errorf("%d model calls, want 2", n)
	}
	if got := w.telegram.Messages(ben); len(got) != 1 || strings.Contains(got[0].Text, "welcome") {
		t.Errorf("the stranger was told:\n%s", transcript(got))
	}
}

func TestRoomsAreAnsweredWhenTheBotIsMeant(t *testing.T) {
	w := newWorld(t, options{script: func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		return modeltest.Say(fmt.Sprintf("reply %d", req.Number))
	}})
	const room int64 = -1001
	w.telegram.SendText(room, ben, "the build is broken")
	w.telegram.SendText(room, ana, "🎉 hey @"+w.telegram.Username()+" what is broken?")
	w.waitIn(room, func(messages []channeltest.SentMessage) bool { return len(messages) == 1 })
	req := w.nextRequest()
	if !req.Mentions("the build is broken") || !req.Mentions("Ben") || !req.Mentions("what is broken?") {
		t.Errorf("the model is shown %+v", req.Messages)
	}
	w.telegram.SendText(room, ben, "never mind")
	w.telegram.SendText(room, ben, "/status@"+w.telegram.Username())
	w.waitIn(room, func(messages []channeltest.SentMessage) bool { return len(messages) == 2 })
	if n := w.model.Count(); n != 1 {
		t.Errorf("%d model calls, want 1", n)
	}
}

func TestConfigurationErrorsNameThePlaceAndTheRemedy(t *testing.T) {
	tests := []struct{ name, config, want string }{
		{"an unknown key", "[agent]\nmodle = \"demo/demo\"\n", `clawbot.toml:2:1`},
		{"the nearest key", "[agent]\nmodle = \"demo/demo\"\n", `model`},
		{"a missing variable", "[agent]\nmodel = \"anthropic/x\"\n[providers.anthropic]\napi_key = \"${NO_SUCH_KEY}\"\n", "NO_SUCH_KEY"},
		{"a wrong type", "[loop]\nmax_iterations = \"many\"\n", "clawbot.toml:2"},
		{"an open door", "[server]\nlisten = \"0.0.0.0:0\"\n", "CLAWBOT_TOKEN"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "clawbot.toml"), []byte(test.config), 0o600))
			cmd := exec.Command(binary, "run")
			cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir}
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), test.want) {
				t.Errorf("run said %v:\n%s\nwant %q", err, out, test.want)
			}
		})
	}
}

func TestChatAnswersOnStandardOutputAlone(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(binary, "chat", "-v", "-m", "read README.md and tell me its first heading")
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	must(t, err)
	readme, err := os.ReadFile(filepath.Join(dir, ".local/share/clawbot/workspace/README.md"))
	must(t, err)
	heading := strings.TrimPrefix(strings.SplitN(string(readme), "\n", 2)[0], "# ")
	if got := string(out); strings.Count(got, "\n") != 1 || !strings.Contains(got, heading) {
		t.Errorf("stdout is %q, want one line with %q", got, heading)
	}
	if !strings.Contains(stderr.String(), "turn 1 stop=toolUse tools=read_file in=") {
		t.Errorf("stderr is %q", stderr.String())
	}
}
