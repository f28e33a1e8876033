package demo

import (
	"clawbot/internal/lazyregexp"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

type stepper = func([][]outcome, toolbox) step

// readFile reads a file and answers the question about it.
func readFile(m []string, text string, _ []string) stepper {
	path := strings.TrimRight(m[1], ".,;:?!")
	return once("read_file", func(t toolbox) map[string]any {
		return map[string]any{t.argument("read_file", "path", "file", "filename"): path}
	}, func(o outcome) string { return aboutFile(path, o.text, strings.ToLower(text)) })
}

var (
	heading   = lazyregexp.New(`(?m)^[ ]{0,3}#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$`)
	underline = lazyregexp.New(`(?m)^(\S.*)\n(?:={3,}|-{3,})[ \t]*$`)
)

// aboutFile answers a question about a file's text.
func aboutFile(path, content, question string) string {
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(question, w) {
				return true
			}
		}
		return false
	}
	lines := strings.Split(strings.TrimRight(content, "\n"), "\n")
	switch {
	case has("heading", "title", "headline"):
		return aboutHeadings(path, content, has("headings", "all ", "every", "titles"))
	case has("first line"):
		return fmt.Sprintf("The first line of %s is: %s", path, lines[0])
	case has("last line"):
		return fmt.Sprintf("The last line of %s is: %s", path, lines[len(lines)-1])
	case has("how many lines", "count the lines", "number of lines"):
		return fmt.Sprintf("%s has %s.", path, plural(len(lines), "line"))
	case has("how many words", "count the words", "number of words"):
		return fmt.Sprintf("%s has %s.", path, plural(len(strings.Fields(content)), "word"))
	case has("summar"):
		return fmt.Sprintf("A demo model can't summarise, but it can count: %s has %s, %s and %s, and begins with:\n\n%s", path,
			plural(len(lines), "line"), plural(len(strings.Fields(content)), "word"),
			plural(utf8.RuneCountInString(content), "character"), fence(strings.Join(lines[:min(3, len(lines))], "\n")))
	}
	return fmt.Sprintf("This is %s:\n\n%s", path, fence(content))
}

func aboutHeadings(path, content string, all bool) string {
	var found []string
	for _, m := range heading.FindAllStringSubmatch(withoutFences(content), -1) {
		found = append(found, m[1])
	}
	if under := underline.FindStringSubmatch(content); len(found) == 0 && under != nil {
		found = append(found, under[1])
	}
	switch {
	case len(found) == 0:
		return fmt.Sprintf("%s has no heading.", path)
	case all && len(found) > 1:
		return fmt.Sprintf("The headings of %s are:\n\n- %s", path, strings.Join(found, "\n- "))
	}
	return fmt.Sprintf("The first heading of %s is “%s”.", path, found[0])
}

// withoutFences drops code blocks, whose comments look like headings.
func withoutFences(content string) string {
	var out strings.Builder
	inside := false
	for line := range strings.Lines(content) {
		if strings.HasPrefix(strings.TrimLeft(line, " "), "```") {
			inside = !inside
			continue
		}
		if !inside {
			out.WriteString(line)
		}
	}
	return out.String()
}

func listFiles(m []string, _ string, _ []string) stepper {
	path := "."
	if len(m) > 1 && m[1] != "" {
		switch word := strings.ToLower(strings.TrimRight(m[1], ".?!")); word {
		case "", "workspace", "folder", "directory", "here", "it", "there", "this":
		default:
			path = strings.TrimRight(m[1], ".?!")
		}
	}
	return once("list_dir", func(t toolbox) map[string]any {
		return map[string]any{t.argument("list_dir", "path", "dir", "directory"): path}
	}, func(o outcome) string {
		where := path
		if path == "." {
			where = "the workspace"
		}
		return "This is in " + where + ":\n\n" + fence(o.text)
	})
}

func writeText(m []string, _ string, _ []string) stepper { return writeFile(m[2], m[1]) }

func createFile(m []string, _ string, _ []string) stepper { return writeFile(m[1], m[2]) }

func writeFile(path, content string) stepper {
	return once("write_file", func(t toolbox) map[string]any {
		return map[string]any{t.argument("write_file", "path", "file"): path, t.argument("write_file", "content", "text"): content}
	}, func(o outcome) string { return fmt.Sprintf("Done: %s now says “%s”.", path, content) })
}

// replaceText reads a file, writes it changed and reads it back: several steps,
// in between which it can be steered.
func replaceText(m []string, _ string, _ []string) stepper {
	from, to, path := m[1], m[2], m[3]
	return func(rounds [][]outcome, tools toolbox) step {
		for _, tool := range []string{"read_file", "write_file"} {
			if !tools.has(tool) {
				return tools.missing(tool)
			}
		}
		done, bad := finished(rounds)
		if bad != nil {
			return said(failed(*bad))
		}
		read := call{"read_file", map[string]any{tools.argument("read_file", "path", "file"): path}}
		switch len(done) {
		case 0:
			return step{parts: []part{{"I look at " + path + " first. ", wordPause}}, calls: []call{read}}
		case 1:
			if !strings.Contains(done[0].text, from) {
				return said(fmt.Sprintf("“%s” does not occur in %s, so I changed nothing.", from, path))
			}
			changed := strings.ReplaceAll(done[0].text, from, to)
			return step{parts: []part{{"Now I write it changed. ", wordPause}}, calls: []call{{"write_file", map[string]any{
				tools.argument("write_file", "path", "file"): path, tools.argument("write_file", "content", "text"): changed}}}}
		case 2:
			return step{parts: []part{{"And I read it back. ", wordPause}}, calls: []call{read}}
		}
		return said(fmt.Sprintf("%s now says:\n\n%s", path, fence(done[2].text)))
	}
}

// finished returns the first outcome of each round that was not skipped, and
// the one that failed, if one did.
func finished(rounds [][]outcome) (done []outcome, bad *outcome) {
	for _, round := range rounds {
		if len(round) == 0 || skipped(round[0]) {
			continue
		}
		if round[0].failed {
			return done, &round[0]
		}
		done = append(done, round[0])
	}
	return done, nil
}

func searchFor(m []string, _ string, _ []string) stepper {
	what := m[1]
	return once("search", func(t toolbox) map[string]any {
		return map[string]any{t.argument("search", "pattern", "query"): regexp.QuoteMeta(what)}
	}, func(o outcome) string { return "I searched for “" + what + "”:\n\n" + fence(o.text) })
}

func fetchPage(m []string, _ string, _ []string) stepper {
	url := strings.TrimRight(m[1], ".,;!?)>”\"'")
	return once("web_fetch", func(toolbox) map[string]any { return map[string]any{"url": url} }, func(o outcome) string {
		return url + " says:\n\n" + fence(o.text)
	})
}

func runCommand(m []string, _ string, _ []string) stepper {
	command := strings.Trim(m[1], "`\"'“” ")
	return once("exec", func(t toolbox) map[string]any {
		return map[string]any{t.argument("exec", "command", "cmd"): command}
	}, func(o outcome) string { return "`" + command + "` printed:\n\n" + fence(o.text) })
}
