package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/internal/browsertest"
	"clawbot/server"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestAKeyboardAloneDoesEverything(t *testing.T) {
	p := browse(t)
	p.add("old", EntryUser, userText("An older question"), "")
	p.Open("/")
	p.Until("ready", `document.querySelectorAll("#list li").length === 1 && document.querySelector(".examples button") && document.querySelector("#model").textContent`)
	// Tab reaches everything, in reading order, and shows where it is.
	browsertest.Eval[bool](p.Tab, `(document.activeElement.blur(), true)`)
	var reached []string
	for range 14 {
		p.Keys(kb.Tab)
		reached = append(reached, browsertest.Eval[string](p.Tab, `document.activeElement.id || document.activeElement.className || document.activeElement.textContent.slice(0, 12)`))
		p.Expect("the focus is visible at "+reached[len(reached)-1], `(() => {
			const s = getComputedStyle(document.activeElement), b = getComputedStyle(document.activeElement.parentElement);
			return document.activeElement === document.body || s.outlineStyle !== "none" || b.boxShadow !== "none";
		})()`)
	}
	got := strings.Join(reached, " ")
	for _, want := range []string{"skip", "home", "theme", "new", "search", "An older qu", "thread", "Use a tool", "box"} {
		if !strings.Contains(got, want) {
			t.Errorf("Tab does not reach %q: %s", want, got)
		}
	}
	// Search by Control+K, the list by arrows, a conversation by Enter.
	p.Keys("k", chromedp.KeyModifiers(2))
	p.Expect("search has the focus", `document.activeElement.id === "search"`)
	p.Keys("older")
	p.Keys(kb.ArrowDown)
	p.Keys(kb.Enter)
	p.Until("the conversation is open", `location.pathname === "/c/old" && document.querySelector(".entries .said")`)
	// Alt+N begins a new one, Enter in an example sends it.
	p.Keys("n", chromedp.KeyModifiers(1))
	p.Until("a new one", `location.pathname === "/" && document.activeElement.id === "box" && document.querySelector(".examples button")`)
	p.Focus(".examples button")
	p.Keys(kb.Enter)
	c := p.Conversation()
	in := p.next(0)
	p.took(c, in)
	p.start(c)
	p.finish(c, calling("", call("t", "exec", `{"command":"ls"}`)))
	p.tool(c, "tool_start", channels.LiveCall{ID: "t", Name: "exec"})
	p.Until("the tool is there", `document.querySelector(".entries .tool summary")`)
	p.Focus(".tool summary")
	p.Keys(" ")
	p.Until("it unfolds by the space bar", `document.querySelector(".tool").open`)
	p.Focus("#box")
	p.Keys("/st")
	p.Until("commands are offered", `!document.getElementById("commands").hidden`)
	p.Keys(kb.ArrowDown)
	p.Keys(kb.Tab)
	p.Expect("Tab completes the chosen one", `document.getElementById("box").value === "/status"`)
	p.Keys(kb.Enter)
	if in := p.next(1); in.Text != "/status" {
		t.Errorf("sent %q", in.Text)
	}
	p.Focus("#box")
	p.Keys(kb.Tab)
	p.Expect("stop is next to the box", `document.activeElement.id === "stop"`)
	p.Keys(kb.Enter)
	if in := p.next(2); in.Text != "/stop" {
		t.Errorf("sent %q", in.Text)
	}
}

func TestShiftEnterStartsALineAndAnInputMethodKeepsItsEnter(t *testing.T) {
	p := browse(t)
	p.Open("/")
	p.Focus("#box")
	p.Keys("one")
	p.Keys(kb.Enter, chromedp.KeyModifiers(8))
	p.Keys("two")
	p.Expect("two lines", `document.getElementById("box").value === "one\ntwo"`)
	browsertest.Eval[bool](p.Tab, `document.getElementById("box").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true, cancelable: true }))`)
	p.Keys(kb.Enter)
	if in := p.next(0); in.Text != "one\ntwo" {
		t.Errorf("sent %q", in.Text)
	}
}

