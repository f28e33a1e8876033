package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/agentcore"
	"clawbot/providers"
	"clawbot/providers/demo"
)

const readme = "Some words.\n\n# The workspace\n\nMore.\n\n```sh\n# a comment\n```\n## Second\n"

// world runs the demo model in the real loop with small tools.
type world struct {
	t      *testing.T
	files  map[string]string
	calls  []string
	steers map[int]string // after so many tool calls, what is said
	text   strings.Builder
	all    []*agentcore.Message
	model  agentcore.Model
	tools  []*agentcore.Tool
	max    int
}

func newWorld(t *testing.T, name string) *world {
	model, err := demo.New(providers.Config{Name: "demo"}, name)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, model: model, files: map[string]string{"README.md": readme, "notes.txt": "milk\neggs\n"}}
	w.tool("read_file", `"path":{"type":"string"}`, func(args map[string]string) (string, error) {
		text, ok := w.files[args["path"]]
		if !ok {
			return "", errors.New(args["path"] + " does not exist")
		}
		return text, nil
	})
	w.tool("write_file", `"path":{"type":"string"},"content":{"type":"string"}`, func(args map[string]string) (string, error) {
		w.files[args["path"]] = args["content"]
		return "Created", nil
	})
	w.tool("list_dir", `"path":{"type":"string"}`, func(args map[string]string) (string, error) { return "README.md  12", nil })
	w.tool("current_time", `"zone":{"type":"string"}`, func(args map[string]string) (string, error) { return "noon " + args["zone"], nil })
	return w
}

func (w *world) tool(name, properties string, run func(map[string]string) (string, error)) {
	w.tools = append(w.tools, &agentcore.Tool{
		Name: name, Schema: json.RawMessage(`{"type":"object","properties":{` + properties + `}}`), Mode: agentcore.Sequential,
		Execute: func(_ context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
			var args map[string]string
			if err := json.Unmarshal(call.Arguments, &args); err != nil {
				return agentcore.Result{}, err
			}
			w.calls = append(w.calls, name+" "+string(call.Arguments))
			text, err := run(args)
			return agentcore.TextResult(text), err
		},
	})
}

// ask runs one message to its end and returns what was said.
func (w *world) ask(ctx context.Context, text string) string {
	w.t.Helper()
	w.text.Reset()
	loop := agentcore.New(agentcore.Config{Model: w.model, Tools: w.tools, Messages: w.all, MaxIterations: w.max,
		SteeringMessages: func(context.Context) ([]*agentcore.Message, error) {
			if s, ok := w.steers[len(w.calls)]; ok {
				delete(w.steers, len(w.calls))
				return []*agentcore.Message{user(s)}, nil
			}
			return nil, nil
		}})
	for ev, err := range loop.Run(ctx, []*agentcore.Message{user(text)}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if ev.Type == agentcore.MessageUpdate && ev.Delta.Type == agentcore.StreamText {
			w.text.WriteString(ev.Delta.Delta)
		}
	}
	w.all = loop.Messages()
	return w.text.String()
}

func user(text string) *agentcore.Message {
	return &agentcore.Message{Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Text{Text: text}}}
}

func TestTheDemoModelAnswersThroughTools(t *testing.T) {
	for _, c := range []struct{ ask, call, want string }{
		{"read README.md and tell me its first heading", `read_file {"path":"README.md"}`, "The first heading of README.md is “The workspace”."},
		{"Read README.md and tell me its first heading", `read_file {"path":"README.md"}`, "The first heading of README.md is “The workspace”."},
		{"read `notes.txt`", `read_file {"path":"notes.txt"}`, "milk"},
		{"What's in notes.txt?", `read_file {"path":"notes.txt"}`, "eggs"},
		{"how many lines does notes.txt have?", `read_file {"path":"notes.txt"}`, "notes.txt has 2 lines."},
		{"read nothing.txt", `read_file {"path":"nothing.txt"}`, "nothing.txt does not exist"},
		{"list the files", `list_dir {"path":"."}`, "README.md"},
		{"what files are in src/app?", `list_dir {"path":"src/app"}`, "README.md"},
		{"time in Lima", `current_time {"zone":"America/Lima"}`, "In Lima it is noon America/Lima."},
		{"What time is it?", `current_time {}`, "It is noon"},
		{`write "hello world" to test.txt`, `write_file {"content":"hello world","path":"test.txt"}`, "“hello world”"},
		{"⟦Ann · U1⟧\n read notes.txt", `read_file {"path":"notes.txt"}`, "milk"},
		{`call list_dir {"path":"x"}`, `list_dir {"path":"x"}`, "`list_dir` answered"},
	} {
		w := newWorld(t, demo.Instant)
		got := w.ask(t.Context(), c.ask)
		if len(w.calls) != 1 || w.calls[0] != c.call || !strings.Contains(got, c.want) {
			t.Errorf("%q: called %q and said %q; want %q and %q", c.ask, w.calls, got, c.call, c.want)
		}
	}
}

