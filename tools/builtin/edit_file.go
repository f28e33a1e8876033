package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"clawbot/agentcore"
	"clawbot/tools"
)

//go:embed edit_file.md
var editFileProse string

func editFile(locks *pathLocks) tools.Tool {
	return tools.Tool{
		Descriptor: describe("edit_file", "Edit file", editFileProse, `{
			"type": "object",
			"properties": {
				"path": {"type": "string", "minLength": 1, "description": "File relative to the workspace"},
				"edits": {
					"type": "array", "minItems": 1,
					"items": {
						"type": "object",
						"properties": {
							"old": {"type": "string", "minLength": 1, "description": "Text that is there now, exactly"},
							"new": {"type": "string", "description": "Text to put in its place"},
							"all": {"type": "boolean", "description": "Replace every occurrence"}
						},
						"required": ["old", "new"]
					}
				}
			},
			"required": ["path", "edits"]
		}`),
		Mode:    agentcore.Sequential,
		Telling: telling("path"),
		Execute: func(ctx context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
			return runEditFile(ctx, locks, call)
		},
	}
}

type edit struct {
	Old, New string
	All      bool
}

func runEditFile(ctx context.Context, locks *pathLocks, call agentcore.Call) (agentcore.Result, error) {
	args, err := arguments[struct {
		Path  string
		Edits []edit
	}](call)
	if err != nil {
		return agentcore.Result{}, err
	}
	root, name, unlock, err := locked(ctx, locks, args.Path)
	if err != nil {
		return agentcore.Result{}, err
	}
	defer unlock()
	text, _, err := readText(root, name)
	if err != nil {
		return agentcore.Result{}, err
	}
	edited, report, err := applyEdits(text, args.Edits)
	if err != nil {
		return agentcore.Result{}, fmt.Errorf("%s was not changed: %w", name, err)
	}
	if _, err := replaceFile(root, name, []byte(edited)); err != nil {
		return agentcore.Result{}, explain(name, err)
	}
	return agentcore.TextResult(fmt.Sprintf("Edited %s: %s.", name, report)), nil
}

// applyEdits makes the edits one after the other.
func applyEdits(text string, edits []edit) (edited, report string, err error) {
	var places []string
	for i, e := range edits {
		old, replacement := withEndings(text, e)
		if old == replacement {
			return "", "", fmt.Errorf("edit %d: old and new are the same", i+1)
		}
		switch count := strings.Count(text, old); {
		case count == 0:
			return "", "", fmt.Errorf("edit %d: old was not found%s", i+1, nearest(text, old))
		case count > 1 && !e.All:
			return "", "", fmt.Errorf("edit %d: old occurs %d times, at lines %s: add context so that it occurs once, or set all",
				i+1, count, occurrences(text, old))
		}
		places = append(places, place(text, old, strings.Count(text, old)))
		text = strings.ReplaceAll(text, old, replacement)
	}
	return text, strings.Join(places, ", "), nil
}

// withEndings gives the texts of an edit the line endings of the file, in which
// they may have either kind. In a file with both, what is put in gets the kind of
// what it replaces, and that of most lines where it replaces none.
func withEndings(text string, e edit) (old, replacement string) {
	crlf := strings.Count(text, "\r\n")
	switch lf := strings.Count(text, "\n") - crlf; {
	case crlf == 0:
		return toLF(e.Old), toLF(e.New)
	case lf == 0:
		return toCRLF(e.Old), toCRLF(e.New)
	case strings.Contains(text, e.Old) && strings.Contains(e.Old, "\n"):
		return e.Old, e.New
	case strings.Contains(e.Old, "\n") && strings.Contains(text, toCRLF(e.Old)):
		return toCRLF(e.Old), toCRLF(e.New)
	case crlf > lf:
		return toLF(e.Old), toCRLF(e.New)
	}
	return toLF(e.Old), toLF(e.New)
}

func toLF(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

func toCRLF(s string) string { return strings.ReplaceAll(toLF(s), "\n", "\r\n") }

func place(text, old string, count int) string {
	line := 1 + strings.Count(text[:strings.Index(text, old)], "\n")
	if count > 1 {
		return fmt.Sprintf("%d places from line %d on", count, line)
	}
	if more := strings.Count(strings.TrimSuffix(old, "\n"), "\n"); more > 0 {
		return fmt.Sprintf("lines %d to %d", line, line+more)
	}
	return fmt.Sprintf("line %d", line)
}

// occurrences lists the lines at which old begins, the first ten of them.
func occurrences(text, old string) string {
	var lines []string
	line, at := 1, 0
	for len(lines) < 10 {
		i := strings.Index(text[at:], old)
		if i < 0 {
			return strings.Join(lines, ", ")
		}
		line += strings.Count(text[at:at+i], "\n")
		lines = append(lines, fmt.Sprint(line))
		line += strings.Count(old, "\n")
		at += i + len(old)
	}
	return strings.Join(lines, ", ") + ", …"
}

// nearest shows the lines of text that are most like the first telling line of
// old, so that the model sees what it got wrong.
func nearest(text, old string) string {
	wanted := ""
	for line := range strings.Lines(old) {
		if wanted = strings.TrimSpace(line); wanted != "" {
			break
		}
	}
	best, bestScore, number := "", 0, 0
	bestNumber := 0
	for line := range strings.Lines(text) {
		number++
		if score := likeness(strings.TrimSpace(line), wanted); score > bestScore {
			best, bestScore, bestNumber = strings.TrimRight(line, "\r\n"), score, number
		}
	}
	if bestScore*2 < len(wanted) || best == "" {
		return ": nothing like it is in the file; read it again"
	}
	if len(best) > 200 {
		best = strings.ToValidUTF8(best[:200], "") + "…"
	}
	return fmt.Sprintf("; the nearest text is line %d: %q", bestNumber, best)
}

// likeness is how many bytes a and b have in common at their beginnings and
// ends.
func likeness(a, b string) int {
	n := min(len(a), len(b))
	head := 0
	for head < n && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < n-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head + tail
}
