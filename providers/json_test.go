package providers

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// build makes what encoding/json would make of the next value.
func build(d *Decoder, depth int) any {
	var key []byte
	switch {
	case depth > 100:
		d.Skip()
		return nil
	case d.Is('{'):
		out := map[string]any{}
		for d.Object(); d.Key(&key); {
			name := Clean(string(key))
			out[name] = build(d, depth+1)
		}
		return out
	case d.Is('['):
		out := []any{}
		for d.Array(); d.More(); {
			out = append(out, build(d, depth+1))
		}
		return out
	case d.Is('"'):
		return Clean(d.String())
	}
	var v any
	if json.Unmarshal(d.Raw(), &v) != nil {
		d.fail()
	}
	return v
}

func TestTheDecoderReadsWhatJSONSays(t *testing.T) {
	for _, in := range []string{
		`{}`, `[]`, `{"a":1,"b":[true,false,null,-1.5e3],"c":{"d":"e"}}`, ` { "a" : [ 1 , 2 ] } `, `"a\"b\\\n\u00e9\ud83e\udd80"`,
		`[[[[]]],{"":{}}]`, `{"\u0061":1}`, `12`,
	} {
		d := NewDecoder([]byte(in))
		got := build(&d, 0)
		var want any
		if err := json.Unmarshal([]byte(in), &want); err != nil {
			t.Fatal(err)
		}
		if err := d.End(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v; want %v", in, got, err, want)
		}
	}
}

func TestAValueOfAnotherTypeIsSkipped(t *testing.T) {
	d := NewDecoder([]byte(`{"text":null,"n":"7","list":{"a":[1]},"object":[1,{"b":2}],"n2":4.9,"last":"x"}`))
	var key []byte
	var last string
	for d.Object(); d.Key(&key); {
		switch string(key) {
		case "text":
			if s := d.String(); s != "" {
				t.Errorf("null is %q", s)
			}
		case "n":
			if n := d.Int(); n != 0 {
				t.Errorf("a string is %d", n)
			}
		case "n2":
			if n := d.Int(); n != 4 {
				t.Errorf("4.9 is %d", n)
			}
		case "list":
			for d.Array(); d.More(); {
				t.Error("an object has elements")
			}
		case "object":
			for d.Object(); d.Key(&key); {
				t.Error("an array has members")
			}
		case "last":
			last = d.String()
		}
	}
	if last != "x" || d.End() != nil {
		t.Errorf("%q, %v", last, d.Err())
	}
}

