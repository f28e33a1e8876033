package markdown

// style is an inline decoration.
type style uint8

const (
	bold style = iota
	italic
	strike
	styles
)

// dialect is how one platform shows what the walk finds. Methods write to the
// walker's output through its raw method, which keeps line prefixes right.
type dialect interface {
	// text writes literal text, escaped and with mentions made inert.
	text(w *walker, s string)
	// begin and end bracket a decoration. They are not nested in their own kind.
	begin(w *walker, s style)
	end(w *walker, s style)
	code(w *walker, s string)
	// fence writes a code block; code ends without a newline.
	fence(w *walker, lang, code string)
	// heading brackets a heading's content.
	heading(w *walker, level int, content func())
	// link writes label as a link to url, which was checked.
	link(w *walker, url string, label func())
	// bare writes a URL that people see as it is.
	bare(w *walker, url string)
	// quote brackets a block quote's content.
	quote(w *walker, content func())
	rule(w *walker)
	// bullet is the marker of an unordered list's item.
	bullet() string
}
