package web

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// conversation is a line of the list.
type conversation struct {
	ID         string    `json:"id"`
	Title      string    `json:"title"`
	Tail       int64     `json:"tail"`
	Running    bool      `json:"running,omitempty"`
	Waiting    int       `json:"waiting,omitempty"`
	LastActive time.Time `json:"last_active"`
}

// listConversations lists the page's conversations, the latest active first.
//
//	?after=CURSOR&limit=50 → {"conversations": […], "next": "CURSOR"}
func (c *Channel) listConversations(w http.ResponseWriter, r *http.Request) error {
	limit, err := number(r, "limit", 50)
	if err != nil {
		return err
	}
	list, next, err := c.cfg.Transcripts.Sessions(r.Context(), prefix, r.URL.Query().Get("after"), int(min(max(limit, 1), 200)))
	if err != nil {
		return err
	}
	answer := struct {
		Conversations []conversation `json:"conversations"`
		Next          string         `json:"next,omitempty"`
	}{Conversations: make([]conversation, 0, len(list)), Next: next}
	for _, s := range list {
		title, err := c.titles.of(r.Context(), c.cfg.Transcripts, s.ID)
		if err != nil {
			return err
		}
		answer.Conversations = append(answer.Conversations, conversation{
			ID: strings.TrimPrefix(s.ID, prefix), Title: title, Tail: s.Tail,
			Running: s.Running, Waiting: s.Waiting, LastActive: s.LastActive,
		})
	}
	send(w, http.StatusOK, answer)
	return nil
}

// createConversation gives out an id. Nothing is stored before its first
// message.
func (c *Channel) createConversation(w http.ResponseWriter, _ *http.Request) error {
	send(w, http.StatusCreated, map[string]string{"id": newID()})
	return nil
}

// describe returns one session; unknown ones are empty.
func (c *Channel) describe(ctx context.Context, session string) (Session, error) {
	list, _, err := c.cfg.Transcripts.Sessions(ctx, session, "", 8)
	if err != nil {
		return Session{}, err
	}
	for _, s := range list {
		if s.ID == session { // the prefix may match longer ids too
			return s, nil
		}
	}
	return Session{ID: session}, nil
}

const (
	maxTitle  = 80 // characters
	maxTitles = 4096
)

// titles remembers what conversations begin with. The zero value works.
type titles struct {
	mu    sync.Mutex
	known map[string]string
}

// of returns the first line of the session's first message, empty while it has
// none.
func (t *titles) of(ctx context.Context, from Transcripts, session string) (string, error) {
	t.mu.Lock()
	title, ok := t.known[session]
	t.mu.Unlock()
	if ok {
		return title, nil
	}
	entries, err := from.Read(ctx, session, 0, 4)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.Kind == EntryUser && e.Message != nil {
			title = titleOf(e.Message.Text())
			break
		}
	}
	if title == "" {
		return "", nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= maxTitles {
		t.known = map[string]string{}
	}
	t.known[session] = title
	return title, nil
}

func titleOf(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.Join(strings.Fields(line), " ")
	if utf8.RuneCountInString(line) > maxTitle {
		line = string([]rune(line)[:maxTitle-1]) + "…"
	}
	return line
}
