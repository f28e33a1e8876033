package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong, or doubtful, in a configuration.
type Problem struct {
	File   string // as it was given; empty without a file
	Line   int    // from 1; 0 when it concerns no line
	Column int    // in bytes, from 1
	Key    string // "agent.model"; empty when it concerns no key
	// Message says what is wrong and what to do. It holds no secret.
	Message string
}

// String returns "clawbot.toml:3:1: agent.modle: unknown key; did you mean agent.model?".
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
		}
		b.WriteString(": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key)
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Error is everything that is wrong with a configuration, in the order of the
// file.
type Error struct{ Problems []Problem }

// Error returns a line for each problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// report collects problems while a configuration is loaded.
type report struct {
	problems []Problem
	warnings []Problem
}

func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	order(r.problems)
	return &Error{Problems: r.problems}
}

func order(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
