package demo

import (
	"fmt"
	"strings"

	"clawbot/agentcore"
	"clawbot/internal/lazyregexp"
)

// answer is what one model call says and does.
type answer struct {
	parts []part
	calls []call
}

func (a *answer) say(text string) { a.parts = append(a.parts, part{text, wordPause}) }

// step is what an ask does next: what it says, and the calls it needs before it
// can go on; without calls it is done.
type step struct {
	parts []part
	calls []call
}

func said(text string) step { return step{parts: []part{{text, wordPause}}} }

// outcome is a finished call of an ask.
type outcome struct {
	tool   string
	text   string
	failed bool
}

// ask is one thing the user wants, and how far it is.
type ask struct {
	text     string
	steering bool // said while another was worked on
	paused   bool // another came in between
	rounds   [][]outcome
	// next decides the next step from the rounds of calls so far.
	next func(rounds [][]outcome, tools toolbox) step
}

// session replays the turn that is going on: the asks in the order they are
// worked on, the first being the current one.
type session struct {
	tools toolbox
	asks  []*ask
	began bool
	done  int
	calls int
	round []outcome // results of the last assistant message's calls
	await int
}

// reply decides the next message from the transcript.
func reply(req *agentcore.Request) answer {
	turn, before := currentTurn(req.Messages)
	s := &session{tools: newToolbox(req.Tools)}
	for _, m := range turn {
		s.replay(m, before)
	}
	s.settle()
	var out answer
	if len(req.Tools) == 0 && s.calls > 0 {
		out.say(fmt.Sprintf("I was asked to come to an end here. So far I made %s for this; ask me again and I go on.", plural(s.calls, "tool call")))
		return out
	}
	s.speak(&out)
	return out
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// currentTurn returns the messages since the last answer that was finished, and
// what the users said before them.
func currentTurn(messages []*agentcore.Message) (turn []*agentcore.Message, before []string) {
	start := 0
	for i, m := range messages {
		if m.Role == agentcore.RoleAssistant && (len(m.ToolCalls()) == 0 || m.Stop == agentcore.StopAborted || m.Stop == agentcore.StopError) {
			start = i + 1
		}
	}
	for _, m := range messages[:start] {
		if m.Role == agentcore.RoleUser {
			before = append(before, plain(m.Text()))
		}
	}
	return messages[start:], before
}

// mark is what the program puts before or into a message to say who speaks.
var mark = lazyregexp.New(`⟦[^⟧\n]*⟧[ \t]*\n?`)

// plain returns what the user said, "" if the message is only a remark of the
// program's.
func plain(text string) string { return strings.TrimSpace(mark.ReplaceAllString(text, "")) }

func (s *session) replay(m *agentcore.Message, before []string) {
	switch m.Role {
	case agentcore.RoleUser:
		s.settle()
		if text := plain(m.Text()); text != "" {
			s.hear(text, before)
		}
	case agentcore.RoleAssistant:
		s.settle()
		s.speak(&answer{}) // moves on to the ask whose calls these are
		s.began = true
		s.await = len(m.ToolCalls())
		s.calls += s.await
	case agentcore.RoleToolResult:
		s.round = append(s.round, outcome{tool: m.ToolName, text: m.Text(), failed: m.IsError})
	}
}

// settle gives the last results to the ask that wanted them.
func (s *session) settle() {
	if s.await == 0 || len(s.asks) == 0 {
		s.round = nil
		return
	}
	s.asks[0].rounds = append(s.asks[0].rounds, s.round)
	s.round, s.await = nil, 0
}

// hear takes a message: in front of what is being worked on, if that has begun.
func (s *session) hear(text string, before []string) {
	a := understand(text, before)
	if !s.began || len(s.asks) == 0 {
		s.asks = append(s.asks, a)
		return
	}
	a.steering = true
	at := 0
	for at < len(s.asks) && s.asks[at].steering && len(s.asks[at].rounds) == 0 {
		at++
	}
	if isStop(text) {
		s.asks = []*ask{{text: text, next: func([][]outcome, toolbox) step {
			return said("All right, I stop here.")
		}}}
		return
	}
	if at < len(s.asks) {
		s.asks[at].paused = true
	}
	s.asks = append(s.asks[:at], append([]*ask{a}, s.asks[at:]...)...)
}

var stopWords = lazyregexp.New(`(?i)^\W*(?:please )?(?:stop|halt|enough|cancel|never ?mind|that'?s enough|no more)\b.{0,20}$`)

func isStop(text string) bool { return stopWords.MatchString(text) }

// speak lets the current ask say its next step, and goes on to the next asks
// until one of them needs tools.
func (s *session) speak(out *answer) {
	for len(s.asks) > 0 {
		a := s.asks[0]
		if len(out.parts) > 0 {
			out.say("\n\n")
		}
		switch {
		case a.steering && len(a.rounds) == 0:
			out.say("You also asked: " + quote(a.text) + "\n\n")
		case a.paused:
			a.paused = false
			if len(out.parts) > 0 {
				out.say("Now on with " + quote(a.text) + ":\n\n")
			}
		case s.done > 0 && len(a.rounds) == 0:
			out.say("And " + quote(a.text) + ":\n\n")
		}
		next := a.next(a.rounds, s.tools)
		out.parts = append(out.parts, next.parts...)
		if len(next.calls) > 0 {
			out.calls = next.calls
			return
		}
		s.asks = s.asks[1:]
		s.done++
	}
	if len(out.parts) == 0 {
		out.say(greeting)
	}
}

func quote(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > 80 {
		text = string(runes[:79]) + "…"
	}
	return "“" + text + "”"
}
