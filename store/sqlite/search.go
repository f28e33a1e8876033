package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"clawbot/store"
	"clawbot/store/search"
)

const (
	// offeredPage is how many entries the index is asked for at a time, and
	// offeredPages how often: what it offers is read, for it may not match.
	offeredPage  = 100
	offeredPages = 10
)

// Search implements store.Searcher. Sessions that began later come first, then
// later entries; of those found, the latest.
func (s *Store) Search(ctx context.Context, q store.Search) ([]store.Found, error) {
	query := search.Parse(q.Words)
	if query.Empty() {
		return nil, fmt.Errorf("search: %w: no words to look for", store.ErrInvalid)
	}
	if q.Owner == "" || q.Limit <= 0 {
		return nil, nil
	}
	read := s.reader()
	if read == nil {
		return nil, errors.New("search: nothing is indexed: Index was not called")
	}
	if !s.guest {
		if err := s.indexNew(ctx); err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
	}
	l := looking{q: q, query: query, read: read, owners: map[int64]string{}, sessions: map[int64]string{}, seen: map[int64]bool{}}
	err := s.read(ctx, func(c *conn) error { return l.look(c) })
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	slices.SortStableFunc(l.found, func(x, y store.Found) int { return y.Entry.At.Compare(x.Entry.At) })
	return l.found[:min(len(l.found), q.Limit)], nil
}

// looking is one search. What the index offers is trusted with nothing: owner
// and text are read from the entry.
type looking struct {
	q        store.Search
	query    search.Query
	read     store.Reader
	sessions map[int64]string
	owners   map[int64]string // of user entries, by key
	seen     map[int64]bool   // keys
	found    []store.Found
}

// look asks for the words as they are, and then, if that was too little, for
// words that begin with them, which takes longer the more there are.
func (l *looking) look(c *conn) error {
	exact, prefix := `"`+ownerWord(l.q.Owner)+`"`, ""
	longer := false
	for _, term := range l.query.Terms() {
		word := ` AND "` + term.Word + `"`
		exact += word
		prefix += word
		if term.Prefix {
			prefix += " *"
			longer = true
		}
	}
	if err := l.ask(c, exact); err != nil || !longer || len(l.found) >= l.q.Limit {
		return err
	}
	return l.ask(c, `"`+ownerWord(l.q.Owner)+`"`+prefix)
}

func (l *looking) ask(c *conn, match string) error {
	after := int64(math.MinInt64)
	for range offeredPages {
		var rowids []int64
		err := c.query("SELECT rowid FROM found WHERE found MATCH ? AND rowid > ? ORDER BY rowid LIMIT ?",
			args(match, after, int64(offeredPage)), func(r row) error {
				rowids = append(rowids, r.int(0))
				return nil
			})
		if err != nil {
			return err
		}
		for _, rowid := range rowids {
			if key := -rowid; !l.seen[key] {
				l.seen[key] = true
				if err := l.offered(c, key); err != nil {
					return err
				}
			}
		}
		if len(rowids) < offeredPage || len(l.found) >= l.q.Limit {
			return nil
		}
		after = rowids[len(rowids)-1]
	}
	return nil
}

// offered reads what the index offers and keeps it if it is what is looked for.
func (l *looking) offered(c *conn, key int64) error {
	session, err := l.session(c, key>>32)
	if err != nil || session == "" || session == l.q.Session && position(key) >= l.q.Before {
		return err
	}
	var e store.Entry
	there, err := c.one(selectEntry+"WHERE key = ?", args(key), func(r row) (err error) {
		e, err = entry(r)
		return err
	})
	if err != nil || !there {
		return err
	}
	owner, text := l.read(e)
	passage, ok := l.query.Match(text, store.PassageSize)
	if !ok {
		return nil
	}
	if e.Kind != store.KindUser {
		if owner, err = l.owner(c, key); err != nil {
			return err
		}
	}
	if owner == l.q.Owner {
		l.found = append(l.found, store.Found{Session: session, Entry: e, Passage: passage})
	}
	return nil
}

// owner is of the last user entry before a key in its session.
func (l *looking) owner(c *conn, key int64) (owner string, err error) {
	_, err = c.one(selectEntry+"WHERE key >= ? AND key < ? AND kind = 1 ORDER BY key DESC LIMIT 1", args(entryKey(key>>32, 0), key), func(r row) error {
		at := r.int(0)
		if known, ok := l.owners[at]; ok {
			owner = known
			return nil
		}
		e, err := entry(r)
		if err == nil {
			owner, _ = l.read(e)
			l.owners[at] = owner
		}
		return err
	})
	return owner, err
}

// session is the id of a row of sessions, empty if it is gone.
func (l *looking) session(c *conn, id int64) (string, error) {
	if name, ok := l.sessions[id]; ok {
		return name, nil
	}
	_, err := c.one("SELECT session FROM sessions WHERE id = ?", args(id), func(r row) error {
		l.sessions[id] = r.text(0)
		return nil
	})
	return l.sessions[id], err
}
