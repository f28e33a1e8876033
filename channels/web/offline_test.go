package web

import (
	"clawbot/internal/browsertest"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"clawbot/agentcore"
	"clawbot/server"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// gate is a network between browser and bot that can be cut.
type gate struct {
	net.Listener
	to    string
	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

func newGate(t *testing.T, to string) *gate {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Listener: l, to: to, conns: map[net.Conn]bool{}}
	g.wg.Go(g.serve)
	t.Cleanup(func() {
		g.set(true)
		_ = l.Close()
		g.wg.Wait()
	})
	return g
}

func (g *gate) serve() {
	for {
		in, err := g.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", g.to)
		g.mu.Lock()
		if g.cut || err != nil {
			_ = in.Close()
			if out != nil {
				_ = out.Close()
			}
			g.mu.Unlock()
			continue
		}
		g.conns[in], g.conns[out] = true, true
		g.mu.Unlock()
		for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
			g.wg.Go(func() {
				_, _ = io.Copy(way[0], way[1])
				_ = way[0].Close()
				_ = way[1].Close()
			})
		}
	}
}

func (g *gate) set(cut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cut = cut
	for c := range g.conns {
		if cut {
			_ = c.Close()
		}
		delete(g.conns, c)
	}
}

func TestALostConnectionLosesNoText(t *testing.T) {
	b, base := serveBot(t, server.Config{Listen: "127.0.0.1:0"})
	g := newGate(t, strings.TrimPrefix(base, "http://"))
	p := openTab(t, b, "http://"+g.Addr().String())
	p.Open("/")
	p.Write("hello")
	c := p.Conversation()
	p.took(c, p.next(0))
	p.start(c)
	p.says(c, "one ")
	p.Until("streaming", `document.querySelector(".open .md")?.textContent === "one"`)
	g.set(true)
	p.Until("it says that it is offline", `document.getElementById("link").dataset.state === "offline" && !document.getElementById("offline").hidden`)
	p.Shot("offline")
	p.says(c, "two ")
	p.Write("written while away")
	p.Until("the message waits", `document.querySelector('.waits[data-state="sending"] .bubble-note')?.textContent.startsWith("Not sent yet")`)
	p.Focus("#box")
	p.Keys("half a thou")
	if len(p.accepted) != 1 {
		t.Fatalf("%d accepted", len(p.accepted))
	}
	g.set(false)
	if in := p.next(1); in.Text != "written while away" {
		t.Errorf("sent %q", in.Text)
	}
	p.says(c, "three")
	p.Until("what was missed is there", `document.querySelector(".open .md").textContent === "one two three"`)
	p.Until("connected", `document.getElementById("link").dataset.state === "open" && document.getElementById("offline").hidden`)
	p.Do(chromedp.Reload())
	p.Until("the draft survives a reload", `document.getElementById("box")?.value === "half a thou"`)
	if n := len(p.accepted); n != 2 {
		t.Errorf("%d messages were accepted, want 2: none twice", n)
	}
}

func TestAMessageWrittenOfflineSurvivesAReload(t *testing.T) {
	b, base := serveBot(t, server.Config{Listen: "127.0.0.1:0"})
	b.refuse = fmt.Errorf("the store is away")
	p := openTab(t, b, base)
	p.Open("/")
	p.Write("keep me")
	c := p.Conversation()
	p.Until("it waits and says why", `document.querySelector(".bubble-note")?.textContent.includes("the store is away")`)
	p.Do(chromedp.Reload())
	p.Until("still there", `document.querySelector(".waits .bubble")?.textContent === "keep me"`)
	b.mu.Lock()
	b.refuse = nil
	b.mu.Unlock()
	if in := p.next(0); in.Text != "keep me" || in.Target.Chat != c {
		t.Errorf("sent %+v", in)
	}
	p.Forgive() // the browser reports each 503
}

func TestAMessageThatIsRefusedCanBeEdited(t *testing.T) {
	p := browse(t)
	p.Open("/")
	p.Until("ready", `document.querySelector("#model").textContent`)
	browsertest.Eval[bool](p.Tab, `(document.getElementById("box").value = "x".repeat(300000), document.getElementById("box").dispatchEvent(new Event("input")), true)`)
	p.Focus("#box")
	p.Keys(kb.Enter)
	p.Until("the page says how large it may be", `document.querySelector(".hint.bad")?.textContent.includes("256 kB")`)
	p.Expect("and keeps it", `document.getElementById("box").value.length === 300000`)
}

func TestAMessageThatIsNeverAnsweredDoesNotWaitForEver(t *testing.T) {
	p := browse(t)
	p.Open("/")
	p.Write("from somebody who may not speak")
	p.next(0)
	p.Do(chromedp.Reload())
	p.Until("it stands there as said", `document.querySelector(".entries .said") && !document.querySelector(".waits")`)
}

func TestLiveEventsThatAreLostAreMadeUpForFromTheTranscript(t *testing.T) {
	p := browse(t)
	p.Open("/")
	p.Write("hello")
	c := p.Conversation()
	in := p.next(0)
	p.mu2(func() { p.deaf = true })
	p.took(c, in)
	p.start(c)
	p.says(c, "lost ")
	p.mu2(func() { p.deaf = false })
	p.says(c, "words")
	p.finish(c, text(agentcore.RoleAssistant, "lost words"))
	p.Until("the message is whole", `document.querySelector(".entries .md")?.textContent === "lost words"`)
	p.Expect("after the question", `document.querySelector(".entries > :first-child").dataset.kind === "user"`)
	p.mu2(func() { p.deaf = true })
	p.finish(c, text(agentcore.RoleAssistant, "unheard"))
	p.end(c, "")
	p.Until("even without a word the end comes", `document.getElementById("stop").hidden && document.querySelector(".entries").textContent.includes("unheard")`)
}

// mu2 runs fn under the bot's lock.
func (b *bot) mu2(fn func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fn()
}
