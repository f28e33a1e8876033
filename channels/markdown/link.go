package markdown

import (
	"net/url"
	"strings"
	"unicode"
)

// verdict is how a link may be shown.
type verdict uint8

const (
	linkOK   verdict = iota // label leads to the target
	linkShow                // label, and the target written out
	linkDrop                // label alone
)

// maxURL is the longest URL that all platforms take in a link.
const maxURL = 2000

// checkLink decides how [label](dest) may be shown, and returns the target.
// Only web addresses become links. A label that reads like an address of
// another host than the target's is a trap, so the target is written out.
func checkLink(label, dest string) (string, verdict) {
	dest = strings.TrimSpace(Clean(unescape(dest)))
	if dest == "" || strings.ContainsAny(dest, "\n<>|") && !strings.Contains(dest, "://") {
		return dest, linkDrop
	}
	scheme, _, hasScheme := strings.Cut(strings.ToLower(dest), ":")
	switch {
	case hasScheme && (scheme == "http" || scheme == "https"):
		return checkWeb(label, dest)
	case hasScheme && (scheme == "javascript" || scheme == "vbscript" || scheme == "data" || scheme == "tg"):
		return dest, linkDrop
	case strings.HasPrefix(dest, "#"), strings.HasSuffix(dest, label), strings.HasPrefix(dest, "mailto:"+label):
		return dest, linkDrop
	}
	return dest, linkShow
}

func checkWeb(label, dest string) (string, verdict) {
	u, err := url.Parse(dest)
	if err != nil || u.Host == "" || len(dest) > maxURL {
		return strings.Join(strings.Fields(dest), "%20"), linkShow
	}
	target := u.String()
	host := bareHost(u.Hostname())
	for word := range strings.FieldsSeq(visible(label)) {
		shown := shownHost(word)
		if shown != "" && shown != host && !strings.HasSuffix(host, "."+shown) {
			return target, linkShow
		}
	}
	if u.User != nil || strings.ContainsAny(target, "<>|\" ") {
		return target, linkShow
	}
	return target, linkOK
}

// visible is label without characters that hide in it.
func visible(label string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector) {
			return -1
		}
		return r
	}, label)
}

func bareHost(h string) string {
	return strings.TrimPrefix(strings.ToLower(strings.TrimSuffix(h, ".")), "www.")
}

// shownHost is the host that a word of a label makes people expect; empty if
// it looks like no address.
func shownHost(word string) string {
	word = strings.Trim(word, "()[]{}<>'\"`,;!?*_~…“”‘’")
	_, rest, absolute := strings.Cut(word, "://")
	if !absolute {
		rest = word
	}
	rest = rest[:endOfHost(rest)]
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	host := rest
	if i := strings.IndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	host = strings.TrimRight(host, ".")
	dot := strings.LastIndexByte(host, '.')
	if !absolute && (dot <= 0 || !looksLikeTLD(host, dot)) {
		return ""
	}
	return bareHost(host)
}

func endOfHost(s string) int {
	if i := strings.IndexAny(s, "/?#\\"); i >= 0 {
		return i
	}
	return len(s)
}

// looksLikeTLD reports whether host, whose last dot is at dot, ends in letters
// that are a domain rather than a file's extension.
func looksLikeTLD(host string, dot int) bool {
	tld := strings.ToLower(host[dot+1:])
	if strings.HasPrefix(strings.ToLower(host), "www.") {
		return true
	}
	if len(tld) < 2 || fileExtensions[tld] {
		return false
	}
	for _, r := range host {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '.' {
			return false
		}
	}
	return !strings.ContainsFunc(tld, func(r rune) bool { return !unicode.IsLetter(r) })
}

var fileExtensions = map[string]bool{
	"bash": true, "bat": true, "cfg": true, "conf": true, "cpp": true, "cs": true, "css": true, "csv": true, "doc": true,
	"docx": true, "env": true, "gif": true, "go": true, "gz": true, "hpp": true, "htm": true, "html": true, "ini": true,
	"ipynb": true, "java": true, "jpeg": true, "jpg": true, "js": true, "json": true, "jsx": true, "kt": true, "lock": true,
	"log": true, "lua": true, "md": true, "mdx": true, "mjs": true, "mod": true, "pdf": true, "php": true, "pl": true, "png": true,
	"ps": true, "py": true, "rb": true, "rs": true, "rst": true, "scss": true, "sh": true, "sql": true, "sum": true, "svg": true,
	"swift": true, "tar": true, "tex": true, "toml": true, "ts": true, "tsv": true, "tsx": true, "txt": true, "vue": true,
	"wasm": true, "webp": true, "xls": true, "xlsx": true, "xml": true, "yaml": true, "yml": true,
}
