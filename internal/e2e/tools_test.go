package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

// install writes files below the configuration's folder; scripts are
// executable.
func install(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		must(t, os.WriteFile(file, []byte(text), mode))
	}
}

// hookedPlugin has a tool, and hooks that do everything a hook may do.
var hookedPlugin = map[string]string{
	"watch/plugin.toml": `name = "watch"
[[tools]]
name = "look"
description = "Looks at something. what: what to look at."
schema = '{"type":"object","properties":{"what":{"type":"string"}},"required":["what"]}'
command = ["./look"]
[hooks]
tool_call = ["./before"]
tool_result = ["./after"]
`,
	"watch/look": `#!/bin/sh
in=$(cat)
case "$in" in
*'"role":"owner"'*) ;;
*) echo "who is this: $in" >&2; exit 1 ;;
esac
what=${in#*'"what":"'}
printf '{"text":"saw %s"}' "${what%%\"*}"
`,
	"watch/before": `#!/bin/sh
in=$(cat)
case "$in" in
*diary*) echo '{"block":true,"reason":"The diary is private."}' ;;
*old.txt*) echo '{"arguments":{"path":"new.txt"}}' ;;
*wrong.txt*) echo '{"arguments":{"path":{}}}' ;;
*broken*) echo "the hook is broken" >&2; exit 1 ;;
*late*) exec sleep 60 ;;
*nonsense*) echo maybe ;;
esac
`,
	"watch/after": `#!/bin/sh
in=$(cat)
case "$in" in
*'"text":"'*hunter2*) echo '{"text":"(a secret was here)"}' ;;
*unlucky*) echo "no luck" >&2; exit 1 ;;
esac
`,
}

func TestHooksOfAPluginBlockReplaceCleanAndFailClosed(t *testing.T) {
	dir := t.TempDir()
	install(t, dir, hookedPlugin)
	calls := []struct{ id, tool, args, want string }{
		{"look", "watch__look", `{"what":"stars"}`, "saw stars"},
		{"schema", "watch__look", `{}`, "/what: Expected required property"},
		{"blocked", "read_file", `{"path":"diary.txt"}`, "The diary is private."},
		{"replaced", "read_file", `{"path":"old.txt"}`, "the new one"},
		{"invalid", "read_file", `{"path":"wrong.txt"}`, "/path: Expected string"},
		{"broken", "read_file", `{"path":"broken.txt"}`, "blocked, since a hook failed"},
		{"late", "read_file", `{"path":"late.txt"}`, "did not answer within 5s"},
		{"nonsense", "read_file", `{"path":"nonsense.txt"}`, "blocked, since a hook failed"},
		{"cleaned", "read_file", `{"path":"password.txt"}`, "(a secret was here)"},
		{"unlucky", "write_file", `{"path":"unlucky.txt","content":"x"}`, "The tool completed"},
	}
	var turns []modeltest.Turn
	for _, c := range calls {
		turns = append(turns, use(c.id, c.tool, c.args))
	}
	w := newWorld(t, options{
		config: fmt.Sprintf("[tools.plugins]\ndirs = [%q]\n[log]\naudit = \"audit.jsonl\"", dir),
		script: modeltest.Turns(append(turns, modeltest.Say("That is all."))...),
	})
	for name, text := range map[string]string{"diary.txt": "dear diary", "old.txt": "the old one", "new.txt": "the new one", "password.txt": "hunter2"} {
		must(t, os.WriteFile(w.workspace(name), []byte(text), 0o644))
	}
	w.say("look around")
	w.answer("That is all.")
	requests := w.model.Requests()
	last := requests[len(requests)-1]
	for _, c := range calls {
		if got := result(t, last, c.id); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.id, got, c.want)
		}
	}
	if last.Mentions("dear diary") || last.Mentions("hunter2") || last.Mentions("the old one") {
		t.Error("the model has seen what a hook kept from it")
	}
	if _, err := os.Stat(w.workspace("unlucky.txt")); err != nil {
		t.Errorf("a tool whose result hook failed did not run: %v", err)
	}
	refused := map[string]string{}
	log, err := os.ReadFile(filepath.Join(w.dir, "audit.jsonl"))
	must(t, err)
	for line := range strings.Lines(string(log)) {
		var r struct{ Call, Outcome, Detail string }
		must(t, json.Unmarshal([]byte(line), &r))
		if r.Outcome == "refused" {
			refused[r.Call] = r.Detail
		}
	}
	if !strings.Contains(refused["blocked"], "private") || !strings.Contains(refused["broken"], "hook failed") || refused["schema"] == "" || len(refused) != 6 {
		t.Errorf("the audit log has as refused: %v", refused)
	}
}

