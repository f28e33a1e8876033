package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readAudit returns the audit log's lines once it has n of them.
func readAudit(t *testing.T, file string, n int) []map[string]any {
	t.Helper()
	for {
		data, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if strings.Count(string(data), "\n") >= n {
			var out []map[string]any
			for line := range strings.Lines(string(data)) {
				var record map[string]any
				if err := json.Unmarshal([]byte(line), &record); err != nil {
					t.Fatalf("%v in %s", err, line)
				}
				out = append(out, record)
			}
			return out
		}
		waitABit(t)
	}
}

func TestTheAuditLogOutlivesRotationAndHoldsNoSecret(t *testing.T) {
	p := startRun(t, t.TempDir(), demoConfig+"token = \"a-secret-token-0123456789\"\n[log]\naudit = \"audit.jsonl\"\n")
	p.token = "a-secret-token-0123456789"
	file := filepath.Join(p.home, "audit.jsonl")
	if first := readAudit(t, file, 1)[0]; first["event"] != "start" || first["config"] != "clawbot.toml" {
		t.Errorf("first line: %v", first)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	say(t, p, `write "a-secret-token-0123456789" to test.txt`)
	lines := readAudit(t, file, 3)
	begun, ended := lines[1], lines[2]
	if begun["tool"] != "write_file" || begun["outcome"] != "begun" || ended["outcome"] != "ok" || begun["sender"] != "web:token" && begun["sender"] == "" || begun["session"] != "web:c1" {
		t.Errorf("lines: %v", lines)
	}
	if data, err := os.ReadFile(file); err != nil || strings.Contains(string(data), "a-secret-token") {
		t.Errorf("the audit log has the secret: %v\n%s", err, data)
	}
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	say(t, p, "read README.md and tell me its first heading")
	if lines := readAudit(t, file, 2); lines[0]["tool"] != "read_file" {
		t.Errorf("after the rotation: %v", lines)
	}
}

func TestABotWhoseAuditLogCannotBeWrittenDoesNotStart(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "clawbot.toml"), []byte(demoConfig+"[log]\naudit = \".\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := command(t, home, "run").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "clawbot: log.audit: open") || !strings.Contains(string(out), "name a file that clawbot may write") {
		t.Errorf("run: %v\n%s", err, out)
	}
}

func TestOneIdFollowsAMessageThroughTheLog(t *testing.T) {
	p := startRun(t, t.TempDir(), demoConfig+"[log]\nformat = \"json\"\nlevel = \"debug\"\naudit = \"audit.jsonl\"\n")
	say(t, p, "read README.md and tell me its first heading")
	audit := readAudit(t, filepath.Join(p.home, "audit.jsonl"), 3)
	id, said := audit[1]["message"], map[any]bool{}
	for !said["run finished"] {
		waitABit(t)
		_, stderr := p.output()
		for line := range strings.Lines(stderr) {
			var record map[string]any
			if json.Unmarshal([]byte(line), &record) == nil && record["message"] == id {
				said[record["msg"]] = true
			}
			for _, key := range []string{`"msg":`, `"time":`, `"level":`} {
				if strings.HasPrefix(line, "{") && strings.Count(line, key) != 1 {
					t.Errorf("a line has %s not once: %s", key, line)
				}
			}
		}
	}
	for _, event := range []string{"message accepted", "message drained", "run started", "run finished"} {
		if !said[event] {
			t.Errorf("%q has another id or none: %v", event, said)
		}
	}
}
