package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"clawbot/config"
)

// pick reads a value by a path such as "sessions.0.session".
func pick(v any, path string) any {
	for part := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			var i int
			if _, err := fmt.Sscan(part, &i); err != nil || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

func (w *world) want(method, path, body string, status int, values map[string]any, headers ...string) map[string]any {
	w.t.Helper()
	got, answer := w.do(method, path, body, headers...)
	if got != status {
		w.t.Errorf("%s %s got %d %v, want %d", method, path, got, answer, status)
	}
	for at, want := range values {
		if is := pick(answer, at); is != want {
			w.t.Errorf("%s %s: %s is %v, want %v", method, path, at, is, want)
		}
	}
	return answer
}

func TestSessionsAreFoundByNamePersonAndTitleAndRead(t *testing.T) {
	w := newWorld(t, options{})
	w.say("chat:1", "the quarterly report\nwith more")
	w.settle()
	w.say("chat:2", "soup")
	w.settle()
	w.want("GET", "/admin/api/sessions", "", 200, map[string]any{"sessions.0.session": "chat:2", "sessions.1.session": "chat:1", "next": ""})
	w.want("GET", "/admin/api/sessions?limit=1", "", 200, map[string]any{"sessions.0.session": "chat:2", "sessions.1": nil})
	for _, q := range []string{"chat:1", "QUARTERLY", "ann+report", "chat:7+quarterly"} {
		w.want("GET", "/admin/api/sessions?q="+q, "", 200, map[string]any{
			"sessions.0.session": "chat:1", "sessions.1": nil, "sessions.0.title": "the quarterly report", "sessions.0.people.0": "Ann (chat:7)", "sessions.0.channel": "chat", "sessions.0.entries": 2.0,
		})
	}
	w.want("GET", "/admin/api/sessions?q=nothing", "", 200, map[string]any{"sessions.0": nil})
	w.want("GET", "/admin/api/sessions/chat:1", "", 200, map[string]any{
		"entries.0.kind": "user", "entries.0.sender": "Ann (chat:7)", "entries.1.kind": "assistant", "entries.1.usage.cost": 12_300_000.0, "may": true, "session.entries": 2.0,
	})
	w.want("GET", "/admin/api/sessions/chat:1?before=1&limit=5", "", 200, map[string]any{"entries.0.position": 0.0, "entries.1": nil})
	w.want("GET", "/admin/api/sessions/chat:1?from=1", "", 200, map[string]any{"entries.0.position": 1.0, "entries.1": nil})
	w.want("GET", "/admin/api/sessions/chat:1/totals", "", 200, map[string]any{"turns": 1.0, "usage.input": 1200.0, "tail": 2.0})
	w.say("chat:1", "more")
	w.settle()
	w.want("GET", "/admin/api/sessions/chat:1/totals", "", 200, map[string]any{"turns": 2.0, "usage.input": 2400.0, "tail": 4.0})
	w.want("GET", "/admin/api/sessions/chat:1/entries/1", "", 200, map[string]any{"kind": "assistant"})
	w.want("GET", "/admin/api/sessions/chat:1/export?format=jsonl", "", 200, map[string]any{"session": "chat:1"})
	for _, path := range []string{
		"/admin/api/sessions/chat:9", "/admin/api/sessions/a%20b", "/admin/api/sessions/chat:1/entries/99", "/admin/api/sessions/chat:9/export?format=jsonl",
		"/admin/api/sessions/chat:9/events", "/admin/api/nothing", "/admin/assets/nothing.js", "/admin/api/spend",
	} {
		w.want("GET", path, "", 404, nil)
	}
	for _, path := range []string{"/admin/api/sessions/chat:1/export?format=doc", "/admin/api/sessions/chat:1?from=x", "/admin/api/sessions?limit=-1"} {
		w.want("GET", path, "", 400, nil)
	}
}

func TestAnOwnerDecidesAndOthersMayOnlyLook(t *testing.T) {
	w := newWorld(t, options{tokens: []string{"a-long-secret-token"}})
	remote := []string{"Authorization", "Bearer a-long-secret-token", "X-Forwarded-For", "203.0.113.9"}
	local := remote[:2]
	w.want("GET", "/admin/api/sessions", "", 401, nil)
	w.want("GET", "/admin/api/state", "", 401, nil, "Authorization", "Bearer wrong")
	w.say("chat:1", "act")
	w.until("it waits", func() bool {
		list, err := w.gateway.PendingCalls(t.Context())
		return err == nil && len(list) == 1
	})
	w.want("GET", "/admin/api/state", "", 200, map[string]any{"owner": false, "you": "web:remote", "pending": 1.0}, remote...)
	w.want("GET", "/admin/api/state", "", 200, map[string]any{"owner": true, "you": "web:local"}, local...)
	answer := w.want("GET", "/admin/api/approvals", "", 200, map[string]any{"pending.0.session": "chat:1", "pending.0.show": "rm -rf build", "pending.0.always": true}, remote...)
	word := func(decision string) string {
		return fmt.Sprintf(`{"session":"chat:1","id":%q,"decision":%q}`, pick(answer, "pending.0.id"), decision)
	}
	w.want("POST", "/admin/api/approvals", word("approve"), 403, nil, remote...)
	w.want("POST", "/admin/api/sessions/chat:1/stop", "", 403, nil, remote...)
	w.want("DELETE", "/admin/api/sessions/chat:1", "", 403, nil, remote...)
	w.want("DELETE", "/admin/api/sessions/chat:1", "", 409, nil, local...)
	w.want("POST", "/admin/api/approvals", word("maybe"), 400, nil, local...)
	w.want("POST", "/admin/api/approvals", `{}`, 400, nil, local...)
	w.want("POST", "/admin/api/approvals", word("approve"), 403, nil, append(local[:2:2], "Origin", "https://evil.example")...)
	w.want("POST", "/admin/api/approvals", word("approve"), 403, nil, append(local[:2:2], "Sec-Fetch-Site", "cross-site")...)
	w.want("POST", "/admin/api/approvals", word("deny"), 202, nil, local...)
	w.settle()
	w.want("POST", "/admin/api/approvals", word("approve"), 404, nil, local...)
	w.want("POST", "/admin/api/sessions/chat:1/stop", "", 404, nil, local...)
	w.want("DELETE", "/admin/api/sessions/chat:1", "", 200, nil, local...)
	w.want("DELETE", "/admin/api/sessions/chat:1", "", 404, nil, local...)
}

func TestAnOwnerFromElsewhereIsOneWhoIsNamed(t *testing.T) {
	w := newWorld(t, options{tokens: []string{"a-long-secret-token"}, owners: []string{"web:remote"}})
	w.say("chat:1", "hello")
	w.settle()
	w.want("DELETE", "/admin/api/sessions/chat:1", "", 200, nil, "Authorization", "Bearer a-long-secret-token", "X-Forwarded-For", "203.0.113.9")
}

// events reads server-sent events until cond holds for one of them; then is
// called once the stream is open.
func (w *world) events(path string, last string, cond func(kind, id string, data map[string]any) bool, then ...func()) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, nil)
	must(w.t, err)
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	must(w.t, err)
	defer resp.Body.Close()
	for _, fn := range then {
		fn()
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	var kind, id string
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "event":
			kind = value
		case "id":
			id = value
		case "data":
			var data map[string]any
			must(w.t, json.Unmarshal([]byte(value), &data))
			if cond(kind, id, data) {
				return
			}
			kind, id = "", ""
		}
	}
	w.t.Fatalf("the stream of %s ended: %v", path, lines.Err())
}