func TestTheDocumentedPluginWorksAsDocumented(t *testing.T) {
	dir := t.TempDir()
	must(t, os.CopyFS(filepath.Join(dir, "dice"), os.DirFS("../../examples/plugin/dice")))
	w := newWorld(t, options{
		config: fmt.Sprintf("[tools.plugins]\ndirs = [%q]", dir),
		script: modeltest.Turns(use("c1", "dice__roll", `{"dice":"3d1"}`), use("c2", "dice__roll", `{"dice":"many"}`), modeltest.Say("Rolled.")),
	})
	if list := w.cli("tools", "list"); !matches(list, `(?m)^dice__roll +plugin:dice +never +-$`) {
		t.Errorf("the list:\n%s", list)
	}
	w.say("roll")
	w.answer("Rolled.")
	last := w.model.Requests()[2]
	if got := result(t, last, "c1"); !strings.Contains(got, "1 1 1, 3 in all") {
		t.Errorf("rolled %q", got)
	}
	if got := result(t, last, "c2"); !strings.Contains(got, "/dice") {
		t.Errorf("what is no dice: %q", got)
	}
}

// talk answers a message of the form "tool {arguments}" with that call, and
// then says what came of it.
func talk(_ context.Context, req *modeltest.Request) modeltest.Turn {
	if req.Last().Role == "tool" {
		return modeltest.Say("Result: " + req.Last().Text)
	}
	said := req.LastUser()
	if i := strings.LastIndex(said, "use "); i >= 0 {
		name, args, _ := strings.Cut(said[i+len("use "):], " ")
		return modeltest.Use(name, args)
	}
	return modeltest.Say(fmt.Sprintf("Tools: %v", toolsOf(req)))
}

func TestWhoAndWhereDecidesWhichToolsThereAre(t *testing.T) {
	const room, other, mod int64 = -1001, -1002, 3
	program, _ := mcpScript(t)
	w := newWorld(t, options{script: talk, config: fmt.Sprintf(`
[tools.mcp.test]
command = [%q]
[tools.roles.admin]
enabled = ["test__add", "read_file"]
[tools.channels."telegram:%d"]
enabled = ["list_dir"]
deny = ["test__picture"]
`, program, other)})
	admin := channeltest.ChatOptions{Title: "Room", Admins: []int64{mod}}
	w.telegram.AddChat(room, admin)
	w.telegram.AddChat(other, admin)
	w.telegram.SetPerson(mod, channeltest.Person{Name: "Mo"})
	bot := "@" + w.telegram.Username() + " "
	answered := map[int64]int{}
	for _, c := range []struct {
		who       string
		chat, by  int64
		has, lack []string
	}{
		{"the owner in private", ana, ana, []string{"exec", "test__add", "test__picture"}, []string{"test__typo"}},
		{"a stranger in a room", room, ben, []string{"current_time", "web_fetch"}, []string{"exec", "read_file", "test__add"}},
		{"an administrator in a room", room, mod, []string{"test__add", "read_file"}, []string{"exec", "write_file", "test__picture"}},
		{"a stranger in another room", other, ben, []string{"list_dir", "current_time"}, []string{"test__add", "read_file"}},
		{"the owner in another room", other, ana, []string{"exec", "test__add", "list_dir"}, []string{"test__picture"}},
	} {
		n := w.model.Count()
		text := "what do you have?"
		if c.chat < 0 {
			text = bot + text
		}
		w.telegram.SendText(c.chat, c.by, text)
		w.until("the model is asked", func() bool { return w.model.Count() > n })
		names := toolsOf(w.model.Requests()[n])
		for _, name := range c.has {
			if !slices.Contains(names, name) {
				t.Errorf("%s has no %s: %v", c.who, name, names)
			}
		}
		for _, name := range c.lack {
			if slices.Contains(names, name) {
				t.Errorf("%s has %s", c.who, name)
			}
		}
		answered[c.chat]++
		w.waitIn(c.chat, func(messages []channeltest.SentMessage) bool {
			n := 0
			for _, m := range messages {
				if strings.HasPrefix(m.Text, "Tools: ") && strings.HasSuffix(m.Text, "]") {
					n++
				}
			}
			return n == answered[c.chat]
		})
	}
	w.telegram.SendText(room, ben, bot+`use test__add {"a":1,"b":1}`)
	w.sayingIn(room, "Result: Tool test__add not found")
}

