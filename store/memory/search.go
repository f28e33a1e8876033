package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"clawbot/store"
	"clawbot/store/search"
)

var _ store.Searcher = (*Store)(nil)

// Index implements store.Searcher.
func (s *Store) Index(read store.Reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read = read
}

// Search implements store.Searcher: it reads everything, for there is no index.
func (s *Store) Search(ctx context.Context, q store.Search) ([]store.Found, error) {
	query := search.Parse(q.Words)
	if query.Empty() {
		return nil, fmt.Errorf("search: %w: no words to look for", store.ErrInvalid)
	}
	if err := s.enter(ctx); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	defer s.mu.Unlock()
	var found []store.Found
	for id, r := range s.sessions {
		owner := ""
		for _, rec := range r.log {
			if s.read == nil || rec.Kind != store.KindUser && rec.Kind != store.KindAssistant || id == q.Session && rec.Position >= q.Before {
				continue
			}
			whose, text := s.read(rec.Entry)
			if rec.Kind == store.KindUser {
				owner = whose
			}
			if owner == "" || owner != q.Owner || text == "" {
				continue
			}
			if passage, ok := query.Match(text, store.PassageSize); ok {
				found = append(found, store.Found{Session: id, Entry: rec.Entry, Passage: passage})
			}
		}
	}
	slices.SortFunc(found, func(x, y store.Found) int {
		return cmp.Or(y.Entry.At.Compare(x.Entry.At), cmp.Compare(x.Session, y.Session), cmp.Compare(y.Entry.Position, x.Entry.Position))
	})
	return found[:max(0, min(len(found), q.Limit))], nil
}
