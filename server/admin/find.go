package admin

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"clawbot/agentcore"
	"clawbot/gateway"
)

const (
	// findMost entries are named, the latest ones.
	findMost = 50
	// passage is how much is shown around what was found, in bytes.
	passage = 160
)

// match is an entry that has what was looked for.
type match struct {
	Position int64  `json:"position"`
	Passage  string `json:"passage"`
}

// findInSession looks for a text in a whole transcript: in what was said, and in
// the arguments and results of tools. It is there because a browser finds only
// what is drawn.
//
//	?q=words → {"found": [{"position": 7, "passage": "…"}], "more": false}
func (a *Admin) findInSession(w http.ResponseWriter, r *http.Request) error {
	id, err := session(r)
	if err != nil {
		return err
	}
	words := strings.ToLower(strings.TrimSpace(r.URL.Query().Get("q")))
	if words == "" || len(words) > 200 {
		return &problem{http.StatusBadRequest, "q is what to look for, of at most 200 bytes."}
	}
	info, err := a.find(r.Context(), id)
	if err != nil {
		return err
	}
	found := []match{}
	for to := info.Tail; to > 0 && len(found) <= findMost; to -= min(to, maxEntries) {
		from := max(to-maxEntries, 0)
		list, err := gateway.ReadTranscript(r.Context(), a.cfg.Store, id, from, int(to-from))
		if err != nil {
			return err
		}
		for i := len(list) - 1; i >= 0 && len(found) <= findMost; i-- {
			if text, ok := around(wholeText(list[i].Message), words); ok {
				found = append(found, match{list[i].Position, text})
			}
		}
	}
	more := len(found) > findMost
	found = found[:min(len(found), findMost)]
	slices.Reverse(found)
	send(w, http.StatusOK, map[string]any{"found": found, "more": more})
	return nil
}

// wholeText is all of a message that people read, with the arguments of calls.
func wholeText(m *agentcore.Message) string {
	if m == nil {
		return ""
	}
	var text strings.Builder
	text.WriteString(m.Text())
	for _, b := range m.Content {
		if call, ok := b.(agentcore.ToolCall); ok {
			text.WriteString("\n" + call.Name + " " + string(call.Arguments))
		}
	}
	return text.String()
}

// around returns the part of text around words, which are in lower case.
func around(text, words string) (string, bool) {
	lower := strings.ToLower(text)
	if len(lower) != len(text) {
		text = lower // some letters change their length, and places would not fit
	}
	at := strings.Index(lower, words)
	if at < 0 {
		return "", false
	}
	from, to := max(at-passage/2, 0), min(at+len(words)+passage/2, len(text))
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	part := strings.Join(strings.Fields(text[from:to]), " ")
	if from > 0 {
		part = "… " + part
	}
	if to < len(text) {
		part += " …"
	}
	return part, true
}
