package admin

import (
	"testing"

	"clawbot/internal/browsertest"
)

func TestAnOperatorFindsWatchesStopsAndDeletesASession(t *testing.T) {
	w := newWorld(t, options{})
	w.say("chat:1", "the quarterly report")
	w.say("chat:2", "a recipe for soup")
	w.settle()
	tab := w.open("/admin/")
	press := func(selector string) { // what is still added up may move it under a mouse
		tab.Focus(selector)
		tab.Keys("\r")
	}
	tab.Until("both are listed", `document.querySelectorAll(".list-table tbody tr").length === 2`)
	tab.Expect("with people", `document.querySelector("tbody").textContent.includes("Ann (chat:7)")`)
	tab.Until("the bar has the model", `document.getElementById("model").textContent.includes("test/one")`)
	tab.Focus(".heading input")
	tab.Keys("QUARTERLY ann")
	tab.Until("one is found", `document.querySelectorAll(".list-table tbody tr").length === 1`)
	tab.Until("the address has what was looked for", `location.search === "?q=QUARTERLY+ann"`)
	tab.Click("tbody a")
	tab.Until("its transcript is shown", `location.pathname === "/admin/sessions/chat%3A1" && document.querySelectorAll(".entry").length === 2`)
	tab.Expect("with times, tokens and cost", `/1200 in, 800 cached, 34 out/.test(document.querySelector('.entry[data-kind="assistant"] .figures').textContent) && document.querySelector('.entry[data-kind="assistant"] .figures').textContent.includes("$0.0123")`)
	tab.Until("and what it adds up to", `document.querySelector(".facts").textContent.includes("Model calls1")`)
	tab.Until("it is live", `document.querySelector(".crumb .state").textContent === "Live"`)

	w.say("chat:1", "slow one")
	tab.Until("what happens is seen before it is in the transcript", `document.querySelector(".open-text").textContent === "It begins"`)
	tab.Until("and that it is worked on", `document.querySelector(".facts").textContent.includes("working here")`)
	press(".session-head .buttons button")
	tab.Until("it stops", `document.querySelector(".entry-list").textContent.includes("Stopped") && document.querySelector(".open-run").hidden`)
	tab.Until("and is idle", `document.querySelector(".facts").textContent.includes("idle")`)

	press(".session-head .danger")
	tab.Until("it asks once, by name", `document.getElementById("ask").open && document.getElementById("ask").textContent.includes("Delete chat:1?")`)
	press("#ask .button")
	tab.Until("no is no", `!document.getElementById("ask").open`)
	press(".session-head .danger")
	tab.Until("it asks again", `document.getElementById("ask").open`)
	press("#ask .danger")
	tab.Until("it is gone", `location.pathname === "/admin/sessions" && document.querySelectorAll(".list-table tbody tr").length === 1 && document.querySelector("tbody").textContent.includes("soup")`)
	browsertest.Eval[bool](tab, `(history.back(), true)`)
	tab.Until("its address says so", `document.querySelector("main").textContent.includes("There is no such session")`)
	tab.Forgive() // the browser reports the 404
}

func TestADecisionIsTakenInTheSessionToo(t *testing.T) {
	w := newWorld(t, options{})
	w.say("chat:1", "act")
	tab := w.open("/admin/sessions")
	tab.Until("the count shows", `document.querySelector("#tabs .count:not([hidden])")?.textContent === "1"`)
	tab.Visit("/admin/sessions/chat%3A1")
	tab.Until("the question stands below the transcript", `document.querySelector("main .approval pre")?.textContent === "rm -rf build"`)
	tab.Click(".approval .buttons button:nth-child(3)") // always
	tab.Until("the tool has run", `document.querySelector('.tool[data-state="done"]') && !document.querySelector(".approval")`)
	tab.Click(".tool summary")
	tab.Until("its arguments and result are there", `document.querySelector(".tool-body").textContent.includes("rm -rf build") && document.querySelector(".tool-body").textContent.includes("acted")`)
	w.settle()
	w.say("chat:1", "act again")
	tab.Until("it is allowed for good", `document.querySelectorAll('.tool[data-state="done"]').length === 2`)
}

