package markdown

import (
	"strings"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// maxTable is the widest table, in columns of a monospaced font, that a phone
// shows without wrapping. A wider one becomes a list.
const maxTable = 44

// table writes an aligned code block, or a list of rows if that would be too
// wide: no platform's messages have tables that a phone shows well.
func (w *walker) table(n *east.Table) {
	rows := make([][]string, 0, n.ChildCount())
	widths := make([]int, len(n.Alignments))
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		row := make([]string, 0, len(widths))
		for c := r.FirstChild(); c != nil && len(row) < len(widths); c = c.NextSibling() {
			text := strings.Join(strings.Fields(Clean(plain(c, w.src))), " ")
			widths[len(row)] = max(widths[len(row)], uniseg.StringWidth(text))
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	total := 3 * (len(widths) - 1)
	for _, width := range widths {
		total += width
	}
	switch {
	case total == 3*(len(widths)-1): // no cell has text
	case total > maxTable:
		w.tableList(n)
	default:
		w.ownLine()
		w.d.fence(w, "", alignTable(rows, widths, n.Alignments))
	}
}

func alignTable(rows [][]string, widths []int, alignments []east.Alignment) string {
	lines := make([]string, 0, len(rows)+1)
	for i, row := range rows {
		var b strings.Builder
		for col, width := range widths {
			cell := ""
			if col < len(row) {
				cell = row[col]
			}
			if col > 0 {
				b.WriteString(" │ ")
			}
			pad(&b, cell, width, alignments[col])
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
		if i == 0 {
			rules := make([]string, len(widths))
			for col, width := range widths {
				rules[col] = strings.Repeat("─", width)
			}
			lines = append(lines, strings.Join(rules, "─┼─"))
		}
	}
	return strings.Join(lines, "\n")
}

func pad(b *strings.Builder, cell string, width int, a east.Alignment) {
	space := width - uniseg.StringWidth(cell)
	left := 0
	switch a {
	case east.AlignRight:
		left = space
	case east.AlignCenter:
		left = space / 2
	}
	b.WriteString(strings.Repeat(" ", left))
	b.WriteString(cell)
	b.WriteString(strings.Repeat(" ", space-left))
}

// tableList writes each row as its first cell in bold and, below it, the other
// cells after their headers.
func (w *walker) tableList(n *east.Table) {
	header := n.FirstChild()
	if header.NextSibling() == nil {
		w.tableRow(nil, header)
		return
	}
	for r := header.NextSibling(); r != nil; r = r.NextSibling() {
		if r != header.NextSibling() {
			w.gap(1)
		}
		w.tableRow(header, r)
	}
}

func (w *walker) tableRow(header, row ast.Node) {
	w.raw(w.d.bullet())
	w.nested("  ", false, func() {
		var name ast.Node
		if header != nil {
			name = header.FirstChild()
		}
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			switch {
			case c == row.FirstChild():
				w.styled(bold, c)
			case Blank(plain(c, w.src)):
			default:
				w.gap(1)
				if name != nil && name.HasChildren() {
					w.inlines(name)
					w.d.text(w, ": ")
				}
				w.inlines(c)
			}
			if name != nil {
				name = name.NextSibling()
			}
		}
	})
}
