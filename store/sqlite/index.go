package sqlite

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"clawbot/store"
	"clawbot/store/search"
)

// index keeps the table found up to date, behind the writer and beside it: an
// append only notes which session has grown. A goroutine reads the new entries
// on a reading connection, cuts their texts into words and has the writer
// insert them, many at a time.
type index struct {
	mu    sync.Mutex
	read  store.Reader
	rows  map[int64]struct{} // sessions that have grown
	gone  bool               // something was deleted since the last merge
	kick  chan struct{}      // capacity 1
	end   context.CancelFunc
	ended bool

	pass sync.Mutex // one at a time
}

const (
	// indexAfter gathers what was said meanwhile.
	indexAfter = 500 * time.Millisecond
	// indexBatch bounds the entries that are inserted in one transaction, so that
	// others don't wait long behind it.
	indexBatch = 64
)

var _ store.Searcher = (*Store)(nil)

// Index implements store.Searcher. A guest's index is the owner's.
func (s *Store) Index(read store.Reader) {
	x := &s.index
	x.mu.Lock()
	defer x.mu.Unlock()
	first := x.read == nil
	x.read = read
	if !first || s.guest || x.ended {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	x.end, x.kick = cancel, make(chan struct{}, 1)
	s.running.Go(func() { s.indexer(ctx) })
}

// grown notes sessions with new entries.
func (x *index) grown(rows []int64) {
	if len(rows) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.kick == nil {
		return // whoever calls Index looks for all of them
	}
	if x.rows == nil {
		x.rows = map[int64]struct{}{}
	}
	for _, row := range rows {
		x.rows[row] = struct{}{}
	}
	x.wake()
}

// purged notes that something was deleted.
func (x *index) purged() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gone = true
	if x.kick != nil {
		x.wake()
	}
}

func (x *index) wake() {
	select {
	case x.kick <- struct{}{}:
	default:
	}
}

// take returns the sessions that have grown.
func (x *index) take() (store.Reader, []int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	rows := make([]int64, 0, len(x.rows))
	for row := range x.rows {
		rows = append(rows, row)
	}
	clear(x.rows)
	slices.Sort(rows)
	return x.read, rows
}

func (x *index) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = true
	if x.end != nil {
		x.end()
	}
}

// indexer indexes what is new, first of all what was written by a version or a
// process that didn't.
func (s *Store) indexer(ctx context.Context) {
	s.indexed(ctx, s.indexOld(ctx))
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.index.kick:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(indexAfter):
		}
		s.indexed(ctx, s.indexNew(ctx))
		s.indexed(ctx, s.indexMerge(ctx))
	}
}

func (s *Store) indexed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrClosed) {
		s.log.Warn("sqlite: the index of what was said is behind; searches find less", "path", s.path, "err", err)
	}
}

// indexOld indexes what sessions have beyond the index, the latest active first.
func (s *Store) indexOld(ctx context.Context) error {
	var rows []int64
	err := s.read(ctx, func(c *conn) error {
		return c.query(`SELECT s.id FROM sessions s LEFT JOIN indexed i ON i.session = s.id WHERE EXISTS (SELECT 1 FROM entries
			WHERE key >= (s.id << 32) + coalesce(i.upto, 0) AND key < (s.id + 1) << 32) ORDER BY s.active DESC`, nil, func(r row) error {
			rows = append(rows, r.int(0))
			return nil
		})
	})
	for _, row := range rows {
		if err == nil {
			err = s.indexRows(ctx, s.reader(), []int64{row})
		}
	}
	return err
}

func (s *Store) reader() store.Reader {
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	return s.index.read
}

// indexNew indexes what has grown. When it returns, all that was committed
// before it was called is in the index, but for what indexOld has still to do.
func (s *Store) indexNew(ctx context.Context) error {
	read, rows := s.index.take()
	err := s.indexRows(ctx, read, rows)
	if err != nil {
		s.index.grown(rows) // a later pass tries again
	}
	return err
}

func (s *Store) indexRows(ctx context.Context, read store.Reader, rows []int64) error {
	s.index.pass.Lock()
	defer s.index.pass.Unlock()
	var b indexing
	for _, row := range rows {
		for more := true; more; {
			var err error
			if more, err = s.indexPage(ctx, read, row, &b); err != nil {
				return err
			}
			if len(b.entries) >= indexBatch || more {
				if err := s.indexWrite(ctx, &b); err != nil {
					return err
				}
			}
		}
	}
	return s.indexWrite(ctx, &b)
}

