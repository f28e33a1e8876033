package admin

import (
	"net/http"

	"clawbot/config"
	"clawbot/internal/logring"
)

// listTools lists the tools as an owner sees them in a direct conversation, or
// as somebody else does.
//
//	?guest=1&role=moderator&room=1&channel=slack:C1 → {"tools": […]}
func (a *Admin) listTools(w http.ResponseWriter, r *http.Request) error {
	if a.cfg.Tools == nil {
		return errMissing
	}
	query := r.URL.Query()
	list, err := a.cfg.Tools(r.Context(), Audience{
		Guest: query.Get("guest") != "", Room: query.Get("room") != "", Role: query.Get("role"), Channel: query.Get("channel"),
	})
	if err != nil {
		return err
	}
	if list == nil {
		list = []Tool{}
	}
	send(w, http.StatusOK, map[string]any{"tools": list})
	return nil
}

// listSettings lists the configuration as it holds.
//
//	→ {"settings": […]}
func (a *Admin) listSettings(w http.ResponseWriter, _ *http.Request) error {
	if a.cfg.Settings == nil {
		return errMissing
	}
	list := a.cfg.Settings()
	if list == nil {
		list = []config.Setting{}
	}
	send(w, http.StatusOK, map[string]any{"settings": list})
	return nil
}

// numbered is a line of the log with its number, which never comes twice.
type numbered struct {
	N int64 `json:"n"`
	logring.Line
}

// lines reads the log from line from on.
func (a *Admin) lines(from int64) (list []numbered, next int64) {
	texts, next := a.cfg.Log.Since(from)
	list = make([]numbered, len(texts))
	for i, text := range texts {
		list[i] = numbered{next - int64(len(texts)-i), logring.Parse(text)}
	}
	return list, next
}

// readLog returns the latest lines of this replica's log.
//
//	?from=N → {"lines": […], "next": N}
func (a *Admin) readLog(w http.ResponseWriter, r *http.Request) error {
	if a.cfg.Log == nil {
		return errMissing
	}
	from, err := number(r, "from", 0)
	if err != nil {
		return err
	}
	lines, next := a.lines(from)
	send(w, http.StatusOK, map[string]any{"lines": lines, "next": next, "replica": a.cfg.Gateway.Owner()})
	return nil
}

// followLog sends the lines of the log from number from on as they come. The id
// of an event is the number of the line after it.
//
//	event: lines  data: {"lines": […]}
func (a *Admin) followLog(w http.ResponseWriter, r *http.Request) error {
	if a.cfg.Log == nil {
		return errMissing
	}
	from, err := resumeAt(r)
	if err != nil {
		return err
	}
	out, done, err := a.stream(w)
	if err != nil {
		return err
	}
	defer done()
	if _, next := a.cfg.Log.Since(from); from > next {
		from = 0 // of a process before this one
	}
	beat := newBeat()
	defer beat.Stop()
	for {
		lines, next := a.lines(from)
		if len(lines) > 0 && out.send("lines", next, map[string]any{"lines": lines}) != nil {
			return nil
		}
		from = next
		select {
		case <-r.Context().Done():
			return nil
		case <-a.cfg.Log.More(from):
		case <-beat.C:
			if out.send("ping", -1, struct{}{}) != nil {
				return nil
			}
		}
	}
}
