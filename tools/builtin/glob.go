package builtin

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// globRegexp compiles a glob with *, **, ?, [sets] and {alternatives}. Without
// a slash it matches a name in any directory.
func globRegexp(glob string) (*regexp.Regexp, error) {
	glob = strings.TrimPrefix(glob, "./")
	prefix := "^"
	if !strings.Contains(glob, "/") {
		prefix = "^(?:.*/)?"
	}
	body, err := globBody(strings.TrimPrefix(glob, "/"))
	if err != nil {
		return nil, err
	}
	return regexp.Compile(prefix + body + "$")
}

func globBody(glob string) (string, error) {
	var out strings.Builder
	depth := 0
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '*':
			if strings.HasPrefix(glob[i:], "**/") {
				out.WriteString("(?:.*/)?")
				i += 2
			} else if strings.HasPrefix(glob[i:], "**") {
				out.WriteString(".*")
				i++
			} else {
				out.WriteString("[^/]*")
			}
		case '?':
			out.WriteString("[^/]")
		case '[':
			end := strings.IndexByte(glob[i+1:], ']')
			if end < 1 {
				return "", fmt.Errorf("%q: [ is not closed", glob)
			}
			set := strings.ReplaceAll(glob[i+1:i+1+end], `\`, `\\`)
			if set[0] == '!' {
				set = "^" + set[1:]
			}
			out.WriteString("[" + strings.ReplaceAll(set, "[", `\[`) + "]")
			i += end + 1
		case '{':
			depth++
			out.WriteString("(?:")
		case '}':
			if depth > 0 {
				depth--
				out.WriteString(")")
			} else {
				out.WriteString(`\}`)
			}
		case ',':
			if depth > 0 {
				out.WriteString("|")
			} else {
				out.WriteString(",")
			}
		case '\\':
			if i++; i < len(glob) {
				out.WriteString(regexp.QuoteMeta(glob[i : i+1]))
			}
		default:
			out.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	if depth > 0 {
		return "", fmt.Errorf("%q: { is not closed", glob)
	}
	return out.String(), nil
}

// ignoreRules is what the .gitignore files met so far exclude, as gitignore(5)
// has it; the last rule that matches decides.
type ignoreRules struct{ rules []ignoreRule }

type ignoreRule struct {
	dir     string // where the file stands
	pattern *regexp.Regexp
	negate  bool
	dirOnly bool
}

// add takes the .gitignore of dir. Lines that are no pattern are skipped.
func (g *ignoreRules) add(dir string, file []byte) {
	for line := range strings.Lines(string(file)) {
		line = strings.TrimRight(line, "\r\n \t")
		if line == "" || line[0] == '#' {
			continue
		}
		rule := ignoreRule{dir: dir}
		if line[0] == '!' {
			rule.negate, line = true, line[1:]
		}
		if rule.dirOnly = strings.HasSuffix(line, "/"); rule.dirOnly {
			line = strings.TrimSuffix(line, "/")
		}
		anchored := strings.Contains(line, "/")
		body, err := globBody(strings.NewReplacer("{", `\{`, "}", `\}`).Replace(strings.TrimPrefix(line, "/")))
		if err != nil {
			continue
		}
		prefix := "^(?:.*/)?"
		if anchored {
			prefix = "^"
		}
		if rule.pattern, err = regexp.Compile(prefix + body + "$"); err == nil {
			g.rules = append(g.rules, rule)
		}
	}
}

// match reports whether the file or directory is excluded by itself; the walk
// leaves out what lies in an excluded directory.
func (g *ignoreRules) match(name string, isDir bool) bool {
	ignored := false
	for _, rule := range g.rules {
		relative := name
		if rule.dir != "." {
			var inside bool
			if relative, inside = strings.CutPrefix(name, rule.dir+"/"); !inside {
				continue
			}
		}
		if (!rule.dirOnly || isDir) && rule.pattern.MatchString(path.Clean(relative)) {
			ignored = !rule.negate
		}
	}
	return ignored
}
