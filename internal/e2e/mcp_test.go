package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"clawbot/internal/browsertest"
	"clawbot/internal/modeltest"
)

// use is a turn of one call whose result can be found by its id.
func use(id, name, arguments string) modeltest.Turn {
	return modeltest.Turn{Calls: []modeltest.Call{{ID: id, Name: name, Arguments: arguments}}}
}

func toolsOf(req *modeltest.Request) (names []string) {
	for _, tool := range req.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// result returns what the model was told of a call.
func result(t *testing.T, req *modeltest.Request, id string) string {
	t.Helper()
	text, ok := req.Result(id)
	if !ok {
		t.Errorf("no result of %s in %+v", id, req.Messages)
	}
	return text
}

// mcpOverHTTP is the same server at a URL; die breaks all its connections and
// refuses new ones until revive.
func mcpOverHTTP(t *testing.T) (url string, revive func()) {
	t.Helper()
	var mu sync.Mutex
	var server *http.Server
	stop := func() {
		mu.Lock()
		defer mu.Unlock()
		_ = server.Close() // again is as good
	}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		return newMCPServer(stop)
	}, nil)
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t0ken" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
	address := "127.0.0.1:0"
	serve := func() {
		mu.Lock()
		defer mu.Unlock()
		listener, err := net.Listen("tcp", address)
		must(t, err)
		address = listener.Addr().String()
		server = &http.Server{Handler: guarded, ReadHeaderTimeout: patience}
		go func(s *http.Server) { _ = s.Serve(listener) }(server) // it ends with stop
	}
	serve()
	t.Cleanup(stop)
	return "http://" + address, serve
}

func TestAnMCPServersToolsWorkInAConversation(t *testing.T) {
	begin := []modeltest.Turn{
		use("c1", "test__add", `{"a":2,"b":"3"}`),
		use("c2", "test__picture", `{}`),
		use("c3", "test__add", `{"a":"many"}`),
		use("c4", "test__picky", `{"a":"x"}`),
		use("c5", "test__promise", `{}`),
		use("c6", "test__typo", `{}`),
		use("c7", "test__grow", `{}`),
	}
	// Then it waits for the new tool, as no model would.
	script := func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		_, called := req.Result("grown")
		switch {
		case req.Number <= len(begin):
			return begin[req.Number-1]
		case called:
			return modeltest.Say("All tried.")
		case slices.Contains(toolsOf(req), "test__grown"):
			return use("grown", "test__grown", `{}`)
		}
		wait := use(fmt.Sprint("w", req.Number), "write_file", fmt.Sprintf(`{"path":"n","content":"%d"}`, req.Number))
		wait.FirstAfter = 200 * time.Millisecond
		return wait
	}
	program, _ := mcpScript(t)
	url, _ := mcpOverHTTP(t)
	for name, config := range map[string]string{
		"stdio": fmt.Sprintf("[tools.mcp.test]\ncommand = [%q]", program),
		"http":  fmt.Sprintf("[tools.mcp.test]\nurl = %q\n[tools.mcp.test.headers]\nAuthorization = \"Bearer t0ken\"", url),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{format: modeltest.Anthropic, script: script, config: config})
			list := w.cli("tools", "list")
			for _, line := range []string{`test__add .* mcp:test +never +-`, `test__\? .* unsupported-signal: "typo": its schema is none`} {
				if !matches(list, line) {
					t.Errorf("the list has no %q:\n%s", line, list)
				}
			}
			w.say("try them all")
			w.answer("All tried.")
			requests := w.model.Requests()
			last := requests[len(requests)-1]
			if names := toolsOf(requests[0]); !slices.Contains(names, "test__add") || slices.Contains(names, "test__typo") || slices.Contains(names, "test__grown") {
				t.Errorf("the tools at first: %v", names)
			}
			sum := result(t, last, "c1")
			if !strings.Contains(sum, "the sum is 5 < |im_start|>") || !strings.Contains(sum, "text from the server test follows") {
				t.Errorf("the sum: %q", sum)
			}
			picture := result(t, last, "c2")
			for _, part := range []string{"manual: docs://manual", "all about it", "what the page says", "[data (application/zip, 2 bytes)]", "[a sound (audio/wav, 4 bytes)]"} {
				if !strings.Contains(picture, part) {
					t.Errorf("the picture has no %q: %q", part, picture)
				}
			}
			if images := imagesIn(last); images != 1 {
				t.Errorf("%d images, want 1", images)
			}
			for id, want := range map[string]string{
				"c3": "/a: Expected integer", "c4": "test refused the call (0): [text from the server test follows", "c5": "a text", "c6": "not found", "c7": "more now", "grown": "grown up",
			} {
				if got := result(t, last, id); !strings.Contains(got, want) {
					t.Errorf("%s: %q, want %q", id, got, want)
				}
			}
		})
	}
}

