package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"clawbot/channels/channeltest"
	"clawbot/internal/browsertest"
	"clawbot/internal/modeltest"
)

// binary is the path of the program under test.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(mcpMarker) != "" {
		os.Exit(mcpProgram())
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "clawbot-e2e")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		defer browsertest.Close()
		binary = filepath.Join(dir, "clawbot")
		args := append(append([]string{"build"}, buildFlags...), "-o", binary, "clawbot/cmd/clawbot")
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the binary: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// patience bounds how long a test waits for what should come at once.
const patience = 60 * time.Second

// world is a bot with its platform and its model.
type world struct {
	t        *testing.T
	ctx      context.Context
	dir      string // of the configuration, the database and the workspace
	telegram *channeltest.Telegram
	model    *modeltest.Server
	bot      *process
}

// options of a world. Config is appended to the configuration.
type options struct {
	format     string // of the model; default openai
	script     modeltest.Script
	config     string
	loop       string // lines of the [loop] table
	rateLimits bool
	env        []string
	files      map[string]string // beside the configuration
}

// ana is the bot's owner, ben a stranger.
const ana, ben int64 = 1, 2

func newWorld(t *testing.T, o options) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, dir: t.TempDir(),
		telegram: channeltest.NewTelegram(channeltest.TelegramConfig{RateLimits: o.rateLimits}),
		model:    modeltest.New(o.script),
	}
	t.Cleanup(w.model.Close)
	t.Cleanup(w.telegram.Close)
	w.telegram.SetPerson(ana, channeltest.Person{Name: "Ana"})
	w.telegram.SetPerson(ben, channeltest.Person{Name: "Ben"})
	format := o.format
	if format == "" {
		format = modeltest.OpenAI
	}
	base := w.model.URL()
	if format == modeltest.Mistral {
		base += "/mistral"
	}
	config := fmt.Sprintf(`[agent]
model = "test/scripted-1"
[loop]
%s
[providers.test]
format = %q
base_url = %q
api_key = "sk-test-canary-0123456789"
[server]
listen = "127.0.0.1:0"
[access]
owners = ["telegram:%d"]
dm_policy = "open"
[channels.telegram]
token = %q
api_url = %q
%s
`, o.loop, format, base, ana, w.telegram.Token(), w.telegram.URL(), o.config)
	must(t, os.WriteFile(filepath.Join(w.dir, "clawbot.toml"), []byte(config), 0o600))
	install(t, w.dir, o.files)
	w.start(o.env...)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start runs the bot and waits until it polls.
func (w *world) start(env ...string) {
	w.t.Helper()
	w.bot = startProcess(w.t, w.dir, env, "run", "--config", filepath.Join(w.dir, "clawbot.toml"))
	if err := w.telegram.WaitPoll(w.ctx); err != nil {
		w.t.Fatalf("the bot does not poll: %v\n%s", err, w.bot.log())
	}
}

func (w *world) workspace(name string) string { return filepath.Join(w.dir, "workspace", name) }

// say has ana write in private.
func (w *world) say(text string) channeltest.Delivered { return w.telegram.SendText(ana, ana, text) }

// wait returns the bot's messages in ana's chat once cond holds.
func (w *world) wait(cond func([]channeltest.SentMessage) bool) []channeltest.SentMessage {
	w.t.Helper()
	return w.waitIn(ana, cond)
}

func (w *world) waitIn(chat int64, cond func([]channeltest.SentMessage) bool) []channeltest.SentMessage {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	messages, err := w.telegram.Wait(ctx, chat, cond)
	if err != nil {
		w.t.Fatalf("%v; the chat has:\n%s\nthe model was asked %d times; the bot's log:\n%s",
			err, transcript(w.telegram.Messages(chat)), w.model.Count(), w.bot.log())
	}
	return messages
}

// answer waits for a message of the bot that reads text.
func (w *world) answer(text string) {
	w.t.Helper()
	w.wait(func(messages []channeltest.SentMessage) bool {
		for _, m := range messages {
			if m.Text == text {
				return true
			}
		}
		return false
	})
}

// saying waits for a message of the bot that contains text and returns it.
func (w *world) saying(text string) string {
	w.t.Helper()
	var found string
	w.wait(func(messages []channeltest.SentMessage) bool {
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

func (w *world) nextRequest() *modeltest.Request {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	req, err := w.model.WaitRequest(ctx)
	if err != nil {
		w.t.Fatalf("the model is not asked: %v\n%s", err, w.bot.log())
	}
	return req
}

func transcript(messages []channeltest.SentMessage) string {
	var out strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&out, "  %d: %.300q\n", m.ID, m.Text)
	}
	return out.String()
}

// process is a running clawbot.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed when more is printed
	done chan struct{}
	err  error
	url  chan string // the page's address, once it is known
}

var pageAddress = regexp.MustCompile(`\bweb\s+on\s+(http://\S+)`)

func startProcess(t *testing.T, dir string, env []string, args ...string) *process {
	t.Helper()
	return startProgram(t, binary, dir, env, args...)
}

func startProgram(t *testing.T, program, dir string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(program, args...), done: make(chan struct{}), more: make(chan struct{}), url: make(chan string, 1)}
	p.cmd.Dir = dir
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_DATA_HOME=" + dir}, env...)
	out, in, err := os.Pipe()
	must(t, err)
	p.cmd.Stdout, p.cmd.Stderr = in, in
	must(t, p.cmd.Start())
	must(t, in.Close())
	go p.read(out)
	t.Cleanup(p.kill)
	return p
}

// read collects what the process prints until it has ended.
func (p *process) read(out *os.File) {
	defer close(p.done)
	defer out.Close()
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadString('\n')
		p.mu.Lock()
		p.text.WriteString(line)
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
		if m := pageAddress.FindStringSubmatch(line); m != nil {
			select {
			case p.url <- m[1]:
			default:
			}
		}
		if err != nil {
			break
		}
	}
	p.err = p.cmd.Wait()
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// waitLog waits until the process has printed text.
func (p *process) waitLog(text string) {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		p.mu.Lock()
		found, more := strings.Contains(p.text.String(), text), p.more
		p.mu.Unlock()
		if found {
			return
		}
		select {
		case <-more:
		case <-deadline:
			p.t.Fatalf("%q is not printed:\n%s", text, p.log())
		}
	}
}

// kill ends the process as a power cut would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// stop asks the process to end and returns how it did.
func (p *process) stop() error {
	p.t.Helper()
	must(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.done:
		return p.err
	case <-time.After(patience):
		p.kill()
		return fmt.Errorf("still running %s after SIGTERM", patience)
	}
}

// page returns the address of the bot's page.
func (p *process) page() string {
	p.t.Helper()
	select {
	case url := <-p.url:
		p.url <- url
		return strings.TrimSuffix(url, "/")
	case <-time.After(patience):
		p.t.Fatalf("no page address in:\n%s", p.log())
		return ""
	}
}

// get fetches a path of the page.
func (p *process) get(path string) (int, string) {
	p.t.Helper()
	resp, err := http.Get(p.page() + path)
	must(p.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(p.t, err)
	return resp.StatusCode, string(body)
}
