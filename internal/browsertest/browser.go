// Package browsertest drives a real Chromium in tests: one browser for the test
// process, a fresh profile for each [Tab].
package browsertest

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

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is for a loaded machine; nothing is expected to take long.
const patience = 2 * time.Minute

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
	closeBrowser = func() {
		_ = chromedp.Cancel(ctx) // it may be gone already
		stop()
		stopAlloc()
		_ = os.RemoveAll(dir) // in the system's temporary folder
	}
	return ctx, chromedp.Do(ctx)
})

var closeBrowser = func() {}

// Close ends the browser, if one was started. Call it from TestMain.
func Close() { closeBrowser() }

// Tab is a fresh browser profile. Whatever its pages complain about fails the
// test. Its methods fail the test when the browser does not do what they ask.
type Tab struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu       sync.Mutex
	problems []string // what the browser complained about
}

// Open opens a tab, 1280 × 800, that visits the pages below base.
func Open(t *testing.T, base string) *Tab {
	t.Helper()
	browser, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	p := &Tab{t: t, ctx: ctx, base: base}
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
	p.Size(1280, 800, 1)
	return p
}

func (p *Tab) complain(problem string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, problem)
}

// Do makes the browser do something.
// Do runs steps of chromedp.
func (p *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("the browser did not do it: %v", err)
	}
}

// Open visits a path and waits for the message box.
func (p *Tab) Open(path string) {
	p.t.Helper()
	p.Do(chromedp.Navigate(p.base+path), chromedp.WaitVisible(chromedp.CSS("#box")))
}

// Visit visits a path.
func (p *Tab) Visit(path string) {
	p.t.Helper()
	p.Do(chromedp.Navigate(p.base + path))
}

// Click presses the mouse in the middle of an element.
func (p *Tab) Click(selector string) {
	p.t.Helper()
	p.Until("there is "+selector, fmt.Sprintf("document.querySelector(%q)", selector))
	at := Eval[[]float64](p, fmt.Sprintf(`(() => {
		const el = document.querySelector(%q);
		el.scrollIntoView({ block: "nearest" });
		const r = el.getBoundingClientRect();
		return [r.left + r.width / 2, r.top + r.height / 2];
	})()`, selector))
	p.Do(chromedp.MouseClickXY(at[0], at[1]))
}

// Focus gives an element the keyboard.
func (p *Tab) Focus(selector string) {
	p.t.Helper()
	p.Until("there is "+selector, fmt.Sprintf("document.querySelector(%q)", selector))
	Eval[bool](p, fmt.Sprintf("document.querySelector(%q).focus() ?? true", selector))
}

// Until waits for a condition in JavaScript.
func (p *Tab) Until(what, condition string) {
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

// Eval evaluates JavaScript in the page, promises awaited.
func Eval[T any](p *Tab, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Expect fails the test if a condition in JavaScript does not hold now.
func (p *Tab) Expect(what, condition string) {
	p.t.Helper()
	if !Eval[bool](p, "Boolean("+condition+")") {
		p.t.Errorf("not so: %s (%s)", what, condition)
	}
}

// Keys presses keys.
func (p *Tab) Keys(keys string, opts ...chromedp.KeyOption) {
	p.t.Helper()
	p.Do(chromedp.KeyEvent(keys, opts...))
}

// Write types into the message box and sends.
func (p *Tab) Write(text string) {
	p.t.Helper()
	p.Focus("#box")
	p.Keys(text)
	p.Keys(kb.Enter)
}

// Conversation is the id in the address.
func (p *Tab) Conversation() string {
	p.t.Helper()
	p.Until("the conversation has an address", `location.pathname.startsWith("/c/")`)
	return strings.TrimPrefix(Eval[string](p, "location.pathname"), "/c/")
}

// Size changes the window.
func (p *Tab) Size(width, height int64, scale float64) {
	p.t.Helper()
	p.Do(chromedp.EmulateViewport(width, height, chromedp.EmulateScale(scale)))
}

// Media sets a CSS media feature.
func (p *Tab) Media(name, value string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: name, Value: value}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// Shot keeps a picture in the folder CLAWBOT_SHOTS, if that is set.
func (p *Tab) Shot(name string) {
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

// Base is the address below which the tab visits pages.
func (p *Tab) Base() string { return p.base }

// Context is the tab's, for chromedp.
func (p *Tab) Context() context.Context { return p.ctx }

// Forgive forgets what the browser complained about so far.
func (p *Tab) Forgive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = nil
}