func TestWithMinusMOnlyTheHeadingIsSaid(t *testing.T) {
	w := newWorld(t, demo.Instant)
	if got := w.ask(t.Context(), "read README.md and tell me its first heading"); got != "The first heading of README.md is “The workspace”." {
		t.Errorf("said %q", got)
	}
}

func TestWithoutToolsTheDemoModelExplainsItself(t *testing.T) {
	for ask, want := range map[string]string{
		"hello":                     "demo model",
		"what can you do?":          "demo model",
		"solve the halting problem": "I don't understand “solve the halting problem”",
		"a long answer":             "| Step | Who |",
		"Explain how a message travels through you, step by step, with a table and a code example": "```go",
		"count to 3":       "1\n2\n3\n",
		"say “cheese”":     "cheese",
		"time in Atlantis": "Atlantis",
	} {
		w := newWorld(t, demo.Instant)
		if got := w.ask(t.Context(), ask); !strings.Contains(got, want) || len(w.calls) > 0 {
			t.Errorf("%q: said %q after %q; want %q", ask, got, w.calls, want)
		}
	}
}

func TestTwoPlacesAreAskedForAtOnce(t *testing.T) {
	w := newWorld(t, demo.Instant)
	got := w.ask(t.Context(), "time in Tokyo and Lima?")
	if got != "In Tokyo it is noon Asia/Tokyo.\nIn Lima it is noon America/Lima." || len(w.all) != 5 {
		t.Errorf("said %q in %d messages", got, len(w.all))
	}
}

func TestAFileIsReadChangedAndReadBack(t *testing.T) {
	w := newWorld(t, demo.Instant)
	w.files["test.txt"] = "hello world"
	got := w.ask(t.Context(), "replace world with openclaw in test.txt")
	if w.files["test.txt"] != "hello openclaw" || len(w.calls) != 3 || !strings.Contains(got, "hello openclaw") {
		t.Errorf("file %q after %q, said %q", w.files["test.txt"], w.calls, got)
	}
}

func TestASteeringMessageIsTakenUpInTheMiddle(t *testing.T) {
	w := newWorld(t, demo.Instant)
	w.steers = map[int]string{2: "what is in notes.txt?"}
	got := w.ask(t.Context(), "Count to 30 slowly, one number per line")
	at := func(s string) int {
		t.Helper()
		i := strings.Index(got, s)
		if i < 0 {
			t.Fatalf("%q is missing in %q", s, got)
		}
		return i
	}
	if !(at("\n10\n") < at("You also asked: “what is in notes.txt?”") && at("You also asked") < at("milk") && at("milk") < at("Now on with") && at("Now on with") < at("\n11\n") && at("\n11\n") < at("That was 30.")) {
		t.Errorf("in another order: %q", got)
	}
	if strings.Count(got, "11\n") != 1 || strings.Count(got, "You also asked") != 1 {
		t.Errorf("something was said twice: %q", got)
	}
}

func TestASteeringMessageCanEndTheCounting(t *testing.T) {
	w := newWorld(t, demo.Instant)
	w.steers = map[int]string{1: "stop, that's enough"}
	got := w.ask(t.Context(), "count to 30 slowly")
	if strings.Contains(got, "6\n") || !strings.Contains(got, "I stop here") {
		t.Errorf("said %q", got)
	}
}

func TestTheNextTurnStartsAfresh(t *testing.T) {
	w := newWorld(t, demo.Instant)
	w.ask(t.Context(), "count to 7 slowly")
	if got := w.ask(t.Context(), "time in Lima"); got != "In Lima it is noon America/Lima." {
		t.Errorf("said %q", got)
	}
	if got := w.ask(t.Context(), "what did I say?"); !strings.Contains(got, "count to 7 slowly") {
		t.Errorf("said %q", got)
	}
}

func TestAtTheLimitItGivesAnAccount(t *testing.T) {
	w := newWorld(t, demo.Instant)
	w.max = 3
	if got := w.ask(t.Context(), "count to 100 slowly"); !strings.Contains(got, "3 tool calls") {
		t.Errorf("said %q", got)
	}
}

func TestAnAbortEndsTheStreamAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, err := demo.New(providers.Config{Name: "demo"}, "demo")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Second, cancel)
		began, words := time.Now(), 0
		var last error
		for ev, err := range model.Stream(ctx, &agentcore.Request{Messages: []*agentcore.Message{user("count to 100 slowly")}}) {
			if last = err; err == nil && ev.Type == agentcore.StreamText {
				words++
			}
		}
		if agentcore.ClassOf(last) != agentcore.ErrAborted || time.Since(began) != 2*time.Second || words < 5 || words > 20 {
			t.Errorf("%d words in %s, then %v", words, time.Since(began), last)
		}
	})
}