func TestATailGoesOnWhereItWasWhateverTheBusLost(t *testing.T) {
	w := newWorld(t, options{})
	w.say("chat:1", "one")
	w.settle()
	w.events("/admin/api/sessions/chat:1/events", "", func(kind, id string, data map[string]any) bool {
		if kind == "entries" && (id != "2" || pick(data, "entries.0.text") != "one") {
			t.Errorf("from the start: %s %v", id, data)
		}
		return kind == "entries"
	})
	// What was appended while nobody followed comes first.
	w.say("chat:1", "two")
	w.settle()
	w.events("/admin/api/sessions/chat:1/events?from=0", "2", func(kind, id string, data map[string]any) bool {
		if kind == "entries" && (id != "4" || pick(data, "entries.0.text") != "two" || pick(data, "entries.2") != nil) {
			t.Errorf("from the last seen: %s %v", id, data)
		}
		return kind == "entries"
	})
	w.events("/admin/api/sessions/chat:1/events", "4", func(kind, _ string, data map[string]any) bool {
		if kind == "entries" && pick(data, "session.waiting") == nil && pick(data, "entries.0") == nil && pick(data, "session.owner") == nil {
			w.say("chat:1", "slow three") // it follows now, and is known to look
		}
		return kind == "live" && data["type"] == "text" && data["text"] == "It begins"
	})
	close(w.model.release)
	w.settle()
	must(t, w.gateway.RemoveSession(t.Context(), w.admin.local(), "chat:1"))
	w.say("chat:1", "anew")
	w.settle()
	w.events("/admin/api/sessions/chat:1/events", "6", func(kind, _ string, _ map[string]any) bool { return kind == "gone" })
}

