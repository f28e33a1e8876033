package admin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/gateway"
	"clawbot/internal/browsertest"
	"clawbot/store"
)

// long makes a session of n messages: of each four, one of a person, one that
// calls a tool, its result, an answer. It writes them as the program does, by
// having the model answer, and then repeats the four it got.
func (w *world) long(session string, n int) {
	w.t.Helper()
	w.say(session, "act one")
	w.until("it asks", func() bool {
		list, err := w.gateway.PendingCalls(w.t.Context())
		return err == nil && len(list) == 1
	})
	list, err := w.gateway.PendingCalls(w.t.Context())
	must(w.t, err)
	must(w.t, w.gateway.Decide(w.t.Context(), w.admin.local(), session, list[0].ID, "approve"))
	w.settle()
	ctx := w.t.Context()
	four, err := w.store.Archive().Read(ctx, session, 0, 4)
	must(w.t, err)
	lease, err := w.store.Acquire(ctx, session, "test", time.Minute)
	must(w.t, err)
	for at := int64(len(four)); at < int64(n); at += 4 {
		turn := fmt.Sprint(at / 4)
		again := func(data []byte) []byte {
			return []byte(strings.ReplaceAll(string(data), "one", "turn "+turn))
		}
		_, err := w.store.Accept(ctx, store.Event{ID: "u" + turn, Session: session, Data: again(four[0].Data)})
		must(w.t, err)
		_, err = lease.Drain(ctx, at, 0, 0)
		must(w.t, err)
		var rest []store.Entry
		for i, e := range four[1:] {
			e.Position, e.Token, e.Inbox, e.At = 0, "", 0, time.Time{}
			e.ID = fmt.Sprint(turn, "-", i)
			e.Data = again(e.Data)
			if len(e.Opens) > 0 {
				e.Data = []byte(strings.ReplaceAll(string(e.Data), e.Opens[0], "c"+turn))
				e.Opens = []string{"c" + turn}
			}
			if e.Closes != "" {
				e.Data = []byte(strings.ReplaceAll(string(e.Data), e.Closes, "c"+turn))
				e.Closes = "c" + turn
			}
			rest = append(rest, e)
		}
		must(w.t, lease.Append(ctx, at+1, rest))
	}
	if ok, err := lease.ReleaseIfEmpty(ctx); err != nil || !ok {
		w.t.Fatalf("not released: %v %v", ok, err)
	}
}

// local is whoever sits at this machine.
func (a *Admin) local() gateway.Operator {
	return gateway.Operator{Channel: a.cfg.Channel, Sender: channels.Sender{ID: a.cfg.Channel + ":local", Name: "local"}}
}

// A page that reads or draws a whole transcript would grow with it.
func TestALongTranscriptIsReadAndDrawnInParts(t *testing.T) {
	w := newWorld(t, options{})
	const n = 5000
	w.long("chat:1", n)
	tab := w.open("/admin/sessions/chat%3A1")
	last := fmt.Sprintf(`document.getElementById("e-%d")`, n-1)
	tab.Until("its end is shown", last)
	opened := browsertest.Eval[float64](tab, `performance.now()`)
	tab.Until("and added up", `document.querySelector(".facts").textContent.includes("Model calls2500")`)
	entries := `document.querySelectorAll(".entry").length`
	tab.Expect("a part of it is drawn", entries+` <= 200`)
	nodes := browsertest.Eval[int](tab, `document.querySelectorAll("*").length`)
	size := browsertest.Eval[int](tab, `performance.getEntriesByType("resource").filter((r) => r.name.includes("/api/sessions/")).reduce((n, r) => n + r.encodedBodySize, 0)`)
	asked := `performance.getEntriesByType("resource").filter((r) => /\/api\/sessions\/[^/]+\?/.test(r.name)).length`
	if reads := browsertest.Eval[int](tab, asked); reads > 3 {
		t.Errorf("%d windows were read to open it", reads)
	}
	if size > 400_000 {
		t.Errorf("%d bytes were sent to open it", size)
	}
	t.Logf("looked at %.0f ms after the navigation, %d nodes, %d bytes", opened, nodes, size)

	// Scrolling back reads on, and lets go of the end.
	for range 8 {
		first := browsertest.Eval[string](tab, `document.querySelector(".entry").id`)
		browsertest.Eval[bool](tab, `(document.getElementById("main").scrollTop = 0, true)`)
		tab.Until("earlier entries come", fmt.Sprintf(`document.querySelector(".entry").id !== %q`, first))
	}
	tab.Expect("what is drawn stays bounded", entries+` <= 300`)
	tab.Expect("in order, without gaps", `[...document.querySelectorAll(".entry")].every((e, i, all) => !i || Number(e.id.slice(2)) === Number(all[i - 1].id.slice(2)) + 1)`)
	tab.Expect("every result is with its call", `[...document.querySelectorAll('.entry[data-kind="tool_result"]')].slice(1).every((e) => e.classList.contains("settled"))`)
	tab.Until("a pill leads back", `!document.querySelector(".latest-pill").hidden`)
	tab.Click(".latest-pill")
	tab.Until("the end is back", last)

	// The tail does not grow it either.
	tab.Until("it is live", `document.querySelector(".crumb .state").textContent === "Live"`)
	for i := range 200 {
		w.say("chat:1", fmt.Sprint("more ", i))
		w.settle()
	}
	tab.Until("the tail is followed", `document.querySelector(".entry-list").textContent.includes("You said more 199")`)
	tab.Expect("within bounds", entries+` <= 300`)
	tab.Visit("/admin/sessions/chat%3A1#e-2000")
	tab.Until("an entry has an address", `document.activeElement.id === "e-2000"`)
}