// mergePages is how much of the index is merged in one transaction.
const mergePages = 64

// indexMerge writes the index anew, if something was deleted: until then FTS5
// keeps the words and only remembers that they are gone. It does so bit by bit,
// so that others don't wait long.
func (s *Store) indexMerge(ctx context.Context) error {
	s.index.mu.Lock()
	gone := s.index.gone
	s.index.gone = false
	s.index.mu.Unlock()
	for pages := int64(-mergePages); gone; pages = mergePages {
		err := s.do(ctx, false, func(t *tx) error {
			before, err := t.number("SELECT total_changes()")
			if err != nil {
				return err
			}
			if err := t.exec("INSERT INTO found (found, rank) VALUES ('merge', ?)", pages); err != nil {
				return err
			}
			after, err := t.number("SELECT total_changes()")
			gone = after-before > 1 // the INSERT itself counts
			t.wrote += mergePages << 12
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// indexing is what is to be written.
type indexing struct {
	entries []indexedEntry
	upto    []indexedUpTo
}

type indexedEntry struct {
	key   int64
	words string
}

type indexedUpTo struct {
	row, upto int64
	owner     string
}

// indexPage reads a session's next entries and reports whether there are more.
func (s *Store) indexPage(ctx context.Context, read store.Reader, id int64, b *indexing) (more bool, err error) {
	at := indexedUpTo{row: id}
	err = s.read(ctx, func(c *conn) error {
		if _, err := c.one("SELECT upto, owner FROM indexed WHERE session = ?", args(id), func(r row) error {
			at.upto, at.owner = r.int(0), r.text(1)
			return nil
		}); err != nil {
			return err
		}
		till := at.upto
		if _, err := c.one("SELECT max(key) FROM entries WHERE key >= ? AND key < ?", args(entryKey(id, at.upto), entryKey(id+1, 0)), func(r row) error {
			if last := r.int(0); last > 0 {
				till = position(last) + 1
			}
			return nil
		}); err != nil {
			return err
		}
		n := 0
		err := c.query(selectEntry+"WHERE key >= ? AND key < ? AND kind IN (1, 2) ORDER BY key LIMIT ?",
			args(entryKey(id, at.upto), entryKey(id, till), int64(indexBatch)), func(r row) error {
				n++
				e, err := entry(r)
				if err != nil {
					return err
				}
				at.upto = e.Position + 1
				owner, text := read(e)
				if e.Kind == store.KindUser {
					at.owner = owner
				}
				if at.owner == "" {
					return nil
				}
				if words := search.Words(text); len(words) > 0 {
					b.entries = append(b.entries, indexedEntry{r.int(0), ownerWord(at.owner) + " " + strings.Join(words, " ")})
				}
				return nil
			})
		if more = n == indexBatch; !more {
			at.upto = till
		}
		return err
	})
	if err == nil {
		b.upto = append(b.upto, at)
	}
	return more, err
}

// indexWrite has the writer insert what was gathered. A session that was purged
// meanwhile is left out.
func (s *Store) indexWrite(ctx context.Context, b *indexing) error {
	if len(b.upto) == 0 {
		return nil
	}
	err := s.do(ctx, false, func(t *tx) error {
		there := map[int64]bool{}
		for _, u := range b.upto {
			n, err := t.number("SELECT count(*) FROM sessions WHERE id = ?", u.row)
			if err != nil {
				return err
			}
			if there[u.row] = n > 0; n == 0 {
				continue
			}
			if err := t.exec("INSERT OR REPLACE INTO indexed (session, upto, owner) VALUES (?, ?, ?)", u.row, u.upto, u.owner); err != nil {
				return err
			}
		}
		// FTS5 writes anew whatever it has gathered when a rowid is no greater
		// than the one before.
		slices.SortFunc(b.entries, func(x, y indexedEntry) int { return cmp.Compare(y.key, x.key) })
		for _, e := range b.entries {
			if !there[e.key>>32] {
				continue
			}
			t.wrote += len(e.words)
			if err := t.exec("INSERT OR REPLACE INTO found (rowid, words) VALUES (?, ?)", -e.key, e.words); err != nil {
				return err
			}
		}
		return nil
	})
	b.entries, b.upto = b.entries[:0], b.upto[:0]
	return err
}

// ownerWord stands in the index for an owner. No text has it: it begins with a
// private-use character, and words of texts have only letters, numbers and
// marks.
func ownerWord(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return ownerMark + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:10]))
}

const ownerMark = "\ue000"
