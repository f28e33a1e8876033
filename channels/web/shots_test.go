package web

import (
	"fmt"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/internal/browsertest"

	"github.com/chromedp/chromedp/kb"
)

const sampleAnswer = "A message takes **five steps** on its way. Nothing flows backwards: a channel never calls the loop, and the loop never knows a channel.\n\n" +
	"## The steps\n\n1. The channel *normalises* it to `channels.Inbound`.\n2. The gateway decides whether the sender may speak here.\n3. The store makes it durable; only now is the platform told.\n" +
	"   - a duplicate changes nothing\n   - an edit replaces its original\n4. The runner leases the session.\n5. The loop streams the model and runs tools.\n\n" +
	"| step | who | budget |\n|---|:---:|---:|\n| accept | gateway | 3 ms |\n| lease | store | 1 ms |\n| stream | provider | — |\n\n" +
	"```go\nfor ev, err := range loop.Run(ctx, prompts) {\n\tif err != nil {\n\t\treturn fmt.Errorf(\"run: %w\", err)\n\t}\n\trecord(ev) // durable before the loop goes on\n}\n```\n\n" +
	"> Finished messages are immutable.\n\nSee [the design](https://example.com/design) for more."

// TestEveryStateHasAShape draws each state in light and dark, on a desktop and a
// phone. With CLAWBOT_SHOTS set to a folder it leaves the pictures there.
func TestEveryStateHasAShape(t *testing.T) {
	type device struct {
		name          string
		width, height int64
		scale         float64
	}
	for _, d := range []device{{"desktop", 1280, 800, 1}, {"phone", 360, 740, 2}} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(d.name+" "+scheme, func(t *testing.T) {
				p := browse(t)
				for i, title := range []string{"Plan the release notes", "Why is the build slow on the second core?", "Time in Lima"} {
					c := fmt.Sprint("old", i)
					p.add(c, EntryUser, text(agentcore.RoleUser, title), "")
					p.sessions[prefix+c].active = time.Now().Add(-time.Duration(i*26+1) * time.Hour)
				}
				p.Size(d.width, d.height, d.scale)
				p.Media("prefers-color-scheme", scheme)
				shot := func(state string) { p.fits(state); p.Shot(d.name + "-" + scheme + "-" + state) }
				p.Open("/")
				p.Until("the list is there", `document.querySelectorAll("#list li").length === 3 && document.querySelector("#model").textContent`)
				shot("1-empty")
				drawRun(p, shot)
				if d.name == "phone" {
					p.Click("#menu")
					p.Until("the drawer is open", `document.getElementById("side").getBoundingClientRect().left === 0`)
					shot("9-drawer")
				}
			})
		}
	}
}

// drawRun goes through a conversation and stops for a picture at each state.
func drawRun(p *tab, shot func(string)) {
	p.Write("How does a message travel? Look at the README first.")
	c := p.Conversation()
	p.took(c, p.next(0))
	p.start(c)
	p.Until("working", `document.querySelector(".status:not([hidden])") && !document.querySelector(".waits")`)
	shot("2-working")
	p.finish(c, calling("I will look.", call("t1", "read_file", `{"path":"README.md"}`), call("t2", "exec", `{"command":"grep -rn 'Accept(' --include=*.go . | head -20"}`)))
	p.tool(c, "tool_start", channels.LiveCall{ID: "t1", Name: "read_file"})
	p.tool(c, "tool_start", channels.LiveCall{ID: "t2", Name: "exec"})
	p.tool(c, "tool_end", channels.LiveCall{ID: "t1", Name: "read_file", Output: "# clawbot", MS: 12})
	p.tool(c, "tool_update", channels.LiveCall{ID: "t2", Name: "exec", Output: "gateway/accept.go:31"})
	p.Until("tools run", `document.querySelectorAll(".entries .tool").length === 2 && document.querySelector('.tool[data-state="done"]')`)
	p.Write("And put it into a table, please")
	p.Until("it steers", `document.querySelector(".bubble-note")?.textContent.startsWith("Will reach")`)
	shot("3-tools-steering")
	steer := p.next(1)
	p.tool(c, "tool_end", channels.LiveCall{ID: "t2", Name: "exec", Output: "exit 1", IsError: true, MS: 2300})
	p.result(c, "t1", "read_file", "# clawbot\n\nA chat bot with an agent inside.\n", false)
	p.result(c, "t2", "exec", "exit status 1", true)
	p.took(c, steer)
	p.says(c, sampleAnswer[:520])
	p.Until("streaming", `document.querySelector(".open .md table, .open .md ol, .open .md h3")`)
	shot("4-streaming")
	p.says(c, sampleAnswer[520:])
	m := text(agentcore.RoleAssistant, sampleAnswer)
	m.Usage = agentcore.Usage{Input: 1200, Output: 410}
	p.finish(c, m)
	p.end(c, "")
	p.Until("done", `document.getElementById("stop").hidden && document.querySelector(".entries .table")`)
	shot("5-done")
	p.Focus(`.tool[data-call="t1"] summary`)
	p.Keys(kb.Enter)
	p.Until("unfolded", `document.querySelector(".tool-body")`)
	p.Click(`.tool[data-call="t1"] .tool-name`)
	p.Keys(kb.Enter)
	shot("6-unfolded")
	p.Write("Now in Spanish")
	p.took(c, p.next(2))
	p.start(c)
	p.end(c, "The model `anthropic/claude` can’t be reached: connection refused.\n\nCheck `providers.anthropic.base_url`, or whether a proxy is needed (`providers.anthropic.proxy`).")
	p.Until("failed", `document.querySelector(".card.bad")`)
	shot("7-failed")
}

// fits checks that nothing is wider than the screen.
func (p *tab) fits(state string) {
	p.t.Helper()
	wide := browsertest.Eval[string](p.Tab, `[...document.querySelectorAll("body *")].filter((e) => {
		const r = e.getBoundingClientRect();
		if (!r.width || !r.height || e.closest(".unseen, .skip, .side:not(.shown), pre, .table, svg")) return false;
		return r.right > innerWidth + 0.5 || (r.left < -0.5 && !e.closest(".side"));
	}).map((e) => e.tagName + "." + e.className).slice(0, 5).join(", ")`)
	if wide != "" {
		p.t.Errorf("%s: wider than the screen: %s", state, wide)
	}
}
