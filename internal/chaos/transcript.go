package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"clawbot/store"
)

// transcript is what was found in one.
type transcript struct {
	chat       *chat
	violations []string
	finals     []string // the questions that each final names

	seen    map[string]int   // position of each question
	sent    map[string]int64 // and that in the inbox
	ids     map[string]bool
	open    map[string]bool // calls without a result
	pending []string        // questions that no final covers yet
	epoch   int64
	token   string
	tokens  map[string]bool
}

func (t *transcript) bad(e store.Entry, format string, args ...any) {
	t.violations = append(t.violations, fmt.Sprintf("%s at %d: %s", t.chat.session, e.Position, fmt.Sprintf(format, args...)))
}

// readTranscript checks invariants 1 to 5 and 8 of a chat's transcript.
func readTranscript(c *chat, entries []store.Entry, buried map[string]bool) *transcript {
	t := &transcript{chat: c, seen: map[string]int{}, sent: map[string]int64{}, ids: map[string]bool{}, open: map[string]bool{}, tokens: map[string]bool{}}
	for _, e := range entries {
		p, err := decode(e)
		if err != nil {
			t.bad(e, "unreadable: %v", err)
			continue
		}
		t.writer(e)
		if t.ids[e.ID] {
			t.bad(e, "entry %s stands here a second time", e.ID)
		}
		t.ids[e.ID] = true
		switch e.Kind {
		case store.KindUser:
			t.user(e, p)
		case store.KindAssistant:
			t.assistant(e, p)
		case store.KindToolResult:
			if !t.open[e.Closes] {
				t.bad(e, "a result for %s, which is not open", e.Closes)
			}
			delete(t.open, e.Closes)
		case store.KindNote:
			if p.Note != nil && p.Note.Final {
				t.pending = slices.DeleteFunc(t.pending, func(q string) bool { return p.Note.Before == 0 || t.sent[q] < p.Note.Before })
			}
		case store.KindSummary:
			t.pending = nil
		}
	}
	if len(t.open) > 0 {
		t.violations = append(t.violations, fmt.Sprintf("%s: calls without a result at the end: %v", c.session, t.open))
	}
	if len(t.pending) > 0 {
		t.violations = append(t.violations, fmt.Sprintf("%s: questions without a final: %v", c.session, t.pending))
	}
	for _, q := range c.asked {
		if _, ok := t.seen[q]; !ok && !buried[q] {
			t.violations = append(t.violations, fmt.Sprintf("%s: question %s is lost", c.session, q))
		}
	}
	return t
}

// writer checks that one lease's entries stand together and that epochs rise.
func (t *transcript) writer(e store.Entry) {
	if e.Token == t.token {
		return
	}
	epoch, _, _ := strings.Cut(e.Token, ":")
	n, _ := strconv.ParseInt(epoch, 10, 64)
	if n <= t.epoch || t.tokens[e.Token] {
		t.bad(e, "written under %s after %s: two writers", e.Token, t.token)
	}
	t.epoch, t.token = n, e.Token
	t.tokens[e.Token] = true
}

func (t *transcript) user(e store.Entry, p payload) {
	if len(t.open) > 0 {
		t.bad(e, "a message while calls are open: %v", t.open)
	}
	for _, m := range question.FindAllStringSubmatch(p.Text, -1) {
		q := m[1]
		if at, ok := t.seen[q]; ok {
			t.bad(e, "question %s stands here and at %d", q, at)
		}
		if n := len(t.pending); n > 0 && order(t.pending[n-1]) > order(q) {
			t.bad(e, "question %s comes after %s", q, t.pending[n-1])
		}
		t.seen[q], t.sent[q] = int(e.Position), e.Inbox
		t.pending = append(t.pending, q)
	}
}

func order(q string) int {
	_, number, _ := strings.Cut(q, ".")
	n, _ := strconv.Atoi(number)
	return n
}

func (t *transcript) assistant(e store.Entry, p payload) {
	if len(t.open) > 0 {
		t.bad(e, "the assistant speaks while calls are open: %v", t.open)
	}
	for _, call := range e.Opens {
		t.open[call] = true
	}
	if len(e.Opens) > 0 || p.Message == nil || p.Message.Stop == "aborted" || p.Message.Stop == "error" || p.Message.Stop == "pause" {
		return
	}
	if len(t.pending) == 0 {
		t.bad(e, "a final that covers nothing: %.80q", p.text())
	}
	t.pending = nil
	if m := final.FindStringSubmatch(p.text()); m != nil {
		t.finals = append(t.finals, m[1])
	}
}
