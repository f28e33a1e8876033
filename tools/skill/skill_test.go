package skill

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clawbot/agentcore"
)

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSkillsAreFoundAndRead(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "report/SKILL.md", "---\nname: weekly-report\ndescription: >\n  Write the weekly\n  report.\ntools: [read_file, \"exec\"]\n---\n\nRead notes.txt first.\n")
	put(t, dir, "report/style/guide.md", "short sentences")
	put(t, dir, "plain/SKILL.md", "\ufeff---\r\ndescription: 'Says: hello'\r\nallowed-tools:\r\n  - search\r\n---\r\nHello.\r\n")
	put(t, dir, "notaskill/README.md", "x")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "report", "link")); err != nil {
		t.Fatal(err)
	}
	skills, err := Load([]string{dir, "/nonexistent"})
	if err != nil || len(skills) != 2 {
		t.Fatalf("%v %v", skills, err)
	}
	plain, report := skills[0], skills[1]
	if plain.Name != "plain" || plain.Description != "Says: hello" || !slices.Equal(plain.Tools, []string{"search"}) {
		t.Errorf("plain: %+v", plain)
	}
	if report.Name != "weekly-report" || report.Description != "Write the weekly report." || !slices.Equal(report.Tools, []string{"read_file", "exec"}) {
		t.Errorf("report: %+v", report)
	}
	if got := report.Missing(func(tool string) bool { return tool == "read_file" }); !slices.Equal(got, []string{"exec"}) {
		t.Errorf("missing: %v", got)
	}
	tool := Tool(skills)
	if !strings.Contains(tool.Description, "\n- weekly-report: Write the weekly report.") {
		t.Errorf("description: %s", tool.Description)
	}
	for args, want := range map[string]string{
		`{"name":"weekly-report"}`:                            "Read notes.txt first.\n\n[files of this skill, for `file`: style/guide.md]",
		`{"name":"Weekly-Report","file":"style/guide.md"}`:    "short sentences",
		`{"name":"weekly-report","file":"link"}`:              "no file",
		`{"name":"weekly-report","file":"../plain/SKILL.md"}`: "no file",
		`{"name":"weekly-report","file":"/etc/passwd"}`:       "no file",
		`{"name":"weekly-report","file":"style"}`:             "no text",
		`{"name":"none"}`:                                     "no skill",
	} {
		r, err := tool.Execute(t.Context(), agentcore.Call{Name: ToolName, Arguments: json.RawMessage(args)}, nil)
		message := agentcore.Message{Content: r.Content}
		got := message.Text()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

func TestASkillThatIsWrongSaysHowAndOthersStay(t *testing.T) {
	for text, want := range map[string]string{
		"no front matter": "does not begin with", "---\nname: a\n": "not closed", "---\nname: a b\ndescription: x\n---\nx": "letters, digits",
		"---\nname: a\n---\nx": "no description", "---\ndescription: x\n---\n\n": "says nothing", "---\nnonsense\n---\nx": "without a key", "---\ndescription: " + strings.Repeat("x", 2000) + "\n---\nx": "more than",
	} {
		dir := t.TempDir()
		put(t, dir, "bad/SKILL.md", text)
		put(t, dir, "good/SKILL.md", "---\ndescription: fine\n---\nok")
		skills, err := Load([]string{dir})
		if err == nil || !strings.Contains(err.Error(), want) || len(skills) != 1 {
			t.Errorf("%.20q: %v %v", text, skills, err)
		}
	}
}

func FuzzAFrontMatterNeverBreaksTheReader(f *testing.F) {
	f.Add("---\na: b\n- c\n  d\n---\ne")
	f.Add("---\nx: [a, 'b']\n---\n")
	f.Fuzz(func(t *testing.T, data string) {
		_, _, _ = frontMatter(data) // it must only not panic
	})
}
