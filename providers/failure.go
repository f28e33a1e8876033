package providers

import (
	"bytes"
	"strconv"
	"strings"
)

// Failure is what a vendor said went wrong, read from any vendor's error body.
type Failure struct {
	Status  int // HTTP status, or one named in the body; 0 if there was none
	Type    string
	Code    string
	Message string

	loc string // the field that the next message is about
}

// maxFailureText bounds how much of a vendor's words is repeated, in bytes.
const maxFailureText = 600

// ParseFailure reads an error body: the object of any vendor, a list of them,
// a bare string, a page of HTML or plain text.
func ParseFailure(status int, body []byte) Failure {
	f := Failure{Status: status}
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	if len(body) > 0 && (body[0] == '{' || body[0] == '[') {
		d := NewDecoder(body)
		f.read(&d, 0)
	}
	if f.Message == "" && f.Type == "" && f.Code == "" {
		f.Message = plainText(body)
	}
	f.Message = shorten(strings.TrimSpace(Clean(f.Message)), maxFailureText)
	return f
}

func (f *Failure) read(d *Decoder, depth int) {
	switch {
	case depth > 6:
		d.Skip()
	case d.Is('['):
		for d.Array(); d.More(); {
			f.read(d, depth+1)
		}
	case d.Is('"'):
		f.say(d.String())
	case d.Is('{'):
		var key []byte
		for d.Object(); d.Key(&key); {
			f.member(d, string(key), depth)
		}
	default:
		d.Skip()
	}
}

func (f *Failure) member(d *Decoder, key string, depth int) {
	switch key {
	case "error", "errors", "detail", "response", "last_error", "fault":
		f.read(d, depth+1)
	case "message", "msg", "error_message", "errorMessage", "faultstring":
		if d.Is('"') {
			f.say(d.String())
		} else {
			f.read(d, depth+1)
		}
	case "loc": // of servers built with FastAPI: body, messages, 0, content
		f.loc = location(d)
	case "metadata": // OpenRouter repeats what the vendor behind it said
		f.metadata(d)
	case "type", "status", "error_type":
		if d.Is('0') {
			f.setStatus(d.Int())
		} else if s := d.String(); f.Type == "" && s != "error" && s != "failed" {
			f.Type = s
		}
	case "code", "status_code", "statusCode", "http_code":
		if d.Is('0') {
			n := d.Int()
			f.setStatus(n)
			if f.Code == "" && (n < 100 || n > 599) {
				f.Code = strconv.FormatInt(n, 10)
			}
		} else if s := d.String(); s != "" && f.Code == "" {
			if n, err := strconv.ParseInt(s, 10, 64); err == nil {
				f.setStatus(n)
			}
			f.Code = s
		}
	default:
		d.Skip()
	}
}

func (f *Failure) metadata(d *Decoder) {
	var key []byte
	for d.Object(); d.Key(&key); {
		switch string(key) {
		case "raw":
			if raw := d.String(); raw != "" && len(raw) < 8<<10 {
				inner := ParseFailure(0, []byte(raw))
				f.say(inner.Message)
			}
		case "error_type":
			if s := d.String(); f.Type == "" {
				f.Type = s
			}
		default:
			d.Skip()
		}
	}
}

func (f *Failure) setStatus(n int64) {
	if (f.Status == 0 || f.Status == 200) && n >= 400 && n < 600 {
		f.Status = int(n)
	}
}

// location reads the path of a field.
func location(d *Decoder) string {
	var path []string
	for d.Array(); d.More(); {
		if step := strings.Trim(string(d.Raw()), `"`); step != "body" && len(path) < 8 {
			path = append(path, shorten(step, 64))
		}
	}
	return strings.Join(path, ".")
}

func (f *Failure) say(text string) {
	text = strings.TrimSpace(text)
	if f.loc != "" && text != "" {
		text, f.loc = f.loc+": "+text, ""
	}
	switch {
	case text == "" || strings.Contains(f.Message, text):
	case f.Message == "":
		f.Message = text
	case len(f.Message) < maxFailureText:
		f.Message += ": " + text
	}
}

// plainText makes a sentence of a body that is no JSON: of a page, its title.
func plainText(body []byte) string {
	if !IsHTML(body) {
		return strings.Join(strings.Fields(shorten(string(body), maxFailureText)), " ")
	}
	lower := bytes.ToLower(body[:min(len(body), 16<<10)])
	if start := bytes.Index(lower, []byte("<title")); start >= 0 {
		rest := lower[start:]
		open, end := bytes.IndexByte(rest, '>'), bytes.Index(rest, []byte("</title"))
		if open >= 0 && end > open {
			title := body[start+open+1 : start+end]
			return "an HTML page titled " + strconv.Quote(strings.Join(strings.Fields(string(title)), " "))
		}
	}
	return "an HTML page"
}

// IsHTML reports whether body looks like a page rather than an answer.
func IsHTML(body []byte) bool {
	body = bytes.TrimSpace(body)
	lower := bytes.ToLower(body[:min(len(body), 256)])
	return bytes.HasPrefix(lower, []byte("<!doctype html")) || bytes.HasPrefix(lower, []byte("<html")) ||
		bytes.HasPrefix(lower, []byte("<head")) || bytes.HasPrefix(lower, []byte("<body")) ||
		bytes.HasPrefix(lower, []byte("<?xml")) || bytes.HasPrefix(lower, []byte("<center>")) ||
		bytes.HasPrefix(lower, []byte("<!--"))
}

// shorten cuts s at a character, at most n bytes long.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
