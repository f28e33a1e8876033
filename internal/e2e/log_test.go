package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

// lines are the log's lines, which are JSON; what the program prints beside is
// left out.
func (w *world) lines() []map[string]any {
	w.t.Helper()
	var list []map[string]any
	for line := range strings.Lines(w.bot.log()) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			w.t.Errorf("a line of the log is no JSON: %s", line)
		}
		list = append(list, fields)
	}
	return list
}

// idOf is the id of the nth message that was accepted, from 1.
func (w *world) idOf(nth int) string {
	w.t.Helper()
	for _, line := range w.lines() {
		if line["msg"] != "message accepted" {
			continue
		}
		if nth--; nth == 0 {
			id, _ := line["message"].(string)
			return id
		}
	}
	w.t.Fatalf("no such message was accepted:\n%s", w.bot.log())
	return ""
}

// A run has it all: another model, an attempt that fails, a tool, an approval,
// a message that steers, an answer; another's answer is sent twice.
func TestOneIDFollowsAMessageThroughEveryLineAboutIt(t *testing.T) {
	hold := make(chan struct{})
	w := newWorld(t, options{loop: "retry_on_error = 1", config: "[log]\nformat = \"json\"\n",
		script: modeltest.Turns(
			modeltest.Turn{Status: http.StatusServiceUnavailable, Message: "overloaded"},
			modeltest.Turn{Text: "canary of the prose", Calls: []modeltest.Call{{ID: "c1", Name: "exec", Arguments: `{"command":"mkdir canarymade"}`}}},
			modeltest.Turn{Text: "canary again", Calls: []modeltest.Call{{ID: "c2", Name: "read_file", Arguments: `{"path":"canary.txt"}`}}, Hold: hold, After: 1},
			modeltest.Say("canary of the answer"), modeltest.Say("canary of the last answer"),
		)})
	must(t, os.WriteFile(w.workspace("canary.txt"), []byte("canary of the file"), 0o600))
	w.say("canary of the question")
	question, approve, _ := w.asked("mkdir canarymade")
	w.telegram.Press(ana, ana, question.ID, approve)
	w.bot.waitLog("approval settled")
	w.saying("canary again")
	must(t, w.telegram.WaitConfirmed(w.ctx, w.say("canary that steers").UpdateID))
	close(hold)
	w.saying("canary of the answer")
	w.bot.waitLog("run finished")
	w.telegram.Fail("sendMessage", 1, channeltest.Fault{Lost: true})
	w.say("canary of the last question")
	w.saying("canary of the last answer")
	w.bot.waitLog("sending a reply once more")
	must(t, w.bot.stop())

	first := w.idOf(1)
	about := map[string]bool{}
	for _, line := range w.lines() {
		msg, _ := line["msg"].(string)
		if line["message"] == first {
			about[msg] = true
		}
		if line["session"] == "telegram:4711:1" || line["run"] != nil {
			if id, _ := line["message"].(string); id == "" {
				t.Errorf("no message's id is in %v", line)
			}
		}
	}
	for _, msg := range []string{
		"message accepted", "run started", "retrying the model call", "asking for approval", "decision accepted", "approval settled", "run finished",
	} {
		if !about[msg] {
			t.Errorf("the message's id is not in the line %q", msg)
		}
	}
	second, last := w.idOf(2), w.idOf(3)
	joined := false
	for _, line := range w.lines() {
		if msg, _ := line["msg"].(string); strings.HasPrefix(msg, "sending a reply once more") && line["message"] != last {
			t.Errorf("not about the last message: %v", line)
		}
		joined = joined || line["message"] == second && line["msg"] == "message joined a run" && line["run"] != nil
	}
	if !joined {
		t.Error("the message that steers is not said to be in the run")
	}
	if t.Failed() || strings.Contains(w.bot.log(), "canary") {
		t.Errorf("the log:\n%s", w.bot.log())
	}
}

func TestWhatPeopleAndModelsSayIsNotLoggedAtDebugEither(t *testing.T) {
	w := newWorld(t, options{config: "[log]\nlevel = \"debug\"\n", script: modeltest.Turns(
		modeltest.Use("write_file", `{"path":"notes.txt","content":"canary of the file"}`), modeltest.Say("canary of the answer"))})
	w.say("canary of the question")
	w.answer("canary of the answer")
	w.say("/stop canary of the command")
	w.bot.waitLog("command accepted")
	must(t, w.bot.stop())
	if log := w.bot.log(); bytes.Contains([]byte(log), []byte("canary")) {
		t.Errorf("the log:\n%s", log)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "clawbot.db")); err != nil {
		t.Error(err)
	}
}
