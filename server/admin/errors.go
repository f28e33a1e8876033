package admin

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"

	"clawbot/gateway"
	"clawbot/store"
)

// problem is an error as the page shows it: what happened and what to do.
type problem struct {
	status  int
	message string
}

func (p *problem) Error() string { return p.message }

var (
	errMissing = &problem{http.StatusNotFound, "There is nothing at this address."}
	errGone    = &problem{http.StatusNotFound, "There is no such session; it may have been deleted."}
	errCrowded = &problem{http.StatusServiceUnavailable, "Too many pages follow something on this bot. Close some and try again."}
)

// fail answers a request that did not work. What the person can't mend is
// logged.
func (a *Admin) fail(w http.ResponseWriter, r *http.Request, err error) {
	p, ok := errors.AsType[*problem](err)
	if !ok {
		p = a.problemOf(err)
	}
	if r.Context().Err() != nil {
		return // nobody reads the answer
	}
	if p == nil {
		a.log.Error("the operator's page could not be served", "path", r.URL.Path, "err", err)
		p = &problem{http.StatusServiceUnavailable, "The bot could not do that now: " + err.Error()}
	}
	if p.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "2")
	}
	send(w, p.status, map[string]any{"error": map[string]string{"message": p.message}})
}

// problemOf says what a known error means for a person; nil if it is none.
func (a *Admin) problemOf(err error) *problem {
	refused, isRefused := errors.AsType[*gateway.RefusedError](err)
	held, isHeld := errors.AsType[*store.HeldError](err)
	switch {
	case isRefused:
		return &problem{http.StatusForbidden, refused.Reason}
	case isHeld:
		return &problem{http.StatusConflict, "It is being worked on (by " + held.Owner + "). Stop it first, then delete it."}
	case errors.Is(err, store.ErrNotFound):
		return &problem{http.StatusNotFound, "That is over or gone: " + err.Error() + "."}
	case errors.Is(err, store.ErrInvalid):
		return &problem{http.StatusBadRequest, "That can't be done: " + err.Error() + "."}
	}
	return nil
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

// readBody decodes a small JSON request and says what is wrong with another.
func readBody(w http.ResponseWriter, r *http.Request, v any) error {
	if t, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); t != "application/json" {
		return &problem{http.StatusUnsupportedMediaType, "Send JSON, with the header Content-Type: application/json."}
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<10))
	if err != nil {
		return &problem{http.StatusBadRequest, "The request is too large or ended too early."}
	}
	if err := json.Unmarshal(data, v); err != nil {
		return &problem{http.StatusBadRequest, "The request is not the JSON that is expected: " + err.Error() + "."}
	}
	return nil
}

// number reads a whole number from the query; missing is def.
func number(r *http.Request, name string, def int64) (int64, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return 0, &problem{http.StatusBadRequest, name + " is a whole number from 0 on."}
	}
	return n, nil
}

// session reads the session's id from the path.
func session(r *http.Request) (string, error) {
	id := r.PathValue("session")
	if store.CheckSession(id) != nil {
		return "", errGone
	}
	return id, nil
}
