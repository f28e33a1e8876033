package e2e

import (
	"strings"
	"testing"

	"clawbot/internal/browsertest"
	"clawbot/internal/modeltest"
)

// TestAnOperatorLooksAfterAChatOfAPlatformOnThePage has a person write in
// Telegram, and whoever runs the bot see it, decide about it, and delete it.
func TestAnOperatorLooksAfterAChatOfAPlatformOnThePage(t *testing.T) {
	w := newWorld(t, options{script: modeltest.Turns(
		modeltest.Turn{Calls: []modeltest.Call{{ID: "c1", Name: "exec", Arguments: `{"command":"mkdir made"}`}}},
		modeltest.Say("The folder is there."),
	)})
	tab := browsertest.Open(t, w.bot.page())
	tab.Open("/")
	tab.Click("#operate")
	tab.Until("the operator's page opens", `location.pathname === "/admin/" && document.querySelectorAll("#tabs a").length === 9`)
	tab.Until("nobody has written", `document.querySelector("main").textContent.includes("Nobody has written yet")`)
	tab.Until("a dot for each channel", `[...document.querySelectorAll('#dots [data-level="good"]')].map((e) => e.textContent).join().includes("telegram")`)

	w.say("make a folder")
	w.asked("mkdir made")
	tab.Until("the session appears", `document.querySelector("tbody")?.textContent.includes("make a folder")`)
	tab.Until("and that something waits", `document.querySelector("#tabs .count:not([hidden])")?.textContent === "1"`)
	tab.Click("tbody a")
	tab.Until("the question is with it", `document.querySelector("main .approval pre")?.textContent.includes("mkdir made")`)
	tab.Until("it is live", `document.querySelector(".crumb .state").textContent === "Live"`)
	tab.Click(".approval .primary")
	w.answer("The folder is there.")
	tab.Until("the answer is seen", `document.querySelector(".entry-list").textContent.includes("The folder is there.") && document.querySelector('.tool[data-state="done"]')`)
	tab.Until("and who it is", `document.querySelector(".facts").textContent.includes("Ana (telegram:1)") && document.querySelector(".facts").textContent.includes("idle")`)
	session := browsertest.Eval[string](tab, `document.querySelector(".facts .mono").textContent`)
	for format, want := range map[string]string{"jsonl": `"text":"make a folder"`, "markdown": "make a folder"} {
		if status, body := w.bot.get("/admin/api/sessions/" + session + "/export?format=" + format); status != 200 || !strings.Contains(body, want) {
			t.Errorf("the export as %s is %d %.200s", format, status, body)
		}
	}

	tab.Focus(".session-head .danger") // what is still added up may move it under a mouse
	tab.Keys("\r")
	tab.Until("it asks", `document.getElementById("ask").open`)
	tab.Click("#ask .danger")
	tab.Until("the session is gone", `location.pathname === "/admin/sessions" && document.querySelector("main").textContent.includes("Nobody has written yet")`)
	if list := w.cli("sessions", "list"); strings.Contains(list, session) {
		t.Errorf("the store has it still:\n%s", list)
	}

	for view, ready := range map[string]string{
		"tools":    `document.querySelector('[data-key="exec"]')?.textContent.includes("visible")`,
		"replicas": `document.querySelector("main").textContent.includes("telegram") && document.querySelectorAll("tbody tr").length === 3`,
		"config":   `document.querySelector('[data-key="channels.telegram.token"]')?.textContent.includes("[redacted]clawbot.toml:")`,
		"log":      `document.querySelector(".log").textContent.includes("session deleted by an operator")`,
		"spend":    `document.querySelector("main").textContent.includes("scripted-1")`,
	} {
		tab.Visit("/admin/" + view)
		tab.Until(view+" is shown", ready)
		for _, secret := range []string{"sk-test-canary", w.telegram.Token()} {
			if text := browsertest.Eval[string](tab, `document.body.textContent`); strings.Contains(text, secret) {
				t.Errorf("%s shows a secret", view)
			}
		}
	}
}
