package web

import "clawbot/internal/entryview"

// maxOutput is how much of a tool's output a page gets unasked, in bytes.
const maxOutput = entryview.MaxOutput

// viewEntry returns e for the page. limit bounds tool output and arguments; 0
// is no bound.
func viewEntry(e *Entry, limit int) entryview.Entry {
	v := entryview.Of(e.Message, limit)
	v.Position, v.Kind, v.EventID, v.Note = e.Position, e.Kind, e.EventID, e.Note
	if !e.At.IsZero() {
		v.At = e.At
	}
	return v
}
