package pdftext

import (
	"bytes"
	"context"
	"slices"
)

// file is a PDF file that is read.
type file struct {
	ctx     context.Context
	data    []byte
	objects map[int]place
	packed  []packAt // streams that hold objects
	trailer dict
	crypt   *crypt
	left    int64 // bytes that may still be decoded
	ops     int   // operators and operands that may still be read
	tokens  int   // of the file's objects
	deep    int   // of references that are followed
	packs   map[int]pack
	fonts   map[ref]*font
}

// place is where an object is: after "obj" in the file, or in a pack.
type place struct {
	pos  int
	pack int // where the stream begins that holds it; 0 is none
	off  int
}

type pack struct {
	data []byte
}

type packAt struct{ pos, num int }

const (
	maxTokens       = 4_000_000
	maxObjectTokens = 400_000
)

// open finds the file's objects.
func (f *file) open() error {
	f.tokens = maxTokens
	f.objects, f.packs, f.fonts = map[int]place{}, map[int]pack{}, map[ref]*font{}
	head := f.data[:min(len(f.data), 1024)]
	if !bytes.Contains(head, []byte("%PDF-")) {
		return ErrDamaged
	}
	f.scan()
	if err := f.unlock(); err != nil {
		return err
	}
	for _, at := range f.packed {
		f.unpack(at.pos, at.num)
	}
	f.packed = nil
	if _, ok := f.dict(f.trailer["Root"]); !ok {
		f.findRoot()
	}
	return nil
}

// scan finds objects and trailers from the file's beginning to its end.
func (f *file) scan() {
	f.trailer = dict{}
	trailer := -1 // the next one
	for pos := 0; pos < len(f.data); {
		if trailer < pos {
			if trailer = bytes.Index(f.data[pos:], []byte("trailer")); trailer < 0 {
				trailer = len(f.data)
			} else {
				trailer += pos
			}
		}
		i := bytes.Index(f.data[pos:trailer], []byte("obj"))
		switch {
		case i >= 0:
			pos = f.scanObject(pos+i, pos)
		case trailer == len(f.data):
			return
		default:
			pos = trailer + len("trailer")
			l := f.lexer(pos)
			if d, ok := l.next(0).(dict); ok {
				f.learn(d)
				pos = max(pos, l.pos)
			}
		}
		if len(f.objects) > maxObjects || f.tokens <= 0 || f.ctx.Err() != nil {
			return
		}
	}
}

// scanObject reads the object whose "obj" is at a position and returns where to
// go on. Nothing before from belongs to it.
func (f *file) scanObject(at, from int) int {
	after := at + len("obj")
	num, ok := numberBefore(f.data, at, from)
	if !ok {
		return after
	}
	f.objects[num] = place{pos: after}
	l := f.lexer(after)
	d, isDict := l.next(0).(dict)
	begin, ok := f.streamAt(&l)
	if !isDict {
		return max(after, min(l.pos, f.endOf(after)))
	}
	if !ok {
		return max(after, l.pos)
	}
	switch d["Type"] {
	case name("ObjStm"):
		f.packed = append(f.packed, packAt{after, num})
	case name("XRef"):
		f.learn(d)
	}
	n, _ := d["Length"].(float64)
	return f.streamEnd(begin, int(n))
}

// endOf is where the object at a position ends at the latest.
func (f *file) endOf(pos int) int {
	const window = 1 << 16
	rest := f.data[pos:min(len(f.data), pos+window)]
	if i := bytes.Index(rest, []byte("endobj")); i >= 0 {
		return pos + i
	}
	return len(f.data)
}

// numberBefore reads the "12 0 " before "obj".
func numberBefore(data []byte, at, from int) (int, bool) {
	i := at
	back := func(want func(byte) bool) int {
		end := i
		for i > from && want(data[i-1]) && end-i < 12 {
			i--
		}
		return end - i
	}
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	back(white)
	if back(digit) == 0 || back(white) == 0 {
		return 0, false
	}
	end := i
	if n := back(digit); n == 0 || n > 9 {
		return 0, false
	}
	num := 0
	for _, c := range data[i:end] {
		num = num*10 + int(c-'0')
	}
	return num, num > 0
}

// learn takes a trailer into account; the last one counts, if it is whole.
func (f *file) learn(d dict) {
	if d["Root"] != nil {
		f.trailer["Root"] = d["Root"]
	}
	for _, key := range []name{"Encrypt", "ID"} {
		if d[key] != nil {
			f.trailer[key] = d[key]
		}
	}
}

func (f *file) lexer(pos int) lexer {
	return lexer{data: f.data, pos: pos, left: f.allowance()}
}

