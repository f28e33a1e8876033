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
	tab.Until("and that it is worked on", `document.querySelector(".facts").textContent.includes("working, on this one")`)
	tab.Click(`.session-head .buttons button`)
	tab.Until("it stops", `document.querySelector(".entry-list").textContent.includes("Stopped") && document.querySelector(".open-run").hidden`)
	tab.Until("and is idle", `document.querySelector(".facts").textContent.includes("idle")`)

	tab.Click(".session-head .danger")
	tab.Until("it asks once, by name", `document.getElementById("ask").open && document.getElementById("ask").textContent.includes("Delete chat:1?")`)
	tab.Click("#ask .button")
	tab.Until("no is no", `!document.getElementById("ask").open`)
	tab.Click(".session-head .danger")
	tab.Click("#ask .danger")
	tab.Until("it is gone", `location.pathname === "/admin/sessions" && document.querySelectorAll(".list-table tbody tr").length === 1 && document.querySelector("tbody").textContent.includes("soup")`)
	browsertest.Eval[bool](tab, `(history.back(), true)`)
	tab.Until("its address says so", `document.querySelector("main").textContent.includes("There is no such session")`)
	tab.Forgive() // the browser reports the 404
}
