package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// document is a parsed file: its values, and where each of them stands.
type document struct {
	name   string
	values map[string]any
	places map[string]place
}

// place is where a key and its value begin.
type place struct{ line, column int }

// keyPath joins the parts of a key for people. Parts that are no bare keys are
// quoted, as in the file.
func keyPath(parts []string) string {
	out := make([]string, len(parts))
	for i, part := range parts {
		out[i] = part
		if part == "" || strings.Trim(part, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			out[i] = fmt.Sprintf("%q", part)
		}
	}
	return strings.Join(out, ".")
}

// parse reads TOML. An error of the syntax is reported, and then there is no
// document.
func parse(name string, data []byte, r *report) *document {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // a byte order mark, as Windows editors leave it
	doc := &document{name: name, values: map[string]any{}, places: map[string]place{}}
	if err := toml.Unmarshal(data, &doc.values); err != nil {
		p := Problem{File: name, Message: err.Error()}
		if e, ok := errors.AsType[*toml.DecodeError](err); ok {
			p.Line, p.Column = e.Position()
			p.Message = syntaxMessage(strings.TrimPrefix(e.Error(), "toml: "))
		}
		r.problems = append(r.problems, p)
		return nil
	}
	doc.locate(data)
	return doc
}

// syntaxMessage adds what to do to the parser's message.
func syntaxMessage(message string) string {
	switch {
	case strings.Contains(message, "at start of value"), strings.Contains(message, "expected keyword"):
		return message + `; put text in quotes: key = "value"`
	case strings.Contains(message, "already exists"), strings.Contains(message, "already defined"), strings.Contains(message, "duplicate"):
		return message + "; keep one of them"
	case strings.Contains(message, "expected '=' after key"):
		return message + "; a setting is written key = value, a table [name]"
	default:
		return message
	}
}

// locate records where every key of the document stands. The parser accepts
// what Unmarshal accepted.
func (d *document) locate(data []byte) {
	lines := newLines(data)
	var p unstable.Parser
	p.Reset(data)
	var table []string
	elements := map[string]int{}
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table:
			table = d.key(nil, e.Key(), elements, lines)
		case unstable.ArrayTable:
			table = d.key(nil, e.Key(), elements, lines)
			k := keyPath(table)
			table = append(table, fmt.Sprint(elements[k]))
			d.places[keyPath(table)] = d.places[k]
			elements[k]++
		case unstable.KeyValue:
			d.keyValue(table, e, elements, lines)
		}
	}
}

func (d *document) keyValue(table []string, e *unstable.Node, elements map[string]int, lines lines) {
	d.value(d.key(table, e.Key(), elements, lines), e.Value(), elements, lines)
}

// key records the places of a dotted key's parts and returns its full path. The
// first mention of a table is its place.
func (d *document) key(path []string, key unstable.Iterator, elements map[string]int, lines lines) []string {
	path = append([]string(nil), path...)
	for key.Next() {
		n := key.Node()
		path = append(path, string(n.Data))
		k := keyPath(path)
		if _, known := d.places[k]; !known {
			d.places[k] = lines.place(int(n.Raw.Offset))
		}
		// A table below an array of tables belongs to its last element.
		if count := elements[k]; count > 0 && !key.IsLast() {
			path = append(path, fmt.Sprint(count-1))
		}
	}
	return path
}

func (d *document) value(path []string, n *unstable.Node, elements map[string]int, lines lines) {
	switch n.Kind {
	case unstable.InlineTable:
		for it := n.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				d.keyValue(path, it.Node(), elements, lines)
			}
		}
	case unstable.Array:
		i := 0
		for it := n.Children(); it.Next(); {
			child := it.Node()
			if child.Kind == unstable.Comment {
				continue
			}
			element := append(append([]string(nil), path...), fmt.Sprint(i))
			if child.Raw.Length > 0 {
				d.places[keyPath(element)] = lines.place(int(child.Raw.Offset))
			}
			d.value(element, child, elements, lines)
			i++
		}
	}
}

// at returns where the key stands, or the nearest table above it that the file
// has.
func (d *document) at(path []string) place {
	for n := len(path); n > 0; n-- {
		if p, ok := d.places[keyPath(path[:n])]; ok {
			return p
		}
	}
	return place{}
}

// lines are the offsets at which the lines of a file begin.
type lines []int

func newLines(data []byte) lines {
	starts := lines{0}
	for i, b := range data {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

func (l lines) place(offset int) place {
	low, high := 0, len(l)
	for low+1 < high {
		if mid := (low + high) / 2; l[mid] <= offset {
			low = mid
		} else {
			high = mid
		}
	}
	return place{line: low + 1, column: offset - l[low] + 1}
}
