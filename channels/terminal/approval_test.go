package terminal

import (
	"strings"
	"testing"

	"clawbot/agentcore"
	"clawbot/channels"
)

// asking is a run that waits for a decision.
func asking(h *fakeHost, text string) error {
	a := channels.LiveApproval{ID: "abc", Label: "Run command", Show: "rm -r x\n\x1b[2K", Reason: "not listed", Where: "workspace/sub", Always: true, State: "pending"}
	ask := channels.LiveEvent{Type: "approval", Approval: &a}
	switch {
	case strings.HasPrefix(text, "/approve abc"), strings.HasPrefix(text, "/deny abc"):
		done := a
		done.State = strings.Fields(text)[0][1:]
		h.publish(channels.LiveEvent{Type: "approval", Approval: &done}, assistant("it is "+done.State, agentcore.Usage{}), channels.LiveEvent{Type: "run_end"})
	default:
		h.publish(channels.LiveEvent{Type: "run_start"}, ask, ask)
	}
	return nil
}

func TestAQuestionIsAnsweredByALetter(t *testing.T) {
	for line, want := range map[string]string{"y": "/approve abc", "No": "/deny abc", "always": "/approve abc always"} {
		out, _, host, err := talk(t, Config{In: strings.NewReader("work\n" + line + "\n"), InTTY: false, OutTTY: true}, asking)
		if err != nil {
			t.Fatal(err)
		}
		if got := host.texts(); len(got) != 2 || got[1] != want {
			t.Errorf("%s: sent %q", line, got)
		}
		if strings.Count(out, "rm -r x") != 1 || !strings.Contains(out, "Run it? (y = yes, n = no, a = always allow exactly this)") || strings.Contains(out, "\x1b[2K") && strings.Contains(out, "x\n    \x1b[2K") {
			t.Errorf("%s: shown %q", line, out)
		}
	}
}

func TestWhereNobodyCanAnswerAQuestionIsDenied(t *testing.T) {
	out, errs, host, err := talk(t, Config{Once: "work"}, asking)
	if err != nil {
		t.Fatal(err)
	}
	if got := host.texts(); len(got) != 2 || got[1] != "/deny abc" {
		t.Errorf("sent %q", got)
	}
	if !strings.Contains(errs, "nobody to give it here") || strings.Contains(out, "Run it?") || !strings.Contains(out, "it is deny") {
		t.Errorf("out %q, errs %q", out, errs)
	}
}
