package web

import (
	"testing"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/internal/browsertest"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestAPersonChatsSeesAToolRunSteersAndReloads(t *testing.T) {
	p := browse(t)
	p.Open("/")
	p.Until("examples are offered", `document.querySelectorAll(".examples button").length === 3`)
	p.Write("Read README.md and tell me its first heading")
	c := p.Conversation()
	in := p.next(0)
	if in.Text != "Read README.md and tell me its first heading" || in.Target.Chat != c {
		t.Fatalf("accepted %+v", in)
	}
	p.took(c, in)
	p.start(c)
	p.Until("the message is settled", `document.querySelector(".entries .said") && !document.querySelector(".waits")`)
	p.says(c, "Let me ")
	p.says(c, "look.")
	p.Until("text streams", `document.querySelector(".open .md")?.textContent === "Let me look."`)
	p.Expect("stop stands where send was", `!document.getElementById("stop").hidden && document.getElementById("send").hidden`)

	p.finish(c, calling("Let me look.", call("t1", "read_file", `{"path":"README.md"}`)))
	p.tool(c, "tool_start", channels.LiveCall{ID: "t1", Name: "read_file", Arguments: []byte(`{"path":"README.md"}`)})
	p.Until("the tool runs", `document.querySelector('.tool[data-state="running"] .tool-arg')?.textContent === "README.md"`)
	p.Expect("the tool has its label", `document.querySelector(".tool-name").textContent === "Read file"`)
	p.Until("the status names it", `document.querySelector(".status-text").textContent.startsWith("Running Read file")`)

	p.Write("In French, please")
	steer := p.next(1)
	p.Until("it is said when it will arrive", `document.querySelector(".waits .bubble-note").textContent === "Will reach the agent after this step"`)
	p.Expect("the box is open and empty", `document.activeElement.id === "box" && document.activeElement.value === ""`)

	p.tool(c, "tool_end", channels.LiveCall{ID: "t1", Name: "read_file", Output: "# clawbot\n", MS: 300})
	p.result(c, "t1", "read_file", "# clawbot\n", false)
	p.took(c, steer)
	p.says(c, "Le premier titre est **clawbot**")
	p.Until("the steering message moves above the answer", `document.querySelectorAll(".entries .said").length === 2 && !document.querySelector(".waits")`)
	p.Until("unfinished Markdown reads well", `document.querySelector(".open strong")?.textContent === "clawbot"`)
	p.says(c, ".")
	p.finish(c, text(agentcore.RoleAssistant, "Le premier titre est **clawbot**."))
	p.end(c, "")
	p.Until("the run has ended", `document.getElementById("stop").hidden && document.querySelector(".status").hidden`)
	p.Expect("the tool is done", `document.querySelector('.tool[data-state="done"] .tool-time').textContent === "300 ms"`)
	p.Expect("nothing is drawn twice", `document.querySelectorAll(".md").length === 2 && document.querySelectorAll(".tool").length === 1`)
	order := `[...document.querySelectorAll(".entries > *")].map((e) => e.dataset.kind).join()`
	want := "user,assistant,user,assistant"
	if got := browsertest.Eval[string](p.Tab, order); got != want {
		t.Errorf("the thread is %s, want %s", got, want)
	}

	p.Do(chromedp.Reload())
	p.Until("the history is back", `document.querySelectorAll(".entries > *").length === 4`)
	if got := browsertest.Eval[string](p.Tab, order); got != want {
		t.Errorf("after a reload the thread is %s, want %s", got, want)
	}
	p.Until("the conversation is listed", `document.querySelector('#list a[aria-current] .item-title')?.textContent.startsWith("Read README.md")`)
	p.Click(".tool summary")
	p.Until("the tool unfolds", `document.querySelector(".tool-body pre:last-of-type").textContent === "# clawbot\n"`)
}

