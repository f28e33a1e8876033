package admin

import (
	"context"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"clawbot/agentcore"
	"clawbot/gateway"
	"clawbot/internal/entryview"
	"clawbot/store"
)

const (
	pageEntries = 100 // read when the page does not say
	maxEntries  = 500
)

// entry is a transcript entry with what an operator wants to know of it.
type entry struct {
	entryview.Entry
	Sender string `json:"sender,omitempty"`
	// Took is the time since what it followed, in ms: of an assistant message
	// the model's, of a tool result the tool's. -1 unknown.
	Took int64 `json:"took"`
}

// readSession returns a session and a window of its transcript: its end, the
// entries before a position, or those from one on.
//
//	?limit=100 | ?before=N&limit=100 | ?from=N&limit=100
//	→ {"session": {…}, "entries": […], "may": true}
func (a *Admin) readSession(w http.ResponseWriter, r *http.Request) error {
	id, err := session(r)
	if err != nil {
		return err
	}
	info, err := a.find(r.Context(), id)
	if err != nil {
		return err
	}
	from, err := number(r, "from", -1)
	if err != nil {
		return err
	}
	before, err := number(r, "before", info.Tail)
	if err != nil {
		return err
	}
	limit, err := number(r, "limit", pageEntries)
	if err != nil {
		return err
	}
	limit = min(max(limit, 1), maxEntries)
	if from < 0 {
		from = max(min(before, info.Tail)-limit, 0)
		limit = min(before, info.Tail) - from
	}
	entries, err := a.window(r.Context(), id, from, int(limit))
	if err != nil {
		return err
	}
	view, err := a.describe(r.Context(), info)
	if err != nil {
		return err
	}
	send(w, http.StatusOK, map[string]any{"session": view, "entries": entries, "may": a.cfg.Gateway.Owns(a.operator(r))})
	return nil
}

// window returns up to limit entries from position from on. The ones right
// before them are read too, for the time that the first took.
func (a *Admin) window(ctx context.Context, id string, from int64, limit int) ([]entry, error) {
	const back = 8
	start := max(from-back, 0)
	entries := []entry{}
	if limit <= 0 {
		return entries, nil
	}
	list, err := gateway.ReadTranscript(ctx, a.cfg.Store, id, start, limit+int(from-start))
	if err != nil {
		return nil, err
	}
	var before, asked time.Time // the entry before; the latest assistant message
	for i := range list {
		h := &list[i]
		if h.Position >= from {
			entries = append(entries, viewEntry(h, entryview.MaxOutput, before, asked))
		}
		before = h.At
		if h.Kind == store.KindAssistant {
			asked = h.At
		}
	}
	return entries, nil
}

func viewEntry(h *gateway.History, limit int, before, asked time.Time) entry {
	v := entry{Entry: entryview.Of(h.Message, limit), Took: -1}
	v.Position, v.EventID, v.Kind = h.Position, h.EventID, kindOf(h.Kind)
	if !h.At.IsZero() {
		v.At = h.At
	}
	switch h.Kind {
	case store.KindUser:
		v.Sender = senderOf(h)
	case store.KindAssistant:
		v.took(before)
	case store.KindToolResult:
		v.took(asked)
	}
	return v
}

func (e *entry) took(since time.Time) {
	if d := e.At.Sub(since); !since.IsZero() && d >= 0 {
		e.Took = d.Milliseconds()
	}
}

func kindOf(kind store.EntryKind) entryview.Kind {
	switch kind {
	case store.KindUser:
		return entryview.User
	case store.KindAssistant:
		return entryview.Assistant
	case store.KindToolResult:
		return entryview.ToolResult
	case store.KindSummary:
		return entryview.Summary
	default:
		return entryview.Note
	}
}

// readEntry returns one entry in full.
func (a *Admin) readEntry(w http.ResponseWriter, r *http.Request) error {
	id, err := session(r)
	if err != nil {
		return err
	}
	position, err := strconv.ParseInt(r.PathValue("position"), 10, 64)
	if err != nil || position < 0 {
		return errMissing
	}
	list, err := gateway.ReadTranscript(r.Context(), a.cfg.Store, id, position, 1)
	if err != nil {
		return err
	}
	if len(list) == 0 || list[0].Position != position {
		return errMissing
	}
	send(w, http.StatusOK, viewEntry(&list[0], 0, time.Time{}, time.Time{}))
	return nil
}

// total is what a session's model calls and tools add up to, up to a position.
type total struct {
	Tail   int64            `json:"tail"`
	Turns  int              `json:"turns"` // model calls
	Tools  int              `json:"tools"` // tool results
	Failed int              `json:"failed"`
	Usage  agentcore.Usage  `json:"usage"`
	Models map[string]int64 `json:"models"` // tokens by model
}

// totals remembers them, so that only what is new is read.
type totals struct {
	mu    sync.Mutex
	known map[string]total
}

// readTotals adds a whole session up. Of a long one this takes longer than to
// show it, so the page asks for it apart.
func (a *Admin) readTotals(w http.ResponseWriter, r *http.Request) error {
	id, err := session(r)
	if err != nil {
		return err
	}
	info, err := a.find(r.Context(), id)
	if err != nil {
		return err
	}
	a.totals.mu.Lock()
	t := a.totals.known[id]
	a.totals.mu.Unlock()
	if t.Tail > info.Tail {
		t = total{} // it was deleted and has begun anew
	}
	models := map[string]int64{}
	maps.Copy(models, t.Models)
	t.Models = models
	for {
		list, err := gateway.ReadTranscript(r.Context(), a.cfg.Store, id, t.Tail, maxEntries)
		if err != nil {
			return err
		}
		for i := range list {
			t.add(&list[i])
		}
		if len(list) == 0 {
			break
		}
	}
	a.totals.mu.Lock()
	if a.totals.known == nil || len(a.totals.known) >= maxFacts/8 {
		a.totals.known = map[string]total{}
	}
	a.totals.known[id] = t
	a.totals.mu.Unlock()
	send(w, http.StatusOK, t)
	return nil
}

func (t *total) add(h *gateway.History) {
	t.Tail = h.Position + 1
	switch h.Kind {
	case store.KindAssistant:
		t.Turns++
		t.Usage = t.Usage.Add(h.Message.Usage)
		t.Models[h.Message.Model.String()] += h.Message.Usage.Total()
	case store.KindToolResult:
		t.Tools++
		if h.Message.IsError {
			t.Failed++
		}
	}
}
