package e2e

import (
	"os"
	"testing"

	"clawbot/internal/browsertest"
)

// TestAPersonChatsSeesAToolRunAndSteersIt is the first minute with the bot: no
// configuration, no key, a browser.
func TestAPersonChatsSeesAToolRunAndSteersIt(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/clawbot.toml", []byte("[server]\nlisten = \"127.0.0.1:0\"\n"), 0o600))
	bot := startProcess(t, dir, nil, "run")
	tab := browsertest.Open(t, bot.page())
	tab.Open("/")
	tab.Until("examples are offered", `document.querySelectorAll(".examples button").length === 3`)
	tab.Shot("empty")

	tab.Write("Read README.md and tell me its first heading")
	tab.Until("the tool has run", `document.querySelector('.tool[data-state="done"] .tool-arg')?.textContent === "README.md"`)
	tab.Until("the answer is there", `document.querySelector(".entries")?.textContent.includes("The workspace") && document.getElementById("stop").hidden`)

	tab.Write("Count to 30 slowly, one number per line")
	tab.Until("it counts", `[...document.querySelectorAll(".md")].at(-1)?.textContent.startsWith("123")`)
	tab.Write("and say it in words")
	tab.Until("the message waits or has arrived", `[...document.querySelectorAll(".said, .waits")].some((e) => e.textContent.includes("in words"))`)
	tab.Shot("chat")
	tab.Until("the agent has seen it", `[...document.querySelectorAll(".md")].some((e) => e.textContent.includes("You also asked"))`)
	tab.Until("stop is offered", `!document.getElementById("stop").hidden`)
	tab.Click("#stop")
	tab.Until("it has stopped", `document.getElementById("stop").hidden`)
	entries := browsertest.Eval[int](tab, `document.querySelectorAll(".entries > *").length`)

	tab.Write("time in Lima")
	tab.Until("the next message works", `[...document.querySelectorAll(".md")].at(-1)?.textContent.includes("Lima")`)
	tab.Open("/c/" + tab.Conversation())
	tab.Until("the history is there after a reload", `document.querySelectorAll(".entries > *").length > 4`)
	if after := browsertest.Eval[int](tab, `document.querySelectorAll(".entries > *").length`); after < entries {
		t.Errorf("%d entries after the reload, %d before it", after, entries)
	}
}
