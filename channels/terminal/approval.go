package terminal

import (
	"context"
	"fmt"
	"strings"

	"clawbot/channels"
)

// approval shows a question, or what became of it.
func (v *conversation) approval(a *channels.LiveApproval) {
	if a == nil {
		return
	}
	if a.State != "pending" {
		if v.asked[a.ID] {
			delete(v.asked, a.ID)
			v.questions = v.without(a.ID)
			v.screen.settled(a)
		}
		return
	}
	if v.asked[a.ID] {
		return // told again for who came late
	}
	if v.asked == nil {
		v.asked = map[string]bool{}
	}
	v.asked[a.ID] = true
	v.questions = append(v.questions, a)
	v.screen.question(a, v.cfg.Once == "" && !v.ended)
}

func (v *conversation) without(id string) []*channels.LiveApproval {
	var rest []*channels.LiveApproval
	for _, a := range v.questions {
		if a.ID != id {
			rest = append(rest, a)
		}
	}
	return rest
}

// answer makes of a line the decision on the oldest question, if it is one.
func (v *conversation) answer(line string) (command string, ok bool) {
	if len(v.questions) == 0 {
		return "", false
	}
	id := v.questions[0].ID
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return "/approve " + id, true
	case "n", "no":
		return "/deny " + id, true
	case "a", "always":
		return "/approve " + id + " always", true
	}
	return "", false
}

// denyAll answers questions that nobody is there to answer.
func (v *conversation) denyAll(ctx context.Context) {
	for _, a := range v.questions {
		if err := v.host.Accept(ctx, v.inbound("/deny "+a.ID)); err != nil {
			v.screen.note("The question stays open: " + err.Error())
		}
	}
	v.questions = nil
}

// question asks. Nobody answers where there is no input.
func (s *screen) question(a *channels.LiveApproval, answered bool) {
	if !answered {
		s.note(fmt.Sprintf("%s needs an approval, and there is nobody to give it here: %s", a.Label, oneLine(a.Show, 200)))
		return
	}
	s.newline()
	why := ""
	if a.Reason != "" {
		why = ": " + a.Reason
	}
	s.write(fmt.Sprintf("%s needs an approval%s.\n\n    %s\n\n", a.Label, why, strings.ReplaceAll(strings.TrimRight(a.Show, "\n"), "\n", "\n    ")))
	if a.Where != "" {
		s.write("In " + a.Where + ". ")
	}
	choices := "y = yes, n = no"
	if a.Always {
		choices += ", a = always allow exactly this"
	}
	s.write("Run it? (" + choices + ")\n")
	s.prompt()
}

func (s *screen) settled(a *channels.LiveApproval) {
	if s.cfg.Once != "" {
		return
	}
	switch a.State {
	case "approve", "always":
	case "deny":
		s.note("Denied.")
	case "expired":
		s.note("Nobody answered in time; it was not run.")
	default:
		s.note("The question was withdrawn.")
	}
}