func TestTheLogIsFollowedWithoutSecrets(t *testing.T) {
	w := newWorld(t, options{})
	w.log.Error("it broke", "err", "the key hunter22 is wrong")
	answer := w.want("GET", "/admin/api/log", "", 200, nil)
	if text := fmt.Sprint(answer); !strings.Contains(text, "it broke") || strings.Contains(text, "hunter22") {
		t.Errorf("the log is %s", text)
	}
	next := fmt.Sprint(int64(answer["next"].(float64)))
	w.events("/admin/api/log/events?from="+next, "", func(kind, id string, data map[string]any) bool {
		return kind == "lines" && pick(data, "lines.0.msg") == "and again" && id != ""
	}, func() { w.log.Warn("and again") })
}

func TestSpendIsSummedUpByEverything(t *testing.T) {
	w := newWorld(t, options{admin: func(c *Config) {
		c.Spend = spendSample
		c.Caps = func() Caps { return Caps{DailyUSD: 5} }
		c.Settings = func() []config.Setting { return nil }
	}})
	answer := w.want("GET", "/admin/api/spend?days=3", "", 200, map[string]any{
		"caps.daily_usd": 5.0, "models.0.name": "anthropic/claude-sonnet-4-6", "models.0.usd": 0.54, "models.0.calls": 36.0, "models.2": nil, "users.0.name": "chat:7", "sessions.0.name": "chat:1",
	})
	if n := len(answer["days"].([]any)); n != 6 {
		t.Errorf("%d rows of days", n)
	}
	w.say("chat:1", "hello")
	w.settle()
	if usd, _ := pick(w.want("GET", "/admin/api/sessions", "", 200, nil), "sessions.0.usd").(float64); usd <= 1 {
		t.Errorf("the session cost %v", usd)
	}
	w.want("GET", "/admin/api/spend?days=x", "", 400, nil)
}

func TestAPageThatCantBeFollowedSaysSo(t *testing.T) {
	w := newWorld(t, options{})
	for range maxStreams {
		w.admin.streams <- struct{}{}
	}
	w.want("GET", "/admin/api/log/events", "", 503, nil)
	for range maxStreams {
		<-w.admin.streams
	}
}

func TestThePageIsOneDocumentOfModestSizeThatLoadsNothingFromElsewhere(t *testing.T) {
	w := newWorld(t, options{})
	list, err := pageFiles.ReadDir("page")
	must(t, err)
	total := 0
	for _, file := range list {
		data, err := pageFiles.ReadFile("page/" + file.Name())
		must(t, err)
		total += len(data)
		text := string(data)
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "https://", "style=\""} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %s", file.Name(), bad)
			}
		}
	}
	if total > 90_000 {
		t.Errorf("the assets have %d bytes, at most 90,000 are allowed", total)
	}
	for _, path := range []string{"/admin/", "/admin/sessions/chat:1", "/admin/log"} {
		resp, err := w.client.Get(w.url + path)
		must(t, err)
		resp.Body.Close()
		csp := resp.Header.Get("Content-Security-Policy")
		if resp.StatusCode != http.StatusOK || !strings.Contains(csp, "script-src 'self'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s got %d with %q", path, resp.StatusCode, csp)
		}
	}
}
