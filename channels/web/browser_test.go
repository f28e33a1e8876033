package web

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/server"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is for a loaded machine; nothing is expected to take long.
const patience = 30 * time.Second

// chromium starts the one browser of this test process, lazily.
var chromium = sync.OnceValues(func() (context.Context, error) {
	path := os.Getenv("CLAWBOT_CHROMIUM")
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		return nil, fmt.Errorf("the page is tested in a real Chromium, and none is installed: " +
			"apt-get install chromium (Debian), apk add chromium (Alpine), brew install --cask chromium (macOS), " +
			"or name one in CLAWBOT_CHROMIUM")
	}
	dir, err := os.MkdirTemp("", "clawbot-chromium-")
	if err != nil {
		return nil, err
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(dir), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("headless", "new"), chromedp.Flag("disable-component-update", true),
		chromedp.WindowSize(1280, 800))
	alloc, stopAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, stop := chromedp.NewContext(alloc)
	closeChromium = func() {
		_ = chromedp.Cancel(ctx) // it may be gone already
		stop()
		stopAlloc()
		_ = os.RemoveAll(dir) // in the system's temporary folder
	}
	return ctx, chromedp.Do(ctx)
})

var closeChromium = func() {}

// tab is a fresh browser profile that looks at the page of a bot.
type tab struct {
	*bot
	t    *testing.T
	ctx  context.Context
	base string

	mu       sync.Mutex
	problems []string // what the browser complained about
}

// browse serves the page as the program does, with the server's headers, and
// opens a tab.
func browse(t *testing.T) *tab {
	t.Helper()
	b, base := serveBot(t, server.Config{Listen: "127.0.0.1:0"})
	return openTab(t, b, base)
}

func serveBot(t *testing.T, cfg server.Config) (*bot, string) {
	t.Helper()
	b := newBot(t)
	var err error
	b.channel, err = New(Config{Transcripts: b, Info: func() Info {
		return Info{Name: "clawbot", Model: "demo/demo", Demo: true, Labels: map[string]string{"read_file": "Read file"}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := b.channel
	_ = c.RegisterCommands(t.Context(), []channels.Command{{Name: "stop", Description: "Stop what I am doing"}, {Name: "status", Description: "What I am doing"}})
	cfg.Pages = []channels.Handler{c}
	s, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = c.Receive(ctx, b) })
	wg.Go(func() {
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return b, strings.TrimSuffix(s.URL(), "/")
}

func openTab(t *testing.T, b *bot, base string) *tab {
	t.Helper()
	browser, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	p := &tab{bot: b, t: t, ctx: ctx, base: base}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	err = chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			p.complain(fmt.Sprintf("exception: %+v", ev.ExceptionDetails))
		case *cdplog.EventEntryAdded:
			if ev.Entry.Level == "error" && !strings.Contains(ev.Entry.Text, "net::ERR_") {
				p.complain(string(ev.Entry.Source) + ": " + ev.Entry.Text)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			short, stop := context.WithTimeout(ctx, 5*time.Second)
			html, _ := chromedp.Run(short, chromedp.Evaluate[string](`(document.querySelector("main")?.outerHTML ?? "").slice(0, 4000)`))
			stop()
			t.Log("the page at the end:\n" + html)
		}
		_ = chromedp.Cancel(ctx) // it may be gone already
		cancel()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, problem := range p.problems {
			t.Errorf("the browser complained: %s", problem)
		}
	})
	p.size(1280, 800, 1)
	return p
}

func (p *tab) complain(problem string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, problem)
}

// do makes the browser do something.
func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("the browser did not do it: %v", err)
	}
}

func (p *tab) open(path string) {
	p.t.Helper()
	p.do(chromedp.Navigate(p.base+path), chromedp.WaitVisible(chromedp.CSS("#box")))
}

// click presses the mouse in the middle of an element.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.until("there is "+selector, fmt.Sprintf("document.querySelector(%q)", selector))
	at := eval[[]float64](p, fmt.Sprintf(`(() => {
		const el = document.querySelector(%q);
		el.scrollIntoView({ block: "nearest" });
		const r = el.getBoundingClientRect();
		return [r.left + r.width / 2, r.top + r.height / 2];
	})()`, selector))
	p.do(chromedp.MouseClickXY(at[0], at[1]))
}

func (p *tab) focus(selector string) {
	p.t.Helper()
	p.until("there is "+selector, fmt.Sprintf("document.querySelector(%q)", selector))
	eval[bool](p, fmt.Sprintf("document.querySelector(%q).focus() ?? true", selector))
}

// until waits for a condition in JavaScript.
func (p *tab) until(what, condition string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	look := time.NewTicker(15 * time.Millisecond)
	defer look.Stop()
	for {
		// A navigation in between is an error, and passes.
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("Boolean("+condition+")"))
		if err == nil && ok {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			p.t.Fatalf("never happened: %s (%s): %v", what, condition, err)
		}
	}
}

func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

func (p *tab) expect(what, condition string) {
	p.t.Helper()
	if !eval[bool](p, "Boolean("+condition+")") {
		p.t.Errorf("not so: %s (%s)", what, condition)
	}
}

func (p *tab) keys(keys string, opts ...chromedp.KeyOption) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(keys, opts...))
}

// write types into the message box and sends.
func (p *tab) write(text string) {
	p.t.Helper()
	p.focus("#box")
	p.keys(text)
	p.keys(kb.Enter)
}

// conversation is the id in the address.
func (p *tab) conversation() string {
	p.t.Helper()
	p.until("the conversation has an address", `location.pathname.startsWith("/c/")`)
	return strings.TrimPrefix(eval[string](p, "location.pathname"), "/c/")
}

func (p *tab) size(width, height int64, scale float64) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(width, height, chromedp.EmulateScale(scale)))
}

func (p *tab) media(name, value string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: name, Value: value}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// shot keeps a picture in the folder CLAWBOT_SHOTS, if that is set.
func (p *tab) shot(name string) {
	p.t.Helper()
	dir := os.Getenv("CLAWBOT_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		p.t.Error(err)
	}
}