func TestColoursFollowTheSystemAndASwitch(t *testing.T) {
	p := browse(t)
	ground := `getComputedStyle(document.body).backgroundColor`
	p.Media("prefers-color-scheme", "dark")
	p.Open("/")
	dark := browsertest.Eval[string](p.Tab, ground)
	p.Media("prefers-color-scheme", "light")
	light := browsertest.Eval[string](p.Tab, ground)
	if dark == light {
		t.Fatalf("light and dark are both %s", dark)
	}
	p.Click("#theme") // light
	p.Click("#theme") // dark
	if got := browsertest.Eval[string](p.Tab, ground); got != dark {
		t.Errorf("switched to dark it is %s, want %s", got, dark)
	}
	p.Do(chromedp.Reload())
	p.Until("the choice is kept", fmt.Sprintf("%s === %q", ground, dark))
	p.Click("#theme")
	p.Expect("and given back to the system", fmt.Sprintf("%s === %q", ground, light))
}

// contrast computes WCAG contrast of every visible text against what is behind
// it, and returns what is below AA.
const contrast = `(() => {
	const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const rgb = (color) => { context.clearRect(0, 0, 1, 1); context.fillStyle = color; context.fillRect(0, 0, 1, 1); return [...context.getImageData(0, 0, 1, 1).data]; };
	const lum = ([r, g, b]) => { const f = (c) => ((c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4); return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
	const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; } return [255, 255, 255]; };
	const bad = [];
	for (const e of document.querySelectorAll("body *")) {
		if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility() || e.closest(".unseen, .skip, :disabled")) continue;
		const a = lum(rgb(getComputedStyle(e).color)), b = lum(behind(e));
		const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (ratio < 4.5) bad.push(e.tagName + "." + e.className + " " + ratio.toFixed(2));
	}
	return bad;
})()`

func TestEveryTextCanBeReadAndEveryControlHasAName(t *testing.T) {
	for _, scheme := range []string{"light", "dark"} {
		p := browse(t)
		p.Media("prefers-color-scheme", scheme)
		p.Open("/")
		p.Until("ready", `document.querySelector("#model").textContent`)
		check := func(state string) {
			if bad := browsertest.Eval[[]string](p.Tab, contrast); len(bad) > 0 {
				t.Errorf("%s, %s: contrast below 4.5: %v", scheme, state, bad)
			}
			nameless := browsertest.Eval[[]string](p.Tab, `[...document.querySelectorAll("button, a, input, textarea, summary, [role]")].filter((e) => e.checkVisibility() &&
				!(e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.length || e.title) && e.getAttribute("role") !== "status").map((e) => e.outerHTML.slice(0, 80))`)
			if len(nameless) > 0 {
				t.Errorf("%s, %s: controls without a name: %v", scheme, state, nameless)
			}
			twice := browsertest.Eval[[]string](p.Tab, `[...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i)`)
			if len(twice) > 0 {
				t.Errorf("%s, %s: ids used twice: %v", scheme, state, twice)
			}
		}
		check("empty")
		drawRun(p, check)
	}
}

func TestWithReducedMotionNothingMoves(t *testing.T) {
	p := browse(t)
	p.Media("prefers-reduced-motion", "reduce")
	p.Open("/")
	p.Write("go")
	c := p.Conversation()
	p.took(c, p.next(0))
	p.start(c)
	p.Until("working", `document.querySelector(".status:not([hidden])")`)
	p.Expect("nothing is animated", `document.getAnimations().length === 0`)
}

func TestALongTranscriptOpensAtOnceAndOlderEntriesComeOnScrolling(t *testing.T) {
	p := browse(t)
	for i := range 2500 {
		p.add("long", EntryUser, userText(fmt.Sprint("Question ", i)), "")
		p.add("long", EntryAssistant, text(agentcore.RoleAssistant, fmt.Sprint("Answer ", i, "\n\n", sampleAnswer)), "")
	}
	p.Open("/")
	took := browsertest.Eval[float64](p.Tab, `(async () => {
		const at = performance.now();
		history.pushState(null, "", "/c/long");
		dispatchEvent(new PopStateEvent("popstate"));
		while (!document.querySelector(".entries")?.textContent.includes("Answer 2499")) await new Promise(requestAnimationFrame);
		return performance.now() - at;
	})()`)
	t.Logf("5,000 entries open in %.0f ms", took)
	p.Expect("only the end is drawn", `document.querySelector(".entries").childElementCount <= 120`)
	p.Until("it stands at the end", `document.getElementById("thread").scrollTop + document.getElementById("thread").clientHeight >= document.getElementById("thread").scrollHeight - 2`)
	first := browsertest.Eval[string](p.Tab, `document.querySelector(".entries > *").dataset.position`)
	browsertest.Eval[bool](p.Tab, `(document.getElementById("thread").scrollTop = 500, true)`)
	p.Until("older entries come", fmt.Sprintf(`Number(document.querySelector(".entries > *").dataset.position) < %s`, first))
	p.Expect("what was looked at stays", `document.getElementById("thread").scrollTop > 900`)
	p.Expect("in order, without gaps", `[...document.querySelectorAll(".entries > *")].every((e, i, all) => !i || Number(e.dataset.position) === Number(all[i - 1].dataset.position) + 1)`)
	p.Until("a pill leads back", `!document.getElementById("latest").hidden`)
	p.Click("#latest")
	p.Until("to the end", `document.getElementById("latest").hidden && document.getElementById("thread").scrollTop + document.getElementById("thread").clientHeight >= document.getElementById("thread").scrollHeight - 2`)
}

