package admin

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"clawbot/internal/browsertest"
)

func TestWhatIsNotDrawnIsFoundInTheTranscript(t *testing.T) {
	w := newWorld(t, options{})
	w.long("chat:1", 2000)
	w.want("GET", "/admin/api/sessions/chat:1/find?q=ACT+turn+17", "", 200, map[string]any{"found.0.position": 68.0, "more": false})
	answer := w.want("GET", "/admin/api/sessions/chat:1/find?q=rm+-rf", "", 200, map[string]any{"more": true})
	if found := answer["found"].([]any); len(found) != findMost || pick(found, fmt.Sprint(findMost-1)+".position") != 1997.0 {
		t.Errorf("found %v", found)
	}
	for _, q := range []string{"", strings.Repeat("x", 201)} {
		w.want("GET", "/admin/api/sessions/chat:1/find?q="+q, "", 400, nil)
	}
	w.want("GET", "/admin/api/sessions/chat:9/find?q=x", "", 404, nil)

	tab := w.open("/admin/sessions/chat%3A1")
	tab.Until("the end is shown", `document.getElementById("e-1999")`)
	tab.Focus(".session-head input")
	tab.Keys("act turn 17")
	tab.Until("it is found", `document.querySelectorAll(".found a").length > 0`)
	tab.Click(".found a")
	tab.Until("and shown", `location.hash === "#e-68" && document.activeElement.id === "e-68"`)
	tab.Expect("within bounds", `document.querySelectorAll(".entry").length <= 300`)
	browsertest.Eval[bool](tab, `(location.hash = "#e-1998", true)`)
	tab.Until("another address in it leads there", `document.activeElement.dataset.kind === "assistant" && document.activeElement.id === "e-1997"`)
}

func FuzzAround(f *testing.F) {
	f.Add("İstanbul and ẞ", "and")
	f.Add("ȺȺȺx", "x")
	f.Fuzz(func(t *testing.T, text, words string) {
		if part, ok := around(text, words); ok && utf8.ValidString(text) && !utf8.ValidString(part) {
			t.Errorf("around(%q, %q) = %q", text, words, part)
		}
	})
}
