package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"clawbot/internal/modeltest"
)

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", name))
	must(t, err)
	return string(text)
}

func blocks(text, language string) (list []string) {
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

func TestTheDocumentedMCPServerWorksAsDocumented(t *testing.T) {
	config := ""
	for _, block := range blocks(page(t, "mcp.md"), "toml") {
		if strings.Contains(block, "notes.py") {
			config = block
		}
	}
	server, err := os.ReadFile("../../examples/mcp/notes.py")
	must(t, err)
	w := newWorld(t, options{
		config: config, files: map[string]string{"notes.py": string(server)},
		script: modeltest.Turns(use("c1", "notes__add", `{"text":"the milk is out"}`), use("c2", "notes__add", `{"text":"bread, too"}`), modeltest.Say("Noted.")),
	})
	if list := w.cli("tools", "list"); !matches(list, `(?m)^notes__add +mcp:notes +never +-$`) {
		t.Errorf("the list:\n%s", list)
	}
	w.say("note it")
	w.answer("Noted.")
	if got := result(t, w.model.Requests()[2], "c2"); !strings.Contains(got, "the milk is out\nbread, too") {
		t.Errorf("the notes: %q", got)
	}
}

func TestTheDocumentedToolInGoIsTheExamplesAndAnswersAsDocumented(t *testing.T) {
	text := page(t, "tools.md")
	program, err := os.ReadFile("../../examples/mybot/main.go")
	must(t, err)
	code := blocks(text, "go")
	if len(code) < 3 {
		t.Fatalf("%d blocks of Go", len(code))
	}
	for _, block := range code {
		if !strings.Contains(string(program), block) {
			t.Errorf("examples/mybot has no\n%s", block)
		}
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "mybot")
	if out, err := exec.Command("go", "build", "-o", binary, "clawbot/examples/mybot").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(text, "time in Lima\nIn Lima it is tea time.\n") {
		t.Error("the page does not say what the example's own test sees")
	}
}
