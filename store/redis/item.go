package redis

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"clawbot/store"
)

// formatVersion stands at the head of every item and in the prefix's mark. A
// process that meets a greater one leaves it to whoever understands it.
const formatVersion = 1

// word makes any string one word of an item's head: never empty, and without
// spaces, commas and line breaks.
func word(s string) string { return "." + url.QueryEscape(s) }

func unword(s string) (string, error) {
	escaped, ok := strings.CutPrefix(s, ".")
	if !ok {
		return "", fmt.Errorf("%q is no word", s)
	}
	return url.QueryUnescape(escaped)
}

// head reads the words of an item's first line. The first failure stays.
type head struct {
	rest string
	err  error
}

// open parts an item into its head and its data, and checks the version.
func open(item string) (*head, []byte) {
	line, data, ok := strings.Cut(item, "\n")
	h := &head{rest: line}
	if !ok {
		h.err = fmt.Errorf("item %.40q has no head", item)
		return h, nil
	}
	if v := h.int(); h.err == nil && v != formatVersion {
		h.err = newerError(v)
	}
	return h, []byte(data)
}

func (h *head) next() string {
	word, rest, _ := strings.Cut(h.rest, " ")
	h.rest = rest
	return word
}

func (h *head) fail(err error) {
	if h.err == nil && err != nil {
		h.err = fmt.Errorf("a stored item is damaged: %w", err)
	}
}

func (h *head) int() int64 {
	n, err := strconv.ParseInt(h.next(), 10, 64)
	h.fail(err)
	return n
}

func (h *head) word() string {
	s, err := unword(h.next())
	h.fail(err)
	return s
}

// queued decodes an item of the inbox; scripts/accept.lua writes it.
func queued(session string, lane store.Lane, item string) (store.Queued, error) {
	h, data := open(item)
	q := store.Queued{Position: h.int()}
	q.Session, q.Lane, q.Data = session, lane, data
	q.Op, q.Quiet = store.Op(h.int()), h.int() == 1
	q.Tail, q.At = h.int(), time.UnixMicro(h.int())
	q.ID, q.Key = h.word(), h.word()
	return q, h.err
}

// waiting decodes the two lanes.
func waiting(session string, reply any) (w store.Waiting, err error) {
	lanes := list(reply)
	if len(lanes) != 2 {
		return w, fmt.Errorf("unexpected answer %.80q", reply)
	}
	if w.Signals, err = lane(session, store.Signals, lanes[0]); err != nil {
		return store.Waiting{}, err
	}
	w.Messages, err = lane(session, store.Messages, lanes[1])
	return w, err
}

func lane(session string, of store.Lane, items any) ([]store.Queued, error) {
	var out []store.Queued
	for _, item := range list(items) {
		q, err := queued(session, of, text(item))
		if err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	return out, nil
}

// encode writes an entry without version and time, which the script adds.
func encode(e *store.Entry, token string) string {
	opens := "-"
	if len(e.Opens) > 0 {
		words := make([]string, len(e.Opens))
		for i, call := range e.Opens {
			words[i] = word(call)
		}
		opens = strings.Join(words, ",")
	}
	var b strings.Builder
	b.Grow(len(e.ID) + len(token) + len(e.Closes) + len(opens) + len(e.Data) + 32)
	fmt.Fprintf(&b, "%d %s %s -1 - %d %s %s\n", e.Kind, word(e.ID), token, e.KeepFrom, word(e.Closes), opens)
	b.Write(e.Data)
	return b.String()
}

// when is an entry's time for a script: - lets Redis set it.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return strconv.FormatInt(t.UnixNano(), 10)
}

// entry decodes the item at a position of the log.
func entry(position int64, item string) (store.Entry, error) {
	h, data := open(item)
	e := store.Entry{Position: position, Data: data, At: time.Unix(0, h.int()), Kind: store.EntryKind(h.int()), ID: h.word()}
	e.Token, e.Inbox = h.next(), h.int()
	h.next() // the drain that moved it
	e.KeepFrom, e.Closes = h.int(), h.word()
	if opens := h.next(); opens != "-" {
		for call := range strings.SplitSeq(opens, ",") {
			name, err := unword(call)
			h.fail(err)
			e.Opens = append(e.Opens, name)
		}
	}
	if h.err != nil {
		return e, fmt.Errorf("entry %d: %w", position, h.err)
	}
	return e, nil
}

// entries decodes consecutive items.
func entries(first int64, items any) ([]store.Entry, error) {
	l := list(items)
	out := make([]store.Entry, 0, len(l))
	for i, item := range l {
		e, err := entry(first+int64(i), text(item))
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// replyOf decodes what scripts/setreply.lua writes; empty is no reply.
func replyOf(item string) (store.Reply, error) {
	if item == "" {
		return store.Reply{}, nil
	}
	line, data, _ := strings.Cut(item, "\n")
	h := &head{rest: line}
	r := store.Reply{Open: h.int() == 1, Data: []byte(data)}
	h.next() // sequence
	h.next() // token
	r.Run = h.word()
	return r, h.err
}

// intents are the open calls that an earlier tenure had begun.
func intents(open, token string) (calls []string, err error) {
	for line := range strings.Lines(open) {
		call, by, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if by == "-" || by == token {
			continue
		}
		name, err := unword(call)
		if err != nil {
			return nil, fmt.Errorf("the list of open calls is damaged: %w", err)
		}
		calls = append(calls, name)
	}
	return calls, nil
}

// list, text and number read an answer of Redis; what is not there is empty.
func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func number(v any) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case string:
		i, err := strconv.ParseInt(n, 10, 64)
		if err != nil {
			f, _ := strconv.ParseFloat(n, 64) // a score
			return int64(f)
		}
		return i
	}
	return 0
}
