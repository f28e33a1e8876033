package reply

import (
	"clawbot/channels/markdown"
)

// segment is a part of the text that is complete: it is shown as it is.
type segment struct {
	end   int // offset in the text
	text  string
	after markdown.Chunk // what the text after it continues
}

// plan divides the text into messages: frozen ones, and a tail that grows.
type plan struct {
	limit   int
	measure func(string) int

	frozen []segment
	cut    int // how many freezes were taken into account
}

// start is the offset of the tail, and what it continues.
func (p *plan) start() (int, markdown.Chunk) {
	if len(p.frozen) == 0 {
		return 0, markdown.Chunk{}
	}
	last := p.frozen[len(p.frozen)-1]
	return last.end, last.after
}

// thaw makes the text from offset on part of the tail again.
func (p *plan) thaw(offset int, freezes []int) {
	for len(p.frozen) > 0 && p.frozen[len(p.frozen)-1].end > offset {
		p.frozen = p.frozen[:len(p.frozen)-1]
	}
	p.recount(freezes)
}

// thawFrom makes segment i and what follows it part of the tail again.
func (p *plan) thawFrom(i int, freezes []int) {
	if i < len(p.frozen) {
		p.frozen = p.frozen[:i]
	}
	p.recount(freezes)
}

func (p *plan) recount(freezes []int) {
	begin, _ := p.start()
	p.cut = 0
	for p.cut < len(freezes) && freezes[p.cut] <= begin {
		p.cut++
	}
}

// freeze completes all text up to each of freezes.
func (p *plan) freeze(text []byte, freezes []int) {
	for ; p.cut < len(freezes); p.cut++ {
		p.complete(text, freezes[p.cut])
	}
}

// complete freezes the text up to offset end, after which a new text begins.
func (p *plan) complete(text []byte, end int) {
	begin, last := p.start()
	if begin >= end {
		return
	}
	for _, c := range markdown.SplitAfter(last, string(text[begin:end]), p.limit, p.measure) {
		p.frozen = append(p.frozen, segment{end: begin + c.End, text: c.Text, after: c})
	}
	if n := len(p.frozen); n > 0 {
		p.frozen[n-1].end = end
	}
}

// roll freezes the beginning of the tail, up to size of it; nothing if all of
// the tail fits.
func (p *plan) roll(text []byte, size int) {
	begin, last := p.start()
	chunks := markdown.SplitAfter(last, string(text[begin:]), min(size, p.limit), p.measure)
	if len(chunks) > 1 {
		c := chunks[0]
		p.frozen = append(p.frozen, segment{end: begin + c.End, text: c.Text, after: c})
	}
}

// tail returns the growing message's text. What no longer fits is frozen.
func (p *plan) tail(text []byte) string {
	begin, last := p.start()
	chunks := markdown.SplitAfter(last, string(text[begin:]), p.limit, p.measure)
	if len(chunks) == 0 {
		return ""
	}
	for _, c := range chunks[:len(chunks)-1] {
		p.frozen = append(p.frozen, segment{end: begin + c.End, text: c.Text, after: c})
	}
	return chunks[len(chunks)-1].Text
}