func TestToolsAndConfigurationAreSearchedAndKeepTheirAddress(t *testing.T) {
	w := newWorld(t, options{})
	w.log.Info("something to read")
	tab := w.open("/admin/tools")
	tab.Until("the tools are listed", `document.querySelectorAll("tbody tr").length === 2`)
	tab.Expect("hidden ones with why", `document.querySelector('[data-key="exec"]').textContent.includes("no sandbox here")`)
	browsertest.Eval[bool](tab, `(() => { const s = document.querySelector("select"); s.value = "guest=1"; s.dispatchEvent(new Event("change")); return true; })()`)
	tab.Until("as a guest sees them", `document.querySelector('[data-key="read_file"]').textContent.includes("not for guests")`)
	tab.Visit(browsertest.Eval[string](tab, `location.pathname + location.search`))
	tab.Until("the address keeps whose", `document.querySelector('[data-key="read_file"]')?.textContent.includes("not for guests")`)

	tab.Visit("/admin/config")
	tab.Until("the configuration is listed", `document.querySelector('[data-key="loop.max_iterations"]')?.textContent === "loop.max_iterations32default"`)
	tab.Focus(".heading input")
	tab.Keys("lease_ttl")
	tab.Until("one key is found", `document.querySelectorAll("tbody tr").length === 1`)
	tab.Click(`#tabs [data-view="log"]`)
	tab.Until("a link leads to another view", `location.pathname === "/admin/log" && document.querySelectorAll(".log li").length > 0`)
	browsertest.Eval[bool](tab, `(history.back(), true)`)
	tab.Until("and back", `location.pathname === "/admin/config" && document.querySelector(".heading input")?.value === "lease_ttl"`)
}

func TestTheLogIsFollowedByLevelWithinBounds(t *testing.T) {
	w := newWorld(t, options{})
	tab := w.open("/admin/log")
	tab.Until("it is live", `document.querySelector(".heading .state")?.textContent === "Live"`)
	w.log.Warn("the disk is nearly full", "free", "1 GB")
	tab.Until("a line comes", `document.querySelector('.log li[data-level="WARN"]')?.textContent.includes("free=1 GB")`)
	browsertest.Eval[bool](tab, `(() => { const s = document.querySelector("select"); s.value = "WARN"; s.dispatchEvent(new Event("change")); return true; })()`)
	tab.Until("others are left out", `document.querySelectorAll(".log li").length === 1 && location.search === "?level=WARN"`)
	for i := range 1500 {
		w.log.Warn("again", "n", i)
	}
	tab.Until("the latest is there", `document.querySelector(".log").lastElementChild.textContent.includes("n=1499")`)
	tab.Expect("within bounds", `document.querySelectorAll(".log li").length <= 500`)
}

func TestSigningInLeadsBackToTheView(t *testing.T) {
	w := newWorld(t, options{tokens: []string{"correct horse battery"}})
	tab := w.open("/admin/log")
	tab.Until("the form", `document.getElementById("token")`)
	tab.Focus("#token")
	tab.Keys("correct horse battery\r")
	tab.Until("back at the view", `location.pathname === "/admin/log" && document.querySelectorAll("#tabs a").length > 3`)
	tab.Expect("no token is in the address, and no script can read the session", `!location.href.includes("horse") && document.cookie === ""`)
}

func TestTheKeyboardAloneWillDo(t *testing.T) {
	w := newWorld(t, options{})
	w.say("chat:1", "hello")
	w.settle()
	tab := w.open("/admin/sessions")
	tab.Until("it is listed", `document.querySelectorAll("tbody tr").length === 1`)
	tab.Focus(".list-table thead button")
	tab.Keys("\r")
	tab.Until("a column sorts", `document.querySelector("th[aria-sort]")?.textContent === "Session"`)
	tab.Focus("tbody a")
	tab.Keys("\r")
	tab.Until("a session opens", `document.querySelectorAll(".entry").length === 2`)
	tab.Focus(".session-head .danger")
	tab.Keys("\r")
	tab.Until("the question has the keyboard, on no", `document.activeElement.textContent === "Cancel"`)
	tab.Keys("\x1b")
	tab.Until("escape is no", `!document.getElementById("ask").open`)
}
