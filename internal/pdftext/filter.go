package pdftext

import (
	"bytes"
	"compress/flate"
	"encoding/ascii85"
	"io"
)

// decode undoes a stream's encryption and filters. What can't be undone gives
// nothing; what breaks off gives what came before.
func (f *file) decode(s *stream) []byte {
	data := f.crypt.open(s)
	filters, params := f.filters(s.dict)
	for i, filter := range filters {
		if f.left <= 0 {
			return nil
		}
		switch filter {
		case "FlateDecode", "Fl":
			data = f.predict(f.inflate(data), params[i])
		case "LZWDecode", "LZW":
			early := 1
			if n, ok := f.resolve(params[i]["EarlyChange"]).(float64); ok {
				early = int(n)
			}
			data = f.predict(f.count(unLZW(data, early, f.most())), params[i])
		case "ASCII85Decode", "A85":
			data = f.count(un85(data))
		case "ASCIIHexDecode", "AHx":
			l := lexer{data: data}
			data = f.count(l.hex())
		case "RunLengthDecode", "RL":
			data = f.count(unRunLength(data, f.most()))
		case "Crypt":
		default:
			return nil
		}
	}
	return data
}

func (f *file) filters(d dict) (names []name, params []dict) {
	switch o := f.resolve(first(d, "Filter", "F")).(type) {
	case name:
		names = []name{o}
	case array:
		for _, x := range o[:min(len(o), 8)] {
			names = append(names, f.name(x))
		}
	}
	params = make([]dict, len(names))
	switch o := f.resolve(first(d, "DecodeParms", "DP")).(type) {
	case dict:
		if len(params) > 0 {
			params[0] = o
		}
	case array:
		for i := range params {
			if i < len(o) {
				params[i], _ = f.dict(o[i])
			}
		}
	}
	return names, params
}

func first(d dict, keys ...name) object {
	for _, k := range keys {
		if o, ok := d[k]; ok {
			return o
		}
	}
	return nil
}

func (f *file) most() int { return int(max(0, min(maxStream, f.left))) }

func (f *file) count(data []byte) []byte {
	f.left -= int64(len(data))
	return data
}

func (f *file) inflate(data []byte) []byte {
	if len(data) < 2 {
		return nil
	}
	if (int(data[0])<<8|int(data[1]))%31 == 0 && data[0]&15 == 8 {
		data = data[2:] // the header of zlib
	}
	r := flate.NewReader(bytes.NewReader(data))
	out, _ := io.ReadAll(io.LimitReader(r, int64(f.most()))) // what came before damage counts
	return f.count(out)
}

// predict undoes the predictors of PNG and TIFF.
func (f *file) predict(data []byte, params dict) []byte {
	kind := int(f.number(params["Predictor"]))
	if kind < 2 {
		return data
	}
	value := func(key name, def int) int {
		if n, ok := f.resolve(params[key]).(float64); ok && n > 0 && n < 1<<16 {
			return int(n)
		}
		return def
	}
	colors, bits, columns := min(value("Colors", 1), 64), value("BitsPerComponent", 8), value("Columns", 1)
	size, row := max(1, colors*bits/8), (colors*bits*columns+7)/8
	if kind == 2 {
		if bits == 8 {
			for from := 0; from < len(data); from += row {
				line := data[from:min(from+row, len(data))]
				for i := size; i < len(line); i++ {
					line[i] += line[i-size]
				}
			}
		}
		return data
	}
	out := data[:0] // never overtakes what is read
	above := make([]byte, row)
	for len(data) > 1 {
		how, line := data[0], data[1:min(row+1, len(data))]
		data = data[1+len(line):]
		unPNG(how, line, above, size)
		copy(above, line)
		out = append(out, line...)
	}
	return out
}

func unPNG(how byte, line, above []byte, size int) {
	for i := range line {
		var left, corner byte
		if i >= size {
			left, corner = line[i-size], above[i-size]
		}
		switch how {
		case 1:
			line[i] += left
		case 2:
			line[i] += above[i]
		case 3:
			line[i] += byte((int(left) + int(above[i])) / 2)
		case 4:
			line[i] += paeth(left, above[i], corner)
		}
	}
}

func paeth(a, b, c byte) byte {
	p := int(a) + int(b) - int(c)
	da, db, dc := abs(p-int(a)), abs(p-int(b)), abs(p-int(c))
	switch {
	case da <= db && da <= dc:
		return a
	case db <= dc:
		return b
	}
	return c
}

func abs(n int) int { return max(n, -n) }

func un85(data []byte) []byte {
	if i := bytes.IndexByte(data, '~'); i >= 0 {
		data = data[:i]
	}
	data = bytes.TrimPrefix(bytes.TrimSpace(data), []byte("<~"))
	out := make([]byte, 4*len(data)+8) // "z" stands for four bytes
	n, _, _ := ascii85.Decode(out, data, true)
	return out[:n]
}

func unRunLength(data []byte, most int) []byte {
	var out []byte
	for len(data) > 1 && data[0] != 128 && len(out) < most {
		n := int(data[0])
		if n < 128 {
			n = min(n+1, len(data)-1)
			out = append(out, data[1:1+n]...)
			data = data[1+n:]
			continue
		}
		out = append(out, bytes.Repeat(data[1:2], 257-n)...)
		data = data[2:]
	}
	return out
}

// unLZW undoes LZW as PDF has it: codes from nine bits on, most significant bit
// first, whose width grows early or late.
func unLZW(data []byte, early, most int) []byte {
	const clear, end = 256, 257
	var (
		out    []byte
		prefix [4096]uint16
		suffix [4096]byte
		length [4096]int32
		next   = 258
		width  = uint(9)
		last   = -1
		acc    uint32
		bits   uint
	)
	for i := range 256 {
		suffix[i], length[i] = byte(i), 1
	}
	expand := func(code int) {
		n := int(length[code])
		out = append(out, make([]byte, n)...)
		for at := len(out) - 1; n > 0; n-- {
			out[at] = suffix[code]
			code, at = int(prefix[code]), at-1
		}
	}
	for _, c := range data {
		acc, bits = acc<<8|uint32(c), bits+8
		if bits < width {
			continue
		}
		bits -= width
		code := int(acc >> bits & (1<<width - 1))
		switch {
		case code == clear:
			next, width, last = 258, 9, -1
			continue
		case code == end, code > next, code == next && last < 0, len(out) >= most:
			return out
		}
		start := len(out)
		if code < next {
			expand(code)
		} else {
			expand(last)
			out = append(out, out[start])
		}
		if last >= 0 && next < 4096 {
			prefix[next], suffix[next], length[next] = uint16(last), out[start], length[last]+1 //nolint:gosec // below 4096
			next++
		}
		last = code
		if width < 12 && next+early >= 1<<width {
			width++
		}
	}
	return out
}
