package redact

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// shortest is the length in bytes from which a secret is looked for. Anything
// shorter would blank out ordinary words and hides nothing worth hiding.
const shortest = 5

// Redactor takes known secrets out of text. The zero value knows none. It is
// safe for concurrent use.
type Redactor struct {
	mu    sync.Mutex
	known map[string]bool
	words atomic.Pointer[words]
}

// words are all spellings, the longest first, and what replaces them.
type words struct {
	list     []string
	replacer *strings.Replacer
}

// New returns a Redactor that knows the given secrets.
func New(secrets ...string) *Redactor {
	r := &Redactor{}
	r.Add(secrets...)
	return r
}

// Add makes more secrets known, in the spellings that they take in URLs, JSON,
// quoted log values and basic authentication. Secrets shorter than five bytes
// are ignored.
func (r *Redactor) Add(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = make(map[string]bool)
	}
	for _, s := range secrets {
		s = strings.TrimSpace(s)
		if len(s) < shortest {
			continue
		}
		for _, spelling := range spellings(s) {
			r.known[spelling] = true
		}
	}
	if len(r.known) == 0 {
		return
	}
	// The longest first: a secret may begin with another one.
	list := slices.Collect(maps.Keys(r.known))
	slices.SortFunc(list, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(list))
	for _, w := range list {
		pairs = append(pairs, w, Mask)
	}
	r.words.Store(&words{list, strings.NewReplacer(pairs...)})
}

// String returns s without the known secrets. A text that holds none is
// returned as it is, without an allocation.
func (r *Redactor) String(s string) string {
	if r == nil {
		return s
	}
	known := r.words.Load()
	if known == nil || !slices.ContainsFunc(known.list, func(w string) bool { return strings.Contains(s, w) }) {
		return s
	}
	return known.replacer.Replace(s)
}

func spellings(s string) []string {
	all := []string{s, url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s))}
	if quoted := strconv.Quote(s); len(quoted) > 2 {
		all = append(all, quoted[1:len(quoted)-1])
	}
	if b, err := json.Marshal(s); err == nil && len(b) > 2 {
		all = append(all, string(b[1:len(b)-1]))
	}
	return all
}
