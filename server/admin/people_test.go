package admin

import (
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/gateway/memory"
	"clawbot/gateway/schedule"
)

func TestSchedulesAndMemoryAreListedAndTakenAwayByAnOwner(t *testing.T) {
	w := newWorld(t, options{tokens: []string{"a-long-secret-token"}})
	plan := schedule.Book{State: w.store.State(), Limits: schedule.Limits{PerUser: 9, PerConversation: 9}}
	it, err := plan.Add(t.Context(), schedule.Item{
		Channel: "chat", Target: channels.Target{Conversation: "chat:1", Chat: "chat:1", Direct: true}, Sender: channels.Sender{ID: "7", Name: "Ann"},
		Text: "water the plants", Cron: "0 9 * * 1", Zone: "UTC", Next: time.Now().Add(24 * time.Hour), Set: time.Now(),
	})
	must(t, err)
	facts := memory.Book{State: w.store.State()}
	fact, _, err := facts.Add(t.Context(), "chat/7", memory.Fact{Text: "likes tea", At: time.Now(), Session: "chat:1"})
	must(t, err)
	if _, _, err := facts.Add(t.Context(), "chat/8", memory.Fact{Text: "plays chess", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	local := []string{"Authorization", "Bearer a-long-secret-token"}
	remote := append(local[:2:2], "X-Forwarded-For", "203.0.113.9")
	w.want("GET", "/admin/api/schedules", "", 200, map[string]any{"schedules.0.text": "water the plants", "schedules.0.session": "chat:1", "schedules.0.user": "7", "schedules.1": nil}, remote...)
	w.want("GET", "/admin/api/memory", "", 200, map[string]any{"people.0.user": "chat/7", "people.0.facts.0.text": "likes tea", "people.1.user": "chat/8"}, remote...)
	for _, path := range []string{"/admin/api/schedules/chat/7/" + it.ID, "/admin/api/memory/chat/7/" + fact.ID} {
		w.want("DELETE", path, "", 403, nil, remote...)
		w.want("DELETE", path+"x", "", 404, nil, local...)
	}
	w.want("DELETE", "/admin/api/memory/a%20b/c/d", "", 404, nil, local...)

	tab := w.open("/login")
	tab.Until("the form", `document.getElementById("token")`)
	tab.Focus("#token")
	tab.Keys("a-long-secret-token\r")
	tab.Until("in", `location.pathname === "/"`)
	tab.Visit("/admin/schedules")
	tab.Until("the schedule is listed", `document.querySelector("tbody")?.textContent.includes("water the plants") && document.querySelector("tbody").textContent.includes("Ann (chat:7)")`)
	tab.Click("tbody button")
	tab.Until("it asks by name", `document.getElementById("ask").textContent.includes("of Ann?")`)
	tab.Click("#ask .danger")
	tab.Until("it is cancelled", `document.querySelector("main").textContent.includes("Nothing is scheduled")`)
	tab.Visit("/admin/memory?q=chess")
	tab.Until("one fact is found", `document.querySelectorAll("tbody tr").length === 1`)
	tab.Click("tbody button")
	tab.Click("#ask .danger")
	tab.Until("it is forgotten", `document.querySelector("main").textContent.includes("Nothing here has that.")`)
	w.want("GET", "/admin/api/memory", "", 200, map[string]any{"people.0.user": "chat/7", "people.1": nil}, local...)
}
