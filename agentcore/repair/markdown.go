package repair

// code follows where in a Markdown text a position is, as far as it takes to
// tell code from prose: fences, and spans in backticks.
type code struct {
	// line is the beginning of the current line up to what decides whether it
	// is a fence: indentation, then a run of one fence character.
	indent    int
	run       int
	runByte   byte
	lineStart bool // nothing but indentation and the run has been seen

	fence     byte // the open fence's character, 0 if none
	fenceRun  int
	closing   bool // after the run only blanks, so the line may close the fence
	spanRun   int  // length of the run that opened a span, 0 if none
	ticks     int  // length of the run being read
	blankLine bool // the line has only blanks so far
}

func newCode() code { return code{lineStart: true, blankLine: true} }

// inside reports whether the next character would stand in code.
func (c *code) inside() bool { return c.fence != 0 || c.spanRun > 0 || c.ticks > 0 && c.fence == 0 }

// atLineStart reports whether only indentation precedes on the line.
func (c *code) atLineStart() bool { return c.blankLine }

// add moves past one byte of text.
func (c *code) add(b byte) {
	if b == '\n' {
		c.endLine()
		return
	}
	if b == '\r' {
		return
	}
	switch {
	case !c.lineStart:
		if b != ' ' && b != '\t' {
			c.closing = false
		}
	case c.run == 0 && b == ' ':
		c.indent++
	case c.run == 0 && (b == '`' || b == '~') && c.indent <= 3:
		c.run, c.runByte = 1, b
	case c.run > 0 && b == c.runByte:
		c.run++
	default:
		c.lineStart = false
		c.closing = c.run > 0 && (b == ' ' || b == '\t')
		if c.run >= 3 && c.fence == 0 && b == '`' {
			c.run = 0 // an info string has no backtick: a span
		}
	}
	if b != ' ' && b != '\t' {
		c.blankLine = false
	}
	if c.fence == 0 {
		c.span(b)
	}
}

// span follows runs of backticks outside of fences.
func (c *code) span(b byte) {
	if b == '`' {
		c.ticks++
		return
	}
	c.endTicks()
}

func (c *code) endTicks() {
	switch {
	case c.ticks == 0:
	case c.spanRun == 0:
		c.spanRun = c.ticks
	case c.spanRun == c.ticks:
		c.spanRun = 0
	}
	c.ticks = 0
}

func (c *code) endLine() {
	switch {
	case c.fence != 0:
		if c.runByte == c.fence && c.run >= c.fenceRun && (c.lineStart || c.closing) {
			c.fence = 0
		}
		c.spanRun, c.ticks = 0, 0
	case c.run >= 3:
		c.fence, c.fenceRun = c.runByte, c.run
		c.spanRun, c.ticks = 0, 0
	default:
		c.endTicks()
		if c.blankLine {
			c.spanRun = 0 // a span does not pass a paragraph's end
		}
	}
	c.indent, c.run, c.runByte = 0, 0, 0
	c.lineStart, c.blankLine, c.closing = true, true, false
}
