package admin

import (
	"testing"

	"clawbot/internal/browsertest"
	"clawbot/internal/redistest"
	"clawbot/store/redis"
)

// TestEveryReplicaShowsAndSteersWhatAnotherWorksOn has two processes' worth of
// bot on one Redis: what runs on one is seen, decided and stopped on the other.
func TestEveryReplicaShowsAndSteersWhatAnotherWorksOn(t *testing.T) {
	server := redistest.Start(t)
	open := func() *world {
		s, err := redis.Open(t.Context(), redis.Config{URL: server.URL(), Prefix: "t"})
		must(t, err)
		t.Cleanup(func() { _ = s.Close() })
		return newWorld(t, options{store: s})
	}
	one, two := open(), open()
	one.say("chat:1", "act, please")
	one.until("it waits", func() bool {
		list, err := two.gateway.PendingCalls(t.Context())
		return err == nil && len(list) == 1
	})
	tab := two.open("/admin/approvals")
	tab.Until("the other replica's question is here", `document.querySelectorAll(".approval").length === 1`)
	tab.Click(".approval .primary")
	tab.Until("and is decided", `document.querySelector("main").textContent.includes("Nothing waits for a decision.")`)
	one.settle()

	tab.Visit("/admin/replicas")
	tab.Until("both replicas answer", `[...document.querySelectorAll("tbody")][1].querySelectorAll('[data-level="good"]').length === 2`)
	tab.Until("each has its channels", `[...document.querySelectorAll("tbody")][0].querySelectorAll("tr").length === 4`)
	tab.Until("and a dot", `document.querySelectorAll('#dots [data-level="good"]').length >= 4`)

	tab.Visit("/admin/sessions/chat%3A1")
	tab.Until("it is live", `document.querySelector(".crumb .state")?.textContent === "Live"`)
	tab.Expect("the tool's result is with its call", `document.querySelector('.tool[data-state="done"]')`)
	one.say("chat:1", "slow, please")
	tab.Until("its run is seen here", `document.querySelector(".open-text").textContent === "It begins"`)
	tab.Until("with where it is", `/working on .+:\d+/.test(document.querySelector(".facts").textContent)`)
	tab.Focus(".session-head .buttons button") // what is still added up may move it under a mouse
	tab.Keys("\r")
	tab.Until("and stopped from here", `document.querySelector(".entry-list").textContent.includes("Stopped")`)
	one.settle()
	if n := browsertest.Eval[int](tab, `document.querySelectorAll(".entry").length`); n < 5 {
		t.Errorf("%d entries", n)
	}
}
