package command

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Verdict is what the policy says of a line.
type Verdict uint8

// The verdicts. The zero value asks.
const (
	Ask Verdict = iota
	Allow
	Deny
)

// Judgement is a verdict with its reason.
type Judgement struct {
	Verdict Verdict
	// Reason says, for people and the model, why it is not allowed as it is.
	Reason string
	// Storable is set if a person may allow exactly this for good: nothing in
	// it runs what it was not judged by.
	Storable bool
}

// Policy is the table [tools.permissions.exec].
type Policy struct {
	// Mode is deny, ask (default) or allow: what becomes of commands in no
	// list.
	Mode string
	// Allow and Deny are names of programs, or beginnings of commands: "ls",
	// "git status". Deny counts in any position and beats everything.
	Allow, Deny []string
}

// DefaultAllow is what runs without asking unless the configuration has a list
// of its own: programs that look and change nothing.
func DefaultAllow() []string {
	return []string{
		"ls", "cat", "head", "tail", "wc", "grep", "find", "sort", "uniq", "cut", "tr", "nl", "tac", "rev", "seq",
		"echo", "printf", "pwd", "date", "stat", "file", "du", "df", "basename", "dirname", "realpath", "readlink",
		"diff", "cmp", "comm", "join", "paste", "fold", "md5sum", "sha1sum", "sha256sum", "true", "false", "test",
		"git status", "git log", "git diff", "git show",
	}
}

// maxDepth bounds how deep commands inside words of commands are looked at.
const maxDepth = 4

// Judge says whether the line may run. It looks at words alone; what they name
// is for [Build] to find.
func (p *Policy) Judge(line *Line) Judgement {
	if p.Mode == "deny" {
		return Judgement{Verdict: Deny, Reason: "commands are switched off (tools.permissions.exec)"}
	}
	if name := p.denied(line.Commands, 0); name != "" {
		return Judgement{Verdict: Deny, Reason: fmt.Sprintf("%q is denied (tools.permissions.exec.deny)", name)}
	}
	// Without a list of denials nothing is lost by what can't be looked into.
	lenient := p.Mode == "allow" && len(p.Deny) == 0
	if line.Opaque != "" {
		if lenient {
			return Judgement{Verdict: Allow}
		}
		return Judgement{Reason: line.Opaque}
	}
	j := Judgement{Verdict: Allow, Storable: true}
	for _, pipeline := range line.Pipelines {
		for _, c := range pipeline.Commands {
			if why := guarded(c.Words); why != "" {
				if !lenient {
					return Judgement{Reason: why}
				}
				j.Storable = false
				continue
			}
			if p.Mode != "allow" && !listed(p.Allow, c.Words) {
				j.Verdict, j.Reason = Ask, fmt.Sprintf("%q is in no list of allowed programs", path.Base(c.Words[0]))
			}
			j.Storable = j.Storable && !changes(c.Words[0])
		}
	}
	return j
}

// denied returns the first denied program in the commands, those inside of
// wrappers and scripts included.
func (p *Policy) denied(commands [][]string, depth int) string {
	if len(p.Deny) == 0 {
		return ""
	}
	for _, words := range commands {
		if entry := match(p.Deny, words); entry != "" {
			return entry
		}
		if depth >= maxDepth {
			continue
		}
		for i := 1; i < len(words); i++ {
			word := words[i]
			if wraps(words[0]) || guarded(words) != "" {
				// A wrapper's program may stand anywhere behind it.
				if entry := match(p.Deny, words[i:]); entry != "" {
					return entry
				}
				if _, value, ok := strings.Cut(word, "="); ok {
					word = value
				}
				word = strings.TrimPrefix(word, "!") // as git's aliases have it
				if inner, err := Parse(word); err == nil && strings.ContainsAny(word, " ;|&\n\t(){}\"'") {
					if entry := p.denied(inner.Commands, depth+1); entry != "" {
						return entry
					}
				}
			}
		}
	}
	return ""
}

// match returns the entry that the command begins with.
func match(entries []string, words []string) string {
	i := slices.IndexFunc(entries, func(entry string) bool {
		parts := strings.Fields(entry)
		if len(parts) == 0 || len(parts) > len(words) || path.Base(words[0]) != parts[0] {
			return false
		}
		return slices.Equal(parts[1:], words[1:len(parts)])
	})
	if i < 0 {
		return ""
	}
	return entries[i]
}

// listed reports whether the command is in the list. A program that is named by
// a path is not: the list means those that are found by name.
func listed(entries []string, words []string) bool {
	return !strings.Contains(words[0], "/") && match(entries, words) != ""
}