func TestAReloadInTheMiddleOfARunShowsWhatWasSaidAndGoesOn(t *testing.T) {
	p := browse(t)
	p.Open("/")
	p.Write("count")
	c := p.Conversation()
	p.took(c, p.next(0))
	p.start(c)
	p.says(c, "one, two, ")
	p.Until("text streams", `document.querySelector(".open .md")?.textContent === "one, two,"`)
	p.Do(chromedp.Reload())
	p.Until("what was said is there", `document.querySelector(".open .md")?.textContent.trim() === "one, two,"`)
	p.says(c, "three")
	p.Until("and it goes on", `document.querySelector(".open .md").textContent === "one, two, three"`)
	p.Expect("stop is there", `!document.getElementById("stop").hidden`)
	p.finish(c, text(agentcore.RoleAssistant, "one, two, three"))
	p.end(c, "")
	p.Until("the run has ended", `document.getElementById("stop").hidden && document.querySelectorAll(".entries .md").length === 1`)
}

func TestStopEndsTheRunAndTheNextMessageWorks(t *testing.T) {
	p := browse(t)
	p.Open("/")
	p.Write("write a novel")
	c := p.Conversation()
	p.took(c, p.next(0))
	p.start(c)
	p.says(c, "It was a dark and")
	p.Until("text streams", `document.querySelector(".open .md")`)
	p.Click("#stop")
	if in := p.next(1); in.Text != "/stop" {
		t.Fatalf("accepted %+v", in)
	}
	p.Until("it says so", `document.querySelector(".status-text").textContent.startsWith("Stopping")`)
	m := text(agentcore.RoleAssistant, "It was a dark and")
	m.Stop, m.Error = agentcore.StopAborted, &agentcore.Error{Class: agentcore.ErrAborted, Message: "stopped"}
	p.finish(c, m)
	p.end(c, "")
	p.Until("what was said stays, marked", `document.querySelector(".entries .mark")?.textContent === "Stopped"`)
	p.Write("shorter")
	if in := p.next(2); in.Text != "shorter" {
		t.Fatalf("accepted %+v", in)
	}
}

func TestAFailureStandsInTheThreadWithItsRemedy(t *testing.T) {
	p := browse(t)
	p.Open("/")
	p.Write("hello")
	c := p.Conversation()
	p.took(c, p.next(0))
	p.start(c)
	p.end(c, "The key for **anthropic** was refused (401): set `ANTHROPIC_API_KEY`.")
	p.Until("the card stands there", `document.querySelector(".card.bad code")?.textContent === "ANTHROPIC_API_KEY"`)
	p.Expect("it is not said twice", `document.querySelectorAll(".card").length === 1`)
	p.Expect("the box is ready", `document.getElementById("stop").hidden`)
}

func TestAToolThatFailsSaysSoAndLiveOutputGrows(t *testing.T) {
	p := browse(t)
	p.Open("/")
	p.Write("run it")
	c := p.Conversation()
	p.took(c, p.next(0))
	p.start(c)
	p.finish(c, calling("", call("a", "exec", `{"command":"make"}`), call("b", "exec", `{"command":"make test"}`)))
	p.tool(c, "tool_start", channels.LiveCall{ID: "a", Name: "exec"})
	p.tool(c, "tool_start", channels.LiveCall{ID: "b", Name: "exec"})
	p.Until("both run", `document.querySelectorAll('.entries .tool[data-state="running"]').length === 2`)
	p.Focus(`.tool[data-call="a"] summary`)
	p.Keys(kb.Enter)
	p.tool(c, "tool_update", channels.LiveCall{ID: "a", Name: "exec", Output: "compiling"})
	p.Until("output shows while it runs", `document.querySelector('.tool[data-call="a"] pre:last-of-type')?.textContent === "compiling"`)
	p.tool(c, "tool_update", channels.LiveCall{ID: "a", Name: "exec", Output: "compiling\nlinking"})
	p.Until("and grows", `document.querySelector('.tool[data-call="a"] pre:last-of-type').textContent === "compiling\nlinking"`)
	p.tool(c, "tool_end", channels.LiveCall{ID: "b", Name: "exec", Output: "exit 2", IsError: true, MS: 1200})
	p.Until("one failed, one runs", `document.querySelector('.tool[data-call="b"]').dataset.state === "failed" && document.querySelector('.tool[data-call="a"]').dataset.state === "running"`)
	p.tool(c, "tool_end", channels.LiveCall{ID: "a", Name: "exec", Output: "done", MS: 2000})
	p.result(c, "a", "exec", "done", false)
	p.result(c, "b", "exec", "exit 2", true)
	p.finish(c, text(agentcore.RoleAssistant, "One of them failed."))
	p.end(c, "")
	p.Until("settled", `document.querySelectorAll(".tool").length === 2 && document.querySelectorAll(".tool .tool-mark svg").length === 2`)
}

