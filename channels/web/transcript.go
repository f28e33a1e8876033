package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"clawbot/internal/entryview"
)

const (
	pageEntries = 100 // read when the page does not say
	maxEntries  = 500
	// backEntries is how much further back a window may reach, so that it
	// does not begin between a tool call and its result.
	backEntries = 64
)

// readMessages returns a window of the transcript: its end, the entries before
// a position, or those from one on.
//
//	?limit=100 | ?before=N&limit=100 | ?from=N&limit=100
//	→ {"entries": […], "tail": N, "running": true, "waiting": 0}
func (c *Channel) readMessages(w http.ResponseWriter, r *http.Request) error {
	session, err := session(r)
	if err != nil {
		return err
	}
	from, err := number(r, "from", -1)
	if err != nil {
		return err
	}
	before, err := number(r, "before", -1)
	if err != nil {
		return err
	}
	limit, err := number(r, "limit", pageEntries)
	if err != nil {
		return err
	}
	limit = min(max(limit, 1), maxEntries)
	s, err := c.describe(r.Context(), session)
	if err != nil {
		return err
	}
	var entries []Entry
	if from >= 0 {
		entries, err = c.cfg.Transcripts.Read(r.Context(), session, from, int(limit))
	} else {
		if before < 0 {
			before = s.Tail
		}
		entries, err = c.window(r.Context(), session, before, limit)
	}
	if err != nil {
		return err
	}
	views := make([]entryview.Entry, 0, len(entries))
	for i := range entries {
		views = append(views, viewEntry(&entries[i], maxOutput))
	}
	send(w, http.StatusOK, map[string]any{
		"entries": views, "tail": s.Tail, "running": s.Running, "waiting": s.Waiting,
	})
	return nil
}

// window returns about limit entries that end before a position.
func (c *Channel) window(ctx context.Context, session string, before, limit int64) ([]Entry, error) {
	from := max(before-limit, 0)
	if before <= 0 {
		return nil, nil
	}
	entries, err := c.cfg.Transcripts.Read(ctx, session, from, int(before-from))
	if err != nil || from == 0 || len(entries) == 0 || entries[0].Kind != EntryToolResult {
		return entries, err
	}
	start := max(from-backEntries, 0)
	back, err := c.cfg.Transcripts.Read(ctx, session, start, int(from-start))
	if err != nil {
		return nil, err
	}
	for i, b := range slices.Backward(back) {
		if b.Kind == EntryAssistant {
			return append(back[i:len(back):len(back)], entries...), nil
		}
	}
	return entries, nil
}

// readMessage returns one entry in full.
func (c *Channel) readMessage(w http.ResponseWriter, r *http.Request) error {
	session, err := session(r)
	if err != nil {
		return err
	}
	position, err := strconv.ParseInt(r.PathValue("position"), 10, 64)
	if err != nil || position < 0 {
		return errMissing
	}
	entries, err := c.cfg.Transcripts.Read(r.Context(), session, position, 1)
	if err != nil {
		return err
	}
	if len(entries) == 0 || entries[0].Position != position {
		return errMissing
	}
	send(w, http.StatusOK, viewEntry(&entries[0], 0))
	return nil
}
