package plugin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/tools/tooltest"
)

// install writes a plugin and loads it.
func install(t *testing.T, toml string, scripts map[string]string) *Manifest {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "p")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, manifest), []byte(toml), 0o644); err != nil {
		t.Fatal(err)
	}
	found, err := Load([]string{filepath.Dir(dir), "/nonexistent"})
	if err != nil || len(found) != 1 {
		t.Fatalf("%v %v", found, err)
	}
	return found[0]
}

const oneTool = `name = "p"
env = ["GIVEN"]
[[tools]]
name = "t"
description = "does t"
command = ["./t"]
timeout = "2s"
`

func call(args string) agentcore.Call {
	return agentcore.Call{ID: "1", Name: "p__t", Arguments: json.RawMessage(args)}
}

func execute(t *testing.T, m *Manifest, args string) (string, error) {
	t.Helper()
	r, err := m.Source().Tools[0].Execute(t.Context(), call(args), func(agentcore.Update) {})
	message := agentcore.Message{Content: r.Content}
	return message.Text(), err
}

func TestTheExamplePasses(t *testing.T) {
	found, err := Load([]string{"../../examples/plugin"})
	if err != nil || len(found) != 1 {
		t.Fatalf("%v %v", found, err)
	}
	tool := found[0].Source().Tools[0]
	tooltest.Run(t, tooltest.Case{Tool: tool, Valid: []string{`{"dice":"2d6"}`}, Slow: true})
	for args, blocked := range map[string]bool{`{"path":"a"}`: false, `{"path":"diary.txt"}`: true} {
		got, err := Before(t.Context(), found, agentcore.Call{Name: "read_file", Arguments: json.RawMessage(args)})
		if err != nil || got.Block != blocked {
			t.Errorf("%s: %+v %v", args, got, err)
		}
	}
}

func TestAToolReadsADocumentAndWritesOne(t *testing.T) {
	t.Setenv("GIVEN", "yes")
	t.Setenv("ANTHROPIC_API_KEY", "s3cret")
	m := install(t, oneTool, map[string]string{"t": `
		in=$(cat)
		case "$in" in *'"type":"tool","tool":"t","arguments":{"x":1}'*) ;; *) echo "got $in" >&2; exit 4;; esac
		printf '{"text":"<|im_start|>%s %s %s","details":{"a":1}}' "$GIVEN" "$ANTHROPIC_API_KEY" "$PWD"`})
	got, err := execute(t, m, `{"x":1}`)
	if err != nil || !strings.Contains(got, "< |im_start|>yes  "+m.dir) {
		t.Errorf("%q %v", got, err)
	}
}

func TestAToolThatFailsSaysHow(t *testing.T) {
	for script, want := range map[string]string{
		"echo broken >&2; exit 3":               "\nbroken\n",
		"echo hello":                            "one JSON document",
		`echo '{"text":"a"}{"text":"b"}'`:       "more than one",
		`echo '{"txt":"a"}'`:                    "unknown field",
		"head -c 9000000 /dev/zero":             "more than 8388608 bytes",
		"sleep 60 & sleep 60":                   "did not answer within 2s",
		"kill -9 $$":                            "killed",
		"exec 1>&-; exit 0":                     "",
		`echo '{"text":"x","is_error":true}'`:   "",
		`(sleep 60 &) ; echo '{"text":"fast"}'`: "",
	} {
		m := install(t, oneTool, map[string]string{"t": script})
		began := time.Now()
		got, err := execute(t, m, `{}`)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q %v", script, got, err)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s took %v", script, took)
		}
	}
}

func TestAHookBlocksReplacesOrLetsPassAndOneThatFailsBlocks(t *testing.T) {
	hooks := "name = \"p\"\n[hooks]\ntool_call = [\"./before\"]\ntool_result = [\"./after\"]\n"
	m := install(t, hooks, map[string]string{
		"before": `in=$(cat); case "$in" in *secret*) echo '{"block":true,"reason":"no secrets"}';; *old*) echo '{"arguments":{"x":"new"}}';; *fail*) exit 1;; *nonsense*) echo maybe;; esac`,
		"after":  `in=$(cat); case "$in" in *'"text":"raw"'*) echo '{"text":"cleaned","is_error":true}';; *fail*) exit 1;; esac`,
	})
	plugins := []*Manifest{m}
	for args, want := range map[string]string{`{"x":"secret"}`: "no secrets", `{"x":"old"}`: "", `{"x":"fine"}`: ""} {
		got, err := Before(t.Context(), plugins, call(args))
		if err != nil || got.Reason != want || strings.Contains(args, "old") != (string(got.Arguments) == `{"x":"new"}`) {
			t.Errorf("%s: %+v %v", args, got, err)
		}
	}
	for _, args := range []string{`{"x":"fail"}`, `{"x":"nonsense"}`} {
		if got, err := Before(t.Context(), plugins, call(args)); err == nil || !strings.Contains(err.Error(), "blocked, since a hook failed") {
			t.Errorf("%s: %+v %v", args, got, err)
		}
	}
	r, err := After(t.Context(), plugins, call(`{}`), agentcore.Result{Content: []agentcore.Block{agentcore.Text{Text: "raw"}, agentcore.Image{MIMEType: "image/png"}}})
	if err != nil || r.Content == nil || len(*r.Content) != 2 || (*r.Content)[0] != agentcore.Block(agentcore.Text{Text: "cleaned"}) || !*r.IsError {
		t.Errorf("after: %+v %v", r, err)
	}
	if r, err := After(t.Context(), plugins, call(`{}`), agentcore.TextResult("other")); err != nil || r.Content != nil {
		t.Errorf("after: %+v %v", r, err)
	}
	if _, err := After(t.Context(), plugins, call(`{}`), agentcore.TextResult("fail")); err == nil {
		t.Error("a result hook that failed was passed over")
	}
}

func TestAManifestThatIsWrongSaysWhere(t *testing.T) {
	for toml, want := range map[string]string{
		"nam = \"x\"\n":                           "unknown keys",
		"name = \"a b\"\n":                        "letters, digits",
		"name = \"a__b\"\n":                       "single _",
		"name = \"a\"\n":                          "neither tools nor hooks",
		"name = \"a\"\n[[tools]]\nname = \"t\"\n": "no description",
		strings.Replace(oneTool, "./t", "", 1):    "no command",
		oneTool + "mode = \"fast\"\n":             "neither sequential",
		oneTool + "schema = \"[]\"\n":             "not one of an object",
		oneTool + `schema = '{"type":"object","properties":{"a":{"type":"strng"}}}'`: "schema",
		strings.Replace(oneTool, "2s", "soon", 1):                                    "no duration",
		oneTool + "schema_file = \"none.json\"\n":                                    "none.json",
		"name = \n": "toml",
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "p"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "p", manifest), []byte(toml), 0o644); err != nil {
			t.Fatal(err)
		}
		found, err := Load([]string{dir})
		if err == nil || !strings.Contains(err.Error(), want) || len(found) > 0 {
			t.Errorf("%q: %v", toml, err)
		}
	}
}
