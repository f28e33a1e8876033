package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Dotenv returns the variables of a .env file, as a configuration beside it would
// read them; a missing file has none.
func Dotenv(path string) (map[string]string, error) {
	r := &report{}
	vars := readDotenv(path, r)
	return vars, r.err()
}

// readDotenv reads the variables of a .env file; a missing file has none.
func readDotenv(path string, r *report) map[string]string {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		r.problems = append(r.problems, Problem{File: path, Message: fmt.Sprintf("can't be read: %v", plain(err))})
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o004 != 0 {
		r.warnings = append(r.warnings, Problem{File: path,
			Message: "everybody on this machine can read the secrets in it; run: chmod 600 " + path})
	}
	return parseDotenv(path, string(data), r)
}

// parseDotenv takes lines of NAME=value, with or without export, the value bare,
// in single quotes (as it is) or in double quotes (with Go's escapes). A #
// begins a comment at the start of a line or after a space.
func parseDotenv(name, text string, r *report) map[string]string {
	vars := map[string]string{}
	text = strings.TrimPrefix(text, "\ufeff")
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		line = strings.TrimSpace(strings.TrimPrefix(line, "export "))
		key, raw, ok := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if !ok || !validEnv.MatchString(key) {
			r.problems = append(r.problems, Problem{File: name, Line: n, Column: 1, Message: "want NAME=value"})
			continue
		}
		value, err := dotenvValue(strings.TrimSpace(raw))
		if err != nil {
			r.problems = append(r.problems, Problem{File: name, Line: n, Column: 1, Message: fmt.Sprintf("%s: %v", key, err)})
			continue
		}
		vars[key] = value
	}
	return vars
}

func dotenvValue(raw string) (string, error) {
	switch {
	case strings.HasPrefix(raw, "'"):
		value, rest, ok := strings.Cut(raw[1:], "'")
		if !ok || !blankOrComment(rest) {
			return "", errors.New("the closing ' is missing or is followed by more")
		}
		return value, nil
	case strings.HasPrefix(raw, `"`):
		quoted, err := strconv.QuotedPrefix(raw)
		if err != nil || !blankOrComment(raw[len(quoted):]) {
			return "", errors.New(`the text in "…" is not closed, or has an escape that is none`)
		}
		return strconv.Unquote(quoted)
	default:
		if i := strings.Index(raw, " #"); i >= 0 {
			raw = raw[:i]
		}
		return strings.TrimSpace(raw), nil
	}
}

func blankOrComment(s string) bool {
	s = strings.TrimSpace(s)
	return s == "" || s[0] == '#'
}