func TestAFollowUpWaitsForTheAnswerAndAnInterruptionEndsIt(t *testing.T) {
	p := browse(t)
	p.Open("/")
	p.Write("count")
	c := p.Conversation()
	p.took(c, p.next(0))
	p.start(c)
	p.Until("working", `!document.getElementById("mode").hidden`)
	choose := func(mode string) {
		browsertest.Eval[bool](p.Tab, `(document.getElementById("mode").value = "`+mode+`", document.getElementById("mode").dispatchEvent(new Event("change")))`)
	}
	choose("after")
	p.Write("and then this")
	p.Until("it is held", `document.querySelector('.waits[data-state="held"] .bubble-note')?.textContent.startsWith("Will be sent after this answer")`)
	p.Shot("follow-up")
	p.Do(chromedp.Reload())
	p.Until("a reload keeps it held", `document.querySelector('.waits[data-state="held"]') && document.querySelector(".status:not([hidden])")`)
	if n := len(p.accepted); n != 1 {
		t.Fatalf("%d messages were sent, want 1", n)
	}
	p.finish(c, text(agentcore.RoleAssistant, "1 2 3"))
	p.end(c, "")
	if in := p.next(1); in.Text != "and then this" {
		t.Fatalf("sent %q", in.Text)
	}
	p.took(c, p.next(1))
	p.start(c)
	p.Until("working again", `!document.getElementById("mode").hidden && !document.querySelector(".waits")`)
	choose("interrupt")
	p.Write("no, this")
	if in := p.next(2); in.Text != "/stop" {
		t.Errorf("first came %q", in.Text)
	}
	if in := p.next(3); in.Text != "no, this" {
		t.Errorf("then came %q", in.Text)
	}
}

func TestWhatIsReadBeforeItIsHeardIsNotDrawnTwice(t *testing.T) {
	p := browse(t)
	p.Open("/")
	p.Write("quick")
	c := p.Conversation()
	in := p.next(0)
	p.took(c, in)
	m := text(agentcore.RoleAssistant, "a quick answer")
	tail := p.add(c, EntryAssistant, m, "") // the transcript is ahead of the bus
	p.start(c)
	p.Until("read", `document.querySelector(".entries .md")`)
	p.says(c, "a quick ")
	p.says(c, "answer")
	p.tool(c, "tool_start", channels.LiveCall{ID: "t", Name: "x"}) // all before it was heard
	p.Until("heard", `document.querySelector(".tool")`)
	p.Expect("the late words are not drawn", `!document.querySelector(".open .md")`)
	p.message(c, m, tail)
	question, _ := p.Read(t.Context(), prefix+c, 0, 1)
	p.accepts(c, question[0].Message) // late, too
	p.says(c, "next")
	p.Until("the next message streams", `document.querySelector(".open .md")?.textContent === "next"`)
	p.Expect("once each", `document.querySelectorAll(".md").length === 2 && !document.querySelector(".waits")`)
}
