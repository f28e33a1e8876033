package skill

import (
	"errors"
	"strings"
)

// value is what one key of a front matter has: a text, or a list.
type value struct {
	text string
	list []string
}

func text(v value) string { return v.text }

// frontMatter parts the text into the fields between its two lines of --- and
// what follows. It knows as much of YAML as front matters use: texts, quoted or
// not, blocks after | and >, and lists in brackets or line by line.
func frontMatter(data string) (fields map[string]value, body string, err error) {
	data = strings.TrimPrefix(strings.ReplaceAll(data, "\r\n", "\n"), "\ufeff")
	rest, ok := strings.CutPrefix(data, "---\n")
	if !ok {
		return nil, "", errors.New("it does not begin with a front matter: --- and then name and description")
	}
	head, body, ok := strings.Cut(rest, "\n---\n")
	if !ok {
		return nil, "", errors.New("its front matter is not closed by a line of ---")
	}
	fields = map[string]value{}
	key := ""
	for line := range strings.SplitSeq(head, "\n") {
		indented := line != "" && (line[0] == ' ' || line[0] == '\t' || line[0] == '-')
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || trimmed[0] == '#' && !indented:
		case indented && key != "":
			v := fields[key]
			if item, ok := strings.CutPrefix(trimmed, "- "); ok {
				v.list = append(v.list, unquote(item))
			} else {
				v.text = strings.TrimSpace(v.text + " " + trimmed)
			}
			fields[key] = v
		default:
			name, rest, ok := strings.Cut(line, ":")
			if !ok {
				return nil, "", errors.New("its front matter has a line without a key: " + trimmed)
			}
			key = strings.ToLower(strings.TrimSpace(name))
			fields[key] = parse(strings.TrimSpace(rest))
		}
	}
	return fields, strings.TrimSpace(body), nil
}

func parse(raw string) value {
	switch {
	case raw == "|" || raw == ">" || raw == "|-" || raw == ">-":
		return value{}
	case strings.HasPrefix(raw, "[") && strings.HasSuffix(raw, "]"):
		var v value
		for item := range strings.SplitSeq(raw[1:len(raw)-1], ",") {
			if item = unquote(strings.TrimSpace(item)); item != "" {
				v.list = append(v.list, item)
			}
		}
		return v
	}
	v := value{text: unquote(raw)}
	for item := range strings.SplitSeq(v.text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			v.list = append(v.list, item)
		}
	}
	return v
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}
