package admin

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/gateway/memory"
	"clawbot/gateway/schedule"
	"clawbot/internal/browsertest"
)

// spendSample is what two models cost in a month.
func spendSample(_ context.Context, from, to time.Time) ([]Spend, error) {
	var rows []Spend
	for d, i := from, 0; !d.After(to); d, i = d.AddDate(0, 0, 1), i+1 {
		day := d.Format(time.DateOnly)
		rows = append(rows,
			Spend{Day: day, Model: "anthropic/claude-sonnet-4-6", Session: "chat:1", User: "chat:7", Calls: 12, Tokens: 40_000, Nanos: int64(i%7+1) * 90_000_000},
			Spend{Day: day, Model: "openai/gpt-5-mini", Session: fmt.Sprint("slack.work:C", i%5), User: fmt.Sprint("slack:U", i%3), Calls: 3, Tokens: 9_000, Nanos: int64(i%3) * 60_000_000})
	}
	return rows, nil
}

// TestEveryViewFitsEveryScreen draws each view in light and dark, on a desktop
// and a phone. With CLAWBOT_SHOTS set to a folder it leaves the pictures there.
func TestEveryViewFitsEveryScreen(t *testing.T) {
	w := newWorld(t, options{admin: func(c *Config) {
		c.Spend = spendSample
		c.Caps = func() Caps { return Caps{DailyUSD: 1} }
	}})
	w.say("chat:1", "How does a message travel? A table, please.")
	w.say("chat:2", "Plan the release notes for the second quarter")
	w.say("chat:3", "a slow start is no slow end")
	w.settle()
	w.say("chat:1", "act, and tell me")
	w.say("chat:2", "slow, please")
	w.until("it waits for a person", func() bool {
		list, err := w.gateway.PendingCalls(t.Context())
		return err == nil && len(list) == 1
	})
	_, err := schedule.Book{State: w.store.State(), Limits: schedule.Limits{PerUser: 9, PerConversation: 9}}.Add(t.Context(), schedule.Item{
		Channel: "chat", Target: channels.Target{Conversation: "chat:1", Chat: "chat:1", Direct: true}, Sender: channels.Sender{ID: "7", Name: "Ann"},
		Text: "Summarise the open pull requests", Cron: "0 9 * * 1-5", Zone: "Europe/Berlin", Next: time.Now().Add(24 * time.Hour), Set: time.Now(),
	})
	must(t, err)
	_, _, err = memory.Book{State: w.store.State()}.Add(t.Context(), "chat/7", memory.Fact{Text: "Prefers answers in tables", At: time.Now(), Session: "chat:1"})
	must(t, err)
	w.log.With("channel", "chat").Warn("the connection was lost and is back", "err", "read: connection reset by peer")
	views := []struct{ name, path, ready string }{
		{"sessions", "/admin/sessions", `document.querySelectorAll("tbody tr").length === 3`},
		{"session", "/admin/sessions/chat%3A1", `document.querySelector(".timeline svg") && document.querySelector(".facts").textContent.includes("Model calls")`},
		{"approvals", "/admin/approvals", `document.querySelectorAll(".approval").length === 1`},
		{"replicas", "/admin/replicas", `document.querySelectorAll("tbody tr").length === 3`},
		{"spend", "/admin/spend", `document.querySelectorAll(".spend svg").length === 4`},
		{"schedules", "/admin/schedules", `document.querySelectorAll("tbody tr").length === 1`},
		{"memory", "/admin/memory", `document.querySelectorAll("tbody tr").length === 1`},
		{"tools", "/admin/tools", `document.querySelectorAll("tbody tr").length === 2`},
		{"config", "/admin/config", `document.querySelectorAll("tbody tr").length > 30`},
		{"log", "/admin/log", `document.querySelectorAll(".log li").length > 3`},
	}
	for _, d := range []struct {
		name          string
		width, height int64
		scale         float64
	}{{"desktop", 1280, 800, 1}, {"phone", 360, 740, 2}} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(d.name+" "+scheme, func(t *testing.T) {
				tab := browsertest.Open(t, w.url)
				tab.Size(d.width, d.height, d.scale)
				tab.Media("prefers-color-scheme", scheme)
				for _, v := range views {
					tab.Visit(v.path)
					tab.Until(v.name+" is drawn", v.ready+` && document.querySelectorAll("#tabs a").length >= 7`)
					fits(t, tab, v.name)
					tab.Shot("admin-" + d.name + "-" + scheme + "-" + v.name)
				}
			})
		}
	}
	close(w.model.release)
}

// fits checks that nothing is wider than the screen, but for what scrolls, and
// that what can be pressed has a name.
func fits(t *testing.T, tab *browsertest.Tab, view string) {
	t.Helper()
	wide := browsertest.Eval[string](tab, `[...document.querySelectorAll("body *")].filter((e) => {
		const r = e.getBoundingClientRect();
		if (!r.width || !r.height || e.closest(".unseen, .skip, .scroll, .tabs, pre, svg")) return false;
		return r.right > innerWidth + 0.5 || r.left < -0.5;
	}).map((e) => e.tagName + "." + e.className).slice(0, 5).join(", ")`)
	if wide != "" {
		t.Errorf("%s: wider than the screen: %s", view, wide)
	}
	nameless := browsertest.Eval[string](tab, `[...document.querySelectorAll("button, a[href], input, select")].filter((e) =>
		!(e.textContent.trim() || e.getAttribute("aria-label") || e.title || e.closest("svg"))).map((e) => e.outerHTML.slice(0, 120)).join("\n")`)
	if strings.TrimSpace(nameless) != "" {
		t.Errorf("%s: without a name: %s", view, nameless)
	}
}
