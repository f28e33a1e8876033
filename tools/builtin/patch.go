package builtin

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// filePatch is the part of a patch about one file.
type filePatch struct {
	from, to string // empty: /dev/null
	hunks    []*gitdiff.TextFragment
}

var hunkHeader = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$`)

// parsePatch reads a unified diff. Models miscount: the counts of each hunk's
// header are made to fit its lines.
func parsePatch(text string) ([]filePatch, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if strings.HasPrefix(strings.TrimSpace(text), "*** Begin Patch") {
		return nil, errors.New("the patch is not a unified diff: write --- and +++ lines and hunks that begin with @@ -LINE,COUNT +LINE,COUNT @@")
	}
	files, _, err := gitdiff.Parse(strings.NewReader(recount(text)))
	if err != nil {
		return nil, fmt.Errorf("the patch can't be read: %s", strings.TrimPrefix(err.Error(), "gitdiff: "))
	}
	if len(files) == 0 {
		return nil, errors.New("the patch has no file in it: begin each with --- a/PATH and +++ b/PATH")
	}
	patches := make([]filePatch, len(files))
	seen := map[string]bool{}
	git := strings.Contains(text, "diff --git ") // then the prefixes are gone already
	for i, f := range files {
		p := filePatch{from: f.OldName, to: f.NewName, hunks: f.TextFragments}
		switch {
		case f.IsBinary:
			return nil, fmt.Errorf("%s: binary patches can't be applied", f.NewName)
		case f.IsCopy:
			return nil, fmt.Errorf("%s: a patch can't copy files; write the new one", f.NewName)
		case f.IsNew:
			p.from = ""
		case f.IsDelete:
			p.to = ""
		}
		if !git {
			p.strip(text)
		}
		for _, name := range []string{p.from, p.to} {
			if name != "" && seen[name] && p.from != p.to {
				return nil, fmt.Errorf("%s is changed twice in the patch: put its hunks together", name)
			}
		}
		if seen[p.to] {
			return nil, fmt.Errorf("%s is changed twice in the patch: put its hunks together", p.to)
		}
		seen[p.from], seen[p.to] = p.from != "", p.to != ""
		if len(p.hunks) == 0 && p.from == p.to {
			return nil, fmt.Errorf("the patch changes nothing in %s: it has no hunk", p.to)
		}
		patches[i] = p
	}
	return patches, nil
}

// strip takes off the a/ and b/ that diffs begin names with. Of two names in a
// header without "diff --git", the parser keeps the new one.
func (p *filePatch) strip(text string) {
	switch {
	case p.from == "":
		p.to = strings.TrimPrefix(p.to, "b/")
	case p.to == "":
		p.from = strings.TrimPrefix(p.from, "a/")
	default:
		name, ok := strings.CutPrefix(p.to, "b/")
		if ok && p.from == p.to && strings.Contains("\n"+text, "\n--- a/"+name) {
			p.from, p.to = name, name
		}
	}
}

// recount makes the numbers of hunk headers fit the lines that follow, and gives
// empty lines of context the space that editors strip.
func recount(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var out []string
	for i := 0; i < len(lines); {
		m := hunkHeader.FindStringSubmatch(lines[i])
		if m == nil {
			out = append(out, lines[i])
			i++
			continue
		}
		var body []string
		before, after := 0, 0
		j := i + 1
	body:
		for ; j < len(lines); j++ {
			line := lines[j]
			switch {
			case line == "":
				if endsPatch(lines[j:]) {
					break body
				}
				line = " "
				before, after = before+1, after+1
			case strings.HasPrefix(line, "--- ") && j+1 < len(lines) && strings.HasPrefix(lines[j+1], "+++ "):
				break body
			case line[0] == ' ':
				before, after = before+1, after+1
			case line[0] == '-':
				before++
			case line[0] == '+':
				after++
			case line[0] == '\\':
			default:
				break body
			}
			body = append(body, line)
		}
		out = append(out, fmt.Sprintf("@@ -%s,%d +%s,%d @@%s", m[1], before, m[3], after, m[5]))
		out = append(out, body...)
		i = j
	}
	return strings.Join(out, "\n") + "\n"
}

// endsPatch reports whether nothing more of a hunk follows.
func endsPatch(lines []string) bool {
	for _, line := range lines {
		if line != "" {
			return line[0] != ' ' && line[0] != '+' && line[0] != '-' || strings.HasPrefix(line, "--- ")
		}
	}
	return true
}

// apply puts the hunks into the text. Where says at which lines, in words.
func (p *filePatch) apply(name, text string) (patched, where string, err error) {
	crlf := strings.Contains(text, "\r\n")
	lines := splitLines(text)
	shift, from := 0, 0
	var places []string
	for i, hunk := range p.hunks {
		var old, replacement []string
		for _, l := range hunk.Lines {
			line := l.Line
			if crlf && strings.HasSuffix(line, "\n") {
				line = strings.TrimSuffix(line, "\n") + "\r\n"
			}
			if l.Old() {
				old = append(old, line)
			}
			if l.New() {
				replacement = append(replacement, line)
			}
		}
		expected := max(int(hunk.OldPosition)-1, 0) + shift
		at, end, why := locate(lines, old, expected, from)
		if why != "" {
			return "", "", fmt.Errorf("%s, hunk %d (@@ -%d): %s", name, i+1, hunk.OldPosition, why)
		}
		if end { // the file's last line has no line break, or the patch's has none
			replacement = matchEnd(replacement, lines[len(lines)-1])
		}
		lines = append(lines[:at:at], append(replacement, lines[at+len(old):]...)...)
		from = at + len(replacement)
		shift = at + shift - expected + len(replacement) - len(old)
		places = append(places, strconv.Itoa(at+1))
	}
	if len(places) > 0 {
		where = " at line " + strings.Join(places, ", ")
	}
	return strings.Join(lines, ""), where, nil
}

func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// locate finds the lines of old nearest to where they are expected, not before
// from. Why is empty if they are there; end says that they reach the file's end
// and differ from it in its last line break only.
func locate(lines, old []string, expected, from int) (at int, end bool, why string) {
	if len(old) == 0 {
		if len(lines) == 0 || expected >= len(lines) {
			return len(lines), false, ""
		}
		return max(expected, from), false, ""
	}
	best, distance, found := -1, 0, 0
	for i := from; i+len(old) <= len(lines); i++ {
		if ok, _ := fits(lines, old, i); !ok {
			continue
		}
		found++
		if d := max(i-expected, expected-i); best < 0 || d < distance {
			best, distance = i, d
		}
	}
	if best < 0 {
		return 0, false, mismatch(lines, old, expected)
	}
	if found > 1 && distance > 0 {
		return 0, false, fmt.Sprintf("its lines occur %d times, and none of them is at line %d: give the right line, or more context", found, expected+1)
	}
	_, end = fits(lines, old, best)
	return best, end, ""
}

// fits reports whether old stands at line i, the last line break aside.
func fits(lines, old []string, i int) (ok, end bool) {
	for j, line := range old {
		have := lines[i+j]
		if have == line {
			continue
		}
		last := j == len(old)-1 && i+j == len(lines)-1
		if !last || strings.TrimRight(have, "\r\n") != strings.TrimRight(line, "\r\n") {
			return false, false
		}
		end = true
	}
	return true, end
}

// matchEnd gives the last line the ending that the file's last line has.
func matchEnd(replacement []string, last string) []string {
	if len(replacement) == 0 {
		return replacement
	}
	i := len(replacement) - 1
	body := strings.TrimRight(replacement[i], "\r\n")
	replacement[i] = body + last[len(strings.TrimRight(last, "\r\n")):]
	return replacement
}

// mismatch says where old begins to differ from the text that is most like it.
func mismatch(lines, old []string, expected int) string {
	best, score := -1, 0
	for i := range lines {
		n := 0
		for j := range old {
			if i+j < len(lines) && strings.TrimSpace(lines[i+j]) == strings.TrimSpace(old[j]) && strings.TrimSpace(old[j]) != "" {
				n++
			}
		}
		if n > score || n == score && n > 0 && abs(i-expected) < abs(best-expected) {
			best, score = i, n
		}
	}
	if best < 0 {
		return fmt.Sprintf("its text is not in the file%s", nearest(strings.Join(lines, ""), old[0]))
	}
	for j, want := range old {
		have := "(the end of the file)"
		if best+j < len(lines) {
			have = strings.TrimRight(lines[best+j], "\r\n")
		}
		if want = strings.TrimRight(want, "\r\n"); have != want {
			return fmt.Sprintf("line %d of the file is %q, and the patch expects %q", best+j+1, have, want)
		}
	}
	return "its lines overlap the hunk before it"
}

func abs(n int) int { return max(n, -n) }
