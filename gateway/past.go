package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"clawbot/agentcore"
	"clawbot/store"
	"clawbot/store/search"
	"clawbot/tools"
)

// errPrivate is why a room's conversation finds nothing.
var errPrivate = errors.New("earlier conversations are searched only in a direct conversation with the person alone: " +
	"nobody else is to learn of them. Ask the person to ask you there")

// readSaid says whose an entry is and what was said in it: in direct
// conversations, what the person wrote and what they were answered.
func readSaid(e store.Entry) (owner, text string) {
	switch e.Kind {
	case store.KindUser:
		r, err := userRecord(e)
		if err != nil || !r.Target.Direct || r.Sender.ID == "" {
			return "", ""
		}
		owner = userKey(r.Channel, r.Sender.ID)
		switch r.Kind {
		case kindDelete, kindDropped, kindLost, kindSchedule: // nobody has said that
			return owner, ""
		}
		return owner, r.Text
	case store.KindAssistant:
		p, err := readPayload(e)
		if err != nil || p.Message == nil || p.Message.Role != agentcore.RoleAssistant {
			return "", ""
		}
		return "", p.Message.Text()
	}
	return "", ""
}

// indexHistory has a store that can do so keep an index of what is said.
func (g *Gateway) indexHistory() {
	if s, ok := g.cfg.Store.(store.Searcher); ok {
		s.Index(readSaid)
	}
}

// liveFrom is the position from which on the model sees the transcript.
func (t *transcript) liveFrom() int64 {
	i := 0
	if t.summary != "" {
		i = 1
	}
	if i >= len(t.at) {
		return t.tail
	}
	return slices.Min(t.at[i:])
}

var _ tools.History = (*personal)(nil)

// Search implements [tools.History].
func (p *personal) Search(ctx context.Context, query string, limit int) ([]tools.Said, error) {
	r := p.r
	sender := r.alone()
	if sender == "" || !r.who.isDirect() {
		return nil, errPrivate
	}
	q := store.Search{
		Owner: userKey(r.host.channel.Name(), sender), Words: query, Limit: limit,
		Session: r.t.session, Before: r.liveFrom,
	}
	found, err := r.t.g.searchHistory(ctx, q)
	if errors.Is(err, store.ErrInvalid) {
		return nil, errors.New("there is no word in the query: say what to look for")
	}
	if err != nil {
		r.log.Error("the history can't be searched", "err", err)
		return nil, errors.New("the history can't be searched now: the store does not answer")
	}
	said := make([]tools.Said, len(found))
	for i, f := range found {
		said[i] = tools.Said{
			Session: f.Session, At: f.Entry.At, ByAgent: f.Entry.Kind == store.KindAssistant,
			Here: f.Session == r.t.session, Text: unmark.Replace(f.Passage),
		}
	}
	return said, nil
}