func TestScrollingUpStopsFollowing(t *testing.T) {
	p := browse(t)
	p.add("c", EntryUser, userText("go"), "")
	p.add("c", EntryAssistant, text(agentcore.RoleAssistant, sampleAnswer+"\n\n"+sampleAnswer), "")
	p.Open("/c/c")
	p.Until("loaded", `document.querySelector(".entries .table")`)
	p.start("c")
	p.says("c", "first")
	p.Until("streaming", `document.querySelector(".open .md")`)
	at := `document.getElementById("thread").scrollTop`
	end := `Math.abs(document.getElementById("thread").scrollHeight - document.getElementById("thread").clientHeight - document.getElementById("thread").scrollTop) < 2`
	p.Until("following", end)
	for i := range 40 {
		p.says("c", fmt.Sprint("\n\nline ", i))
	}
	p.Until("it follows the text", `document.querySelector(".open .md").textContent.includes("line 39") && `+end)
	browsertest.Eval[bool](p.Tab, `(document.getElementById("thread").scrollTop -= 300, true)`)
	p.Until("the pill shows", `!document.getElementById("latest").hidden`)
	was := browsertest.Eval[float64](p.Tab, at)
	p.says("c", "\n\nmore")
	p.Until("text goes on below", `document.querySelector(".open .md").textContent.includes("more")`)
	if now := browsertest.Eval[float64](p.Tab, at); now != was {
		t.Errorf("the page moved from %v to %v while somebody read", was, now)
	}
	p.Click("#latest")
	p.Until("back at the end", end)
}

func TestALongLiveRunDoesNotGrowThePageWithoutBound(t *testing.T) {
	p := browse(t)
	p.add("c", EntryUser, userText("go"), "")
	p.Open("/c/c")
	p.Until("loaded", `document.querySelector(".entries .said")`)
	p.start("c")
	for i := range 700 {
		p.finish("c", text(agentcore.RoleAssistant, fmt.Sprint("step ", i)))
		if i%7 == 0 {
			in := channels.Inbound{Text: fmt.Sprint("q", i), EventID: fmt.Sprint("web:c:q", i)}
			p.took("c", in)
		}
	}
	p.Until("all is there", `document.querySelector(".entries").textContent.includes("step 699")`)
	if n := browsertest.Eval[int](p.Tab, `document.querySelector(".entries").childElementCount`); n > trimLimit {
		t.Errorf("%d entries are drawn", n)
	}
}

const trimLimit = 460

func TestADeltaCostsTheSameHoweverLongTheMessageIs(t *testing.T) {
	p := browse(t)
	p.Open("/")
	// Nodes made per delta do not grow with what is already there.
	for name, unit := range map[string]string{"paragraphs": `"A paragraph with **bold** words.\n\n"`, "items": `"- an item\n"`, "code": `i ? "a line of code\n" : "` + "```\\n" + `"`} {
		made := browsertest.Eval[[]int](p.Tab, `import("/assets/markdown.js").then(({ Writer }) => {
			const el = document.createElement("div"), w = new Writer(el), made = [];
			let n = 0;
			const create = document.createElement, text = document.createTextNode;
			document.createElement = function (...a) { n++; return create.apply(this, a); };
			for (let i = 0; i < 2000; i++) {
				n = 0;
				w.add(`+unit+`);
				if (i === 20 || i === 1999) made.push(n);
			}
			document.createElement = create;
			return made;
		})`)
		if made[1] > made[0] {
			t.Errorf("%s: a delta makes %d nodes at the beginning and %d at the end", name, made[0], made[1])
		}
	}
}