// allowance bounds what one object may be made of.
func (f *file) allowance() *int {
	n := max(0, min(maxObjectTokens, f.tokens))
	return &n
}

// streamAt reports whether a stream's data begins where the lexer stands, after
// a dictionary.
func (f *file) streamAt(l *lexer) (int, bool) {
	f.tokens -= maxObjectTokens - max(0, *l.left)
	l.skip()
	pos := l.pos
	if !bytes.HasPrefix(l.data[min(pos, len(l.data)):], []byte("stream")) {
		return 0, false
	}
	pos += len("stream")
	if pos < len(l.data) && l.data[pos] == '\r' {
		pos++
	}
	if pos < len(l.data) && l.data[pos] == '\n' {
		pos++
	}
	return pos, true
}

// streamEnd is where a stream's data ends. A length that the data contradicts
// is not believed.
func (f *file) streamEnd(begin, length int) int {
	mark := []byte("endstream")
	if end := begin + length; length > 0 && end <= len(f.data) {
		rest := f.data[end:min(len(f.data), end+len(mark)+8)]
		if bytes.HasPrefix(bytes.TrimLeft(rest, "\r\n \t"), mark) {
			return end
		}
	}
	if i := bytes.Index(f.data[begin:], mark); i >= 0 {
		return begin + i
	}
	return len(f.data)
}

// resolve follows references.
func (f *file) resolve(o object) object {
	for range 8 {
		r, ok := o.(ref)
		if !ok {
			return o
		}
		o = f.read(r)
	}
	return nil
}

// read reads an object of the file.
func (f *file) read(r ref) object {
	at, ok := f.objects[r.num]
	if !ok || f.tokens <= 0 || f.deep > maxDepth {
		return nil
	}
	if at.pack != 0 {
		data := f.packs[at.pack].data
		if at.off >= len(data) {
			return nil
		}
		l := lexer{data: data, pos: at.off, left: f.allowance()}
		o := l.next(0)
		f.tokens -= maxObjectTokens - max(0, *l.left)
		return plain(o)
	}
	return f.readAt(at.pos, r)
}

func plain(o object) object {
	if _, ok := o.(op); ok {
		return nil
	}
	return o
}

func (f *file) readAt(pos int, id ref) object {
	l := f.lexer(pos)
	o := l.next(0)
	d, ok := o.(dict)
	begin, isStream := f.streamAt(&l)
	if !ok || !isStream {
		return plain(o)
	}
	f.deep++
	length, _ := f.resolve(d["Length"]).(float64)
	f.deep--
	return &stream{dict: d, data: f.data[begin:f.streamEnd(begin, int(length))], id: id}
}

// unpack notes the objects that a stream holds, unless the file has later ones.
func (f *file) unpack(pos, num int) {
	s, ok := f.readAt(pos, ref{num: num}).(*stream)
	if !ok {
		return
	}
	data := f.decode(s)
	n, _ := f.resolve(s.dict["N"]).(float64)
	first, _ := f.resolve(s.dict["First"]).(float64)
	if int(first) <= 0 || int(first) > len(data) {
		return
	}
	f.packs[pos] = pack{data}
	l := lexer{data: data[:int(first)], content: true, left: f.allowance()}
	for range int(min(n, maxObjects)) {
		id, ok1 := l.next(0).(float64)
		off, ok2 := l.next(0).(float64)
		if !ok1 || !ok2 || len(f.objects) > maxObjects {
			return
		}
		if was, ok := f.objects[int(id)]; !ok || max(was.pos, was.pack) < pos {
			f.objects[int(id)] = place{pack: pos, off: int(first) + int(off)}
		}
	}
}

// findRoot looks for the catalogue in a file without a trailer.
func (f *file) findRoot() {
	nums := make([]int, 0, len(f.objects))
	for n := range f.objects {
		nums = append(nums, n)
	}
	slices.Sort(nums)
	for _, n := range nums {
		if d, ok := f.dict(ref{num: n}); ok && d["Type"] == name("Catalog") {
			f.trailer["Root"] = ref{num: n}
		}
	}
}

func (f *file) dict(o object) (dict, bool) {
	switch o := f.resolve(o).(type) {
	case dict:
		return o, true
	case *stream:
		return o.dict, true
	}
	return nil, false
}

func (f *file) array(o object) array {
	a, _ := f.resolve(o).(array)
	return a
}

func (f *file) number(o object) float64 {
	n, _ := f.resolve(o).(float64)
	return n
}

func (f *file) name(o object) name {
	n, _ := f.resolve(o).(name)
	return n
}
