package web

import (
	"encoding/json"
	"errors"
	"net/http"
)

// problem is an error as the page shows it: what happened and what to do.
type problem struct {
	status  int
	message string
}

func (p *problem) Error() string { return p.message }

var (
	errStarting = &problem{http.StatusServiceUnavailable, "The bot is starting or shutting down. Try again in a moment."}
	errID       = &problem{http.StatusBadRequest, "An id is 1 to 64 letters, digits, hyphens and underscores."}
	errMissing  = &problem{http.StatusNotFound, "There is nothing at this address."}
	errCrowded  = &problem{http.StatusServiceUnavailable, "Too many pages are open on this bot. Close some and try again."}
	errTooLarge = &problem{http.StatusRequestEntityTooLarge, "The message is too large: at most 256 kB of text fit. " +
		"Put the text into a file in the workspace and name the file instead."}
)

// fail answers a request that did not work. What the person can't mend is
// logged.
func (c *Channel) fail(w http.ResponseWriter, r *http.Request, err error) {
	p, ok := errors.AsType[*problem](err)
	if !ok {
		if r.Context().Err() != nil {
			return // nobody reads the answer
		}
		c.log.Error("the page could not be served", "path", r.URL.Path, "err", err)
		p = &problem{http.StatusServiceUnavailable, "The bot could not do that now: " + err.Error()}
	}
	if p.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "2")
	}
	send(w, p.status, map[string]any{"error": map[string]string{"message": p.message}})
}

// send answers with JSON.
func send(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":{"message":"The answer could not be encoded."}}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // the client is gone if this fails
}