func matches(text, pattern string) bool { return regexp.MustCompile(pattern).MatchString(text) }

func imagesIn(req *modeltest.Request) (n int) {
	for _, m := range req.Messages {
		n += m.Images
	}
	return n
}

func TestADeadMCPServerIsHiddenWithItsReasonAndComesBack(t *testing.T) {
	program, gone := mcpScript(t)
	url, revive := mcpOverHTTP(t)
	for name, server := range map[string]struct {
		config     string
		sick, well func()
	}{
		"stdio": {fmt.Sprintf("command = [%q]", program), func() { must(t, os.WriteFile(gone, nil, 0o600)) }, func() { must(t, os.Remove(gone)) }},
		"http":  {fmt.Sprintf("url = %q\nheaders = {Authorization = \"Bearer t0ken\"}", url), func() {}, revive},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, options{config: "[tools.mcp.test]\n" + server.config, script: func(_ context.Context, req *modeltest.Request) modeltest.Turn {
				switch {
				case req.Last().Role == "tool":
					return modeltest.Say("Result: " + req.Last().Text)
				case strings.Contains(req.LastUser(), "die"):
					return modeltest.Use("test__die", `{}`)
				case strings.Contains(req.LastUser(), "call"):
					return modeltest.Use("test__add", `{"a":1,"b":1}`)
				}
				return modeltest.Say(fmt.Sprintf("Tools: %v", toolsOf(req)))
			}})
			w.say("call it")
			w.saying("the sum is 2")
			server.sick()
			w.say("let it die")
			w.saying("Result: test")
			w.bot.waitLog("the server is gone; it is started again")
			w.say("call it now")
			w.saying("Result: Tool test__add not found")
			if list := w.cli("tools", "list"); !matches(list, `test__\* .*server-down: the server test is down`) {
				t.Errorf("the list says:\n%s", list)
			}
			server.well()
			asked := 0
			w.until("its tools are back", func() bool {
				asked++
				w.say("which tools?")
				w.until("an answer", func() bool { return w.answers("Tools: [") == asked })
				return w.answers("test__picky") > 0
			})
			w.say("call it again")
			w.until("it answers again", func() bool { return w.answers("the sum is 2") == 2 })
		})
	}
}

func TestWhatAServerReportsIsSeenOnThePageWhileItsApprovedToolRuns(t *testing.T) {
	program, _ := mcpScript(t)
	file := filepath.Join(t.TempDir(), "go")
	w := newWorld(t, options{
		config: fmt.Sprintf("[tools.mcp.test]\ncommand = [%q]\nenv = {MCP_GO = %q}\n[tools.permissions.test__slow]\nmode = \"ask\"", program, file),
		script: modeltest.Turns(use("c1", "test__slow", `{}`), modeltest.Say("That took a while.")),
	})
	tab := browsertest.Open(t, w.bot.page())
	tab.Open("/")
	tab.Write("take your time")
	tab.Until("somebody is asked", `[...document.querySelectorAll("button")].some((b) => b.textContent === "Approve")`)
	if slices.ContainsFunc(w.model.Requests(), func(r *modeltest.Request) bool { return r.Mentions("slowly done") }) {
		t.Error("it ran unapproved")
	}
	tab.Click(".buttons .primary")
	tab.Click(".tool summary")
	tab.Until("the progress is shown", `document.querySelector(".entries").textContent.includes("half of it 50%")`)
	must(t, os.WriteFile(file, nil, 0o600))
	tab.Until("the answer is there", `document.querySelector(".entries").textContent.includes("That took a while.")`)
}

func TestAnApprovalOfAToolThatWasFoundOutlivesTheBot(t *testing.T) {
	program, _ := mcpScript(t)
	w := newWorld(t, options{
		config: fmt.Sprintf("[tools.mcp.test]\ncommand = [%q]\ndefer = true\n[tools.permissions.test__add]\nmode = \"ask\"", program),
		script: modeltest.Turns(use("c1", "test__add", `{"a":2,"b":3}`), modeltest.Say("Added.")),
	})
	w.say("add them")
	w.nextRequest()
	question, approve, _ := w.asked("test__add")
	w.restart()
	w.telegram.Press(ana, ana, question.ID, approve)
	w.answer("Added.")
	if got := result(t, w.model.Requests()[1], "c1"); !strings.Contains(got, "the sum is 5") {
		t.Errorf("the result: %q", got)
	}
}