func TestMalformedDocumentsAreErrors(t *testing.T) {
	for _, in := range []string{``, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a" 1}`, `{a:1}`, `[1`, `[1 2]`, `"abc`, `"abc\"`, `{"a":"b}`, `}`, `{} x`,
		`{"a":{"b":[1,2}`, strings.Repeat("[", 5000)} {
		d := NewDecoder([]byte(in))
		build(&d, 0)
		if d.End() == nil {
			t.Errorf("%s is taken for JSON", in[:min(len(in), 40)])
		}
		d = NewDecoder([]byte(in))
		d.Skip()
		if d.End() == nil && in != `{a:1}` {
			t.Errorf("%s is skipped as JSON", in[:min(len(in), 40)])
		}
	}
}

// FuzzDecoder checks that the decoder never panics, and that it reads every
// valid document as encoding/json does.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte(`{"a":[1,"b\u00e9\ud83e\udd80",{"c":null}],"d":-1e5}`))
	f.Add([]byte(`{"choices":[{"delta":{"content":"x\`))
	f.Fuzz(func(t *testing.T, in []byte) {
		d := NewDecoder(in)
		got := build(&d, 0)
		err := d.End()
		var want any
		if !json.Valid(in) || !utf8.Valid(in) || json.Unmarshal(in, &want) != nil || strings.Contains(string(in), `\u`) || deep(want) > 90 {
			return
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, %v; want %#v", in, got, err, want)
		}
	})
}

func deep(v any) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n = max(n, deep(e)+1)
		}
	case map[string]any:
		for _, e := range v {
			n = max(n, deep(e)+1)
		}
	}
	return n
}

func TestAStringIsEncodedForAnyVendor(t *testing.T) {
	for in, want := range map[string]string{
		"plain \u00e9 你🦀": `"plain é 你🦀"`, "a\"b\\c\n\r\t\x00\x1f": `"a\"b\\c\n\r\t\u0000\u001f"`,
		"\u2028\u2029\u2030": `"\u2028\u2029‰"`, "a\xed\xa0\xbdb": `"ab"`, "\xed\xa0\xbd\xed\xb8\x80": `"😀"`, "x\xffy": `"x�y"`, "<&>": `"<&>"`,
	} {
		got := string(AppendString(nil, in))
		var back string
		if got != want || json.Unmarshal([]byte(got), &back) != nil {
			t.Errorf("%q is encoded as %s, want %s", in, got, want)
		}
	}
}

func TestArgumentsAreAlwaysAnObject(t *testing.T) {
	for in, want := range map[string]string{
		``: `{}`, `null`: `{}`, `"{\"x\": 1"`: `{}`, `[1]`: `{}`, `{"a":`: `{}`, ` { "a" : 12345678901234567890 } `: `{"a":12345678901234567890}`,
	} {
		if got := string(Arguments(json.RawMessage(in))); got != want {
			t.Errorf("%s is sent as %s, want %s", in, got, want)
		}
	}
}

func TestCharactersSplitBetweenDeltasAreJoined(t *testing.T) {
	for _, whole := range []string{"你好🦀é", "plain", "🦀🦀", "a\u0301"} {
		for cut := range len(whole) + 1 {
			var j Joiner
			if got := j.Next(whole[:cut]) + j.Next(whole[cut:]) + j.Flush(); got != whole {
				t.Errorf("%q cut at %d becomes %q", whole, cut, got)
			}
		}
		var j Joiner
		var out strings.Builder
		for i := range len(whole) {
			out.WriteString(j.Next(whole[i : i+1]))
		}
		if out.WriteString(j.Flush()); out.String() != whole {
			t.Errorf("%q a byte at a time becomes %q", whole, out.String())
		}
	}
	var j Joiner
	halves := func(raw string) string {
		d := NewDecoder([]byte(raw))
		return d.String()
	}
	if got := j.Next(halves(`"a\ud83e"`)) + j.Next(halves(`"\udd80b"`)) + j.Flush(); got != "a🦀b" {
		t.Errorf("halves of a surrogate pair become %q", got)
	}
	if got := j.Next(halves(`"a\ud83e"`)) + j.Next("b") + j.Flush(); got != "ab" {
		t.Errorf("half a pair becomes %q", got)
	}
	if got := j.Next("a\xe4\xbd") + j.Flush(); got != "a\ufffd" {
		t.Errorf("half a character becomes %q", got)
	}
}

// FuzzJoiner checks that what is joined is valid, and the same for valid text
// wherever it is cut.
func FuzzJoiner(f *testing.F) {
	f.Add("你好🦀", 2, 5)
	f.Add("\xed\xa0\xbd\xed\xb8\x80", 3, 4)
	f.Fuzz(func(t *testing.T, s string, a, b int) {
		a = min(max(a, 0), len(s))
		b = min(max(b, a), len(s))
		var j Joiner
		var out strings.Builder
		for _, part := range []string{s[:a], s[a:b], s[b:]} {
			got := j.Next(part)
			if !utf8.ValidString(got) {
				t.Fatalf("%q is not valid", got)
			}
			out.WriteString(got)
		}
		out.WriteString(j.Flush())
		if utf8.ValidString(s) && out.String() != s {
			t.Errorf("%q cut at %d and %d becomes %q", s, a, b, out.String())
		}
	})
}