func (g *Gateway) searchHistory(ctx context.Context, q store.Search) ([]store.Found, error) {
	if s, ok := g.cfg.Store.(store.Searcher); ok {
		return s.Search(ctx, q)
	}
	sessions, err := SessionsOf(ctx, g.cfg.Store, q.Owner)
	if err != nil {
		return nil, err
	}
	s := scan{archive: g.cfg.Store.Archive(), q: q, query: search.Parse(q.Words), left: scanEntries}
	if s.query.Empty() {
		return nil, store.ErrInvalid
	}
	ctx, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	for _, session := range slices.Backward(sessions) {
		err := s.session(ctx, session)
		if errors.Is(err, context.DeadlineExceeded) || s.left <= 0 || len(s.found) >= q.Limit {
			break
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
	}
	slices.SortStableFunc(s.found, func(x, y store.Found) int { return y.Entry.At.Compare(x.Entry.At) })
	return s.found[:min(len(s.found), q.Limit)], nil
}

// Where a store has no index, a search reads the person's latest conversations,
// and no more than this.
const (
	scanEntries = 5_000
	scanPage    = 200
	scanTime    = 2 * time.Second
)

// scan is a search without an index.
type scan struct {
	archive store.Archive
	q       store.Search
	query   search.Query
	left    int // entries that may still be read
	found   []store.Found
}

// session reads one session, its latest entries first.
func (s *scan) session(ctx context.Context, session string) error {
	till, err := s.tail(ctx, session)
	if session == s.q.Session {
		till = min(till, s.q.Before)
	}
	var orphans []store.Found // of whom it isn't known yet whose they are
	for err == nil && till > 0 && s.left > 0 && len(s.found) < s.q.Limit {
		from := max(0, till-scanPage)
		var list []store.Entry
		if list, err = s.archive.Read(ctx, session, from, int(till-from)); err != nil {
			break
		}
		s.left -= len(list)
		orphans = s.page(session, list, orphans)
		till = from
	}
	return err
}

// page looks at entries, and returns what it has found before the first that
// has an owner. orphans are of the page after it.
func (s *scan) page(session string, list []store.Entry, orphans []store.Found) (own []store.Found) {
	owner, known := "", false
	for _, e := range list {
		whose, text := readSaid(e)
		if e.Kind == store.KindUser {
			owner, known = whose, true
		}
		if text == "" || known && owner != s.q.Owner {
			continue
		}
		passage, ok := s.query.Match(text, store.PassageSize)
		switch f := (store.Found{Session: session, Entry: e, Passage: passage}); {
		case !ok:
		case known:
			s.found = append(s.found, f)
		default:
			own = append(own, f)
		}
	}
	if !known {
		return append(own, orphans...)
	}
	if owner == s.q.Owner {
		s.found = append(s.found, orphans...)
	}
	return own
}

// tail finds a session's end by reading: an archive tells it only with all
// sessions.
func (s *scan) tail(ctx context.Context, session string) (int64, error) {
	there := func(at int64) (bool, error) {
		list, err := s.archive.Read(ctx, session, at, 1)
		return len(list) > 0, err
	}
	low, high := int64(0), int64(scanPage) // entries below low are there
	for {
		ok, err := there(high)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		low, high = high+1, high*4
	}
	for low < high {
		middle := (low + high) / 2
		ok, err := there(middle)
		if err != nil {
			return 0, err
		}
		if ok {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, nil
}

// sessionsPrefix begins the keys of the lists of people's direct conversations,
// and mostSessions bounds each; of more, the latest begun are known.
const (
	sessionsPrefix = "sessions/"
	mostSessions   = 500
	mostEnlisted   = 4096
)

// enlisted are the conversations that are known to be in their person's list.
type enlisted struct {
	mu   sync.Mutex
	keys map[string]struct{}
}

// new reports whether the key was not there. Far too many are forgotten: then
// they are looked up again.
func (l *enlisted) new(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.keys[key]; ok {
		return false
	}
	if l.keys == nil || len(l.keys) >= mostEnlisted {
		l.keys = map[string]struct{}{}
	}
	l.keys[key] = struct{}{}
	return true
}

// clear forgets all: they are looked up again.
func (l *enlisted) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keys = nil
}

// enlist puts a direct conversation into the list of the person's.
func (r *run) enlist() {
	sender := r.t.tr.last.Sender.ID
	if !r.who.isDirect() || sender == "" {
		return
	}
	user := userKey(r.host.channel.Name(), sender)
	// A conversation that begins may have been deleted, and with it the list.
	if !r.t.g.enlisted.new(user+" "+r.t.session) && !r.begins {
		return
	}
	err := update(r.t.ctx, r.t.g.cfg.Store.State(), sessionsPrefix+user, func(data []byte) ([]byte, error) {
		var list []string
		if json.Unmarshal(data, &list) != nil {
			list = nil // damaged: it begins anew
		}
		if !slices.Contains(list, r.t.session) {
			list = append(list, r.t.session)
		}
		return json.Marshal(list[max(0, len(list)-mostSessions):])
	})
	if err != nil && r.t.ctx.Err() == nil {
		r.log.Warn("the conversation was not noted as its person's", "err", err)
	}
}

// UserKey names a person in the keys of what is kept about them; channel is the
// channel's name, sender the platform's id.
func UserKey(channel, sender string) string { return userKey(channel, sender) }

// SessionsOf lists the direct conversations of a person, as [UserKey] names
// them, in the order in which they began: the latest 500. Some may have been
// deleted since.
func SessionsOf(ctx context.Context, s store.Store, user string) ([]string, error) {
	v, err := s.State().Get(ctx, sessionsPrefix+user)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the conversations of %s: %w", user, err)
	}
	var list []string
	if err := json.Unmarshal(v.Data, &list); err != nil {
		return nil, fmt.Errorf("list the conversations of %s: %w", user, err)
	}
	return list, nil
}

// DeleteHistory deletes the direct conversations of a person, as [SessionsOf]
// lists them and [UserKey] names the person, and then the list. It returns those
// that it has deleted. While one of them is worked on it fails with a
// *store.HeldError; called again, it goes on.
func DeleteHistory(ctx context.Context, s store.Store, user string) (deleted []string, err error) {
	list, err := SessionsOf(ctx, s, user)
	if err != nil {
		return nil, err
	}
	for _, session := range list {
		if err := DeleteSession(ctx, s, session); err != nil {
			return deleted, err
		}
		deleted = append(deleted, session)
	}
	if err := s.State().Delete(ctx, sessionsPrefix+user); err != nil {
		return deleted, fmt.Errorf("delete the list of conversations of %s: %w", user, err)
	}
	return deleted, nil
}