func TestDeferredToolsAreFoundAndCalled(t *testing.T) {
	program, _ := mcpScript(t)
	w := newWorld(t, options{script: talk, config: fmt.Sprintf("[tools.mcp.test]\ncommand = [%q]\ndefer = true\n[tools]\ndeny = [\"test__picture\"]", program)})
	if list := w.cli("tools", "list"); !matches(list, `(?m)^test__add .* - \(found with find_tools\)$`) {
		t.Errorf("the list:\n%s", list)
	}
	w.say("what do you have?")
	if has := w.saying("Tools: "); !strings.Contains(has, "find_tools") || strings.Contains(has, "test__") {
		t.Errorf("declared: %s", has)
	}
	w.say(`use find_tools {"query":"adds numbers"}`)
	if found := w.saying("test__add: adds numbers"); !strings.Contains(found, `"type":"integer"`) {
		t.Errorf("found: %s", found)
	}
	w.say(`use test__add {"a":20,"b":22}`)
	w.saying("the sum is 42")
	w.say(`use test__picture {}`)
	w.saying("Tool test__picture not found")
	w.say("and now?")
	w.until("an answer", func() bool { return w.answers("Tools: ") == 2 })
}

func TestSkillsAreOfferedReadAndRun(t *testing.T) {
	dir := t.TempDir()
	install(t, dir, map[string]string{
		"report/SKILL.md":       "---\nname: report\ndescription: Writes the weekly report.\ntools: [read_file]\n---\nGroup by project. The tone is in style/guide.md.\n",
		"report/style/guide.md": "No adjectives.",
		"launch/SKILL.md":       "---\ndescription: Launches rockets.\ntools: rockets\n---\nCount down.\n",
		"broken/SKILL.md":       "no front matter",
	})
	w := newWorld(t, options{script: talk, config: fmt.Sprintf("[skills]\ndirs = [%q]", dir)})
	if list := w.cli("tools", "list"); !matches(list, `skill report +skills`) || !matches(list, `skill launch .*context-mismatch: it needs rockets`) {
		t.Errorf("the list:\n%s", list)
	}
	w.bot.waitLog("skills are left out")
	w.say("what do you have?")
	w.saying("read_skill")
	described := ""
	for _, tool := range w.model.Requests()[0].Tools {
		if tool.Name == "read_skill" {
			described = tool.Description
		}
	}
	if !strings.Contains(described, "report: Writes the weekly report.") || strings.Contains(described, "rockets") {
		t.Errorf("the model is offered %q", described)
	}
	w.say(`use read_skill {"name":"report"}`)
	w.saying("Group by project.")
	w.say(`use read_skill {"name":"report","file":"style/guide.md"}`)
	w.saying("No adjectives.")
	w.say(`use read_skill {"name":"report","file":"../../clawbot.toml"}`)
	w.saying(`has no file`)
	w.say(`use read_skill {"name":"launch"}`)
	w.saying(`there is no skill "launch" here`)
	n := w.model.Count()
	w.say("/skill report for May")
	w.until("the model is asked", func() bool { return w.model.Count() > n })
	if req := w.model.Requests()[n]; !strings.Contains(req.LastUser(), "report") || !strings.Contains(req.LastUser(), "for May") {
		t.Errorf("/skill asks %q", req.LastUser())
	}
}