func TestNoticesAndTheirButtonsWork(t *testing.T) {
	p := browse(t)
	p.add("c", EntryUser, userText("go"), "")
	p.Open("/c/c")
	p.Until("connected", `document.getElementById("link").dataset.state === "open" && document.querySelector(".entries .said")`)
	to := channels.Target{Conversation: "web:c", Chat: "c"}
	id, err := p.channel.Post(context.Background(), to, channels.Outgoing{Markdown: "May I run `ls`?", Buttons: [][]channels.Button{{{Label: "Approve", Data: "ok:1", Style: "primary"}, {Label: "Deny", Data: "no:1"}}}})
	if err != nil {
		t.Fatal(err)
	}
	p.Until("the notice is there", `document.querySelectorAll(".notice .button").length === 2`)
	p.Shot("notice")
	p.Click(".notice .button.primary")
	if in := p.next(0); in.Kind != channels.Click || in.Text != "ok:1" || in.MessageID != id {
		t.Errorf("clicked %+v", in)
	}
	if err := p.channel.Edit(context.Background(), to, id, channels.Outgoing{Markdown: "Approved."}); err != nil {
		t.Fatal(err)
	}
	p.Until("it is edited in place", `document.querySelectorAll(".notice").length === 1 && document.querySelector(".notice").textContent === "Approved."`)
}

func TestASecondTabSeesTheSameConversation(t *testing.T) {
	p := browse(t)
	p.Open("/")
	p.Write("from the first")
	c := p.Conversation()
	q := openTab(t, p.bot, p.Base())
	p.took(c, p.next(0))
	q.Open("/c/" + c)
	q.Until("loaded", `document.querySelector(".entries .said") && document.getElementById("link").dataset.state === "open"`)
	m := userText("written in the first")
	m.ID, m.Time = "01", time.Now()
	p.accepts(c, m)
	q.Until("the second sees what waits", `document.querySelector(".waits .bubble")?.textContent === "written in the first"`)
	p.add(c, EntryUser, m, "web:"+c+":other")
	p.start(c)
	p.says(c, "for both")
	q.Until("and that it was taken", `document.querySelectorAll(".entries .said").length === 2 && !document.querySelector(".waits")`)
	for _, tab := range []*tab{p, q} {
		tab.Until("both see the text", `document.querySelector(".open .md")?.textContent === "for both"`)
	}
}

func TestSigningInLeadsBackToTheConversation(t *testing.T) {
	b, base := serveBot(t, server.Config{Listen: "127.0.0.1:0", Tokens: []string{"correct horse battery"}})
	b.add("mine", EntryUser, userText("a question"), "")
	p := openTab(t, b, base)
	p.Do(chromedp.Navigate(base + "/c/mine"))
	p.Until("the form", `document.getElementById("token")`)
	p.Shot("login")
	p.Focus("#token")
	p.Keys("wrong")
	p.Keys(kb.Enter)
	p.Until("it says that this is wrong", `document.querySelector(".problem")`)
	p.Shot("login-wrong")
	p.Focus("#token")
	p.Keys("correct horse battery")
	p.Keys(kb.Enter)
	p.Until("back at the conversation", `location.pathname === "/c/mine" && document.querySelector(".entries .said")`)
	p.Expect("no script can read the session", `document.cookie === ""`)

	// A link on another site leads in, although the cookie is strict.
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<!doctype html><a id="link" href="%s/c/mine">see</a>`, base)
	}))
	t.Cleanup(other.Close)
	p.Do(chromedp.Navigate(strings.Replace(other.URL, "127.0.0.1", "localhost", 1)))
	p.Click("#link")
	p.Until("in by a link", `location.pathname === "/c/mine" && document.querySelector(".entries .said")`)
	p.Forgive() // the browser reports the 401
}

func TestTheFirstPaintIsQuick(t *testing.T) {
	p := browse(t)
	p.Open("/")
	p.Open("/")
	paint := browsertest.Eval[float64](p.Tab, `new Promise((done) => new PerformanceObserver((list) => done(list.getEntries()[0].startTime)).observe({ type: "paint", buffered: true }))`)
	t.Logf("first paint after %.0f ms", paint)
	if paint <= 0 || time.Duration(paint)*time.Millisecond > patience {
		t.Errorf("no first paint: %v", paint)
	}
}
