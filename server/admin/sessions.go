package admin

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"clawbot/store"
)

const (
	listPage = 50
	maxList  = 200
	// searchPage sessions are read at once, and at most searchMost for one
	// request: the page asks for more with the cursor.
	searchPage = 100
	searchMost = 1000
)

// sessionView is a session as it is listed.
type sessionView struct {
	Session string `json:"session"`
	Channel string `json:"channel"`
	// Title is what its first message begins with.
	Title  string   `json:"title,omitempty"`
	People []string `json:"people"`
	// Entries were ever written.
	Entries    int64     `json:"entries"`
	Waiting    int       `json:"waiting,omitempty"`
	Owner      string    `json:"owner,omitempty"` // the replica that works on it
	LastActive time.Time `json:"last_active"`
	// USD is what it cost in the last 30 days, where that is known.
	USD float64 `json:"usd,omitempty"`
}

// listSessions lists sessions, the latest active first: those that have every
// word of q in their name, title or people.
//
//	?q=ana+telegram&after=CURSOR&limit=50 → {"sessions": […], "next": "CURSOR"}
func (a *Admin) listSessions(w http.ResponseWriter, r *http.Request) error {
	limit, err := number(r, "limit", listPage)
	if err != nil {
		return err
	}
	limit = min(max(limit, 1), maxList)
	query := r.URL.Query()
	list, next, err := a.search(r.Context(), strings.Fields(strings.ToLower(query.Get("q"))), query.Get("after"), int(limit))
	if err != nil {
		return err
	}
	send(w, http.StatusOK, map[string]any{"sessions": list, "next": next})
	return nil
}

// search returns at least one session unless none is left to be looked at.
func (a *Admin) search(ctx context.Context, words []string, after string, limit int) (found []sessionView, next string, err error) {
	found = []sessionView{}
	costs := a.costs.of(ctx, a.cfg.Spend)
	page := limit
	if len(words) > 0 {
		page = searchPage
	}
	for looked := 0; ; looked += page {
		list, more, err := a.cfg.Store.Archive().Sessions(ctx, "", after, page)
		if err != nil {
			return nil, "", err
		}
		for _, info := range list {
			v, err := a.describe(ctx, info)
			if err != nil {
				return nil, "", err
			}
			v.USD = float64(costs[v.Session]) / nanosPerDollar
			if matches(&v, words) {
				found = append(found, v)
			}
		}
		// A page is taken whole, for cursors stand between pages only.
		if more == "" || len(found) >= limit || looked+page >= searchMost {
			return found, more, nil
		}
		after = more
	}
}

func matches(v *sessionView, words []string) bool {
	if len(words) == 0 {
		return true
	}
	text := strings.ToLower(v.Session + "\n" + v.Title + "\n" + strings.Join(v.People, "\n"))
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

func (a *Admin) describe(ctx context.Context, info store.SessionInfo) (sessionView, error) {
	f, err := a.facts.of(ctx, a.cfg.Store, info)
	if err != nil {
		return sessionView{}, err
	}
	channel, _, _ := strings.Cut(info.Session, ":")
	return sessionView{
		Session: info.Session, Channel: channel, Title: f.title, People: f.people,
		Entries: info.Tail, Waiting: info.Waiting, Owner: info.Owner, LastActive: info.LastActive,
	}, nil
}

// find returns one session, errGone if there is none.
func (a *Admin) find(ctx context.Context, id string) (store.SessionInfo, error) {
	info, err := a.cfg.Store.Archive().Session(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		err = errGone
	}
	return info, err
}

// stopSession ends what is being worked on, as /stop does.
func (a *Admin) stopSession(w http.ResponseWriter, r *http.Request) error {
	id, err := session(r)
	if err != nil {
		return err
	}
	if err := a.cfg.Gateway.StopSession(r.Context(), a.operator(r), id); err != nil {
		return err
	}
	send(w, http.StatusAccepted, map[string]string{"session": id})
	return nil
}

// deleteSession deletes it for good.
func (a *Admin) deleteSession(w http.ResponseWriter, r *http.Request) error {
	id, err := session(r)
	if err != nil {
		return err
	}
	// Half a deletion is worse than one that outlives the request.
	if err := a.cfg.Gateway.RemoveSession(context.WithoutCancel(r.Context()), a.operator(r), id); err != nil {
		return err
	}
	a.facts.forget(id)
	send(w, http.StatusOK, map[string]string{"deleted": id})
	return nil
}

// exportSession downloads a session.
//
//	?format=jsonl | markdown
func (a *Admin) exportSession(w http.ResponseWriter, r *http.Request) error {
	id, err := session(r)
	if err != nil {
		return err
	}
	format := r.URL.Query().Get("format")
	write := a.cfg.Exports[format]
	if write == nil {
		return &problem{http.StatusBadRequest, "The format of an export is jsonl or markdown."}
	}
	if _, err := a.find(r.Context(), id); err != nil {
		return err
	}
	kind, ending := "application/jsonl", "jsonl"
	if format == "markdown" {
		kind, ending = "text/markdown; charset=utf-8", "md"
	}
	name := strings.NewReplacer(":", "-", "@", "-").Replace(id) + "." + ending
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	// A long export takes longer than an answer may.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(10 * time.Minute))
	if err := write(r.Context(), w, a.cfg.Store, id); err != nil {
		a.log.Warn("an export broke off", "session", id, "err", err)
		panic(http.ErrAbortHandler) // so that half of it does not pass for the whole
	}
	return nil
}
