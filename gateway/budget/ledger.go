package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"clawbot/agentcore"
	"clawbot/store"
)

const (
	spendPrefix = "spend/"
	// flushAfter is how long what was spent may be only in memory.
	flushAfter = 2 * time.Second
	flushTime  = 10 * time.Second
	// lastFlush is how long an end may wait for a store that is away.
	lastFlush = 3 * time.Second
	// chunkRows is how many rows one value of the store holds.
	chunkRows = 64
	// maxChunks bounds what waits for a store that does not answer.
	maxChunks = 256
)

// Row is what one person's messages in one conversation took of one model on
// one day.
type Row struct {
	Day     string // in the budget's time zone: 2026-01-31
	Model   string // provider/model
	Session string // empty for calls outside of any conversation
	User    string // platform:id of who pays; empty for nobody
	// Calls are attempts at the model that were answered or cut.
	Calls int64
	// Cut are those of Calls that ended early, whose usage is an estimate.
	Cut int64
	// Usage is what they took; Usage.Cost is 0 where the price is not known.
	Usage agentcore.Usage
}

type rowKey struct{ model, session, user string }

func (r *Row) key() rowKey { return rowKey{r.Model, r.Session, r.User} }

func (r *Row) add(other *Row) {
	r.Calls += other.Calls
	r.Cut += other.Cut
	r.Usage = r.Usage.Add(other.Usage)
}

// storedRow is a row in the store, whose key says the day.
type storedRow struct {
	Model   string          `json:"m"`
	Session string          `json:"s,omitempty"`
	User    string          `json:"u,omitempty"`
	Calls   int64           `json:"n"`
	Cut     int64           `json:"x,omitempty"`
	Usage   agentcore.Usage `json:"t"`
}

// chunk is one value of the store: some rows of one day that this process
// wrote. No other process writes it.
type chunk struct {
	key     string
	day     string
	rows    []Row
	index   map[rowKey]int
	version int64
	dirty   bool
}

func (c *chunk) encode() ([]byte, error) {
	rows := make([]storedRow, len(c.rows))
	for i, r := range c.rows {
		rows[i] = storedRow{r.Model, r.Session, r.User, r.Calls, r.Cut, r.Usage}
	}
	return json.Marshal(rows)
}

// ledger collects rows and writes them to the store. Only the chunk that is
// being filled, and what could not be written yet, is in memory.
type ledger struct {
	state store.State
	owner string
	log   *slog.Logger
	kick  chan struct{} // capacity 1: something is to be written

	mu     sync.Mutex
	chunks []*chunk // the last one is being filled
	made   int

	writing sync.Mutex // one flush at a time
}

func newLedger(state store.State, owner string, log *slog.Logger) *ledger {
	return &ledger{state: state, owner: owner, log: log, kick: make(chan struct{}, 1)}
}

// add counts a row in. It does not wait for the store.
func (l *ledger) add(row Row) {
	l.mu.Lock()
	c := l.current(row.Day, row.key())
	if i, ok := c.index[row.key()]; ok {
		c.rows[i].add(&row)
	} else {
		c.index[row.key()] = len(c.rows)
		c.rows = append(c.rows, row)
	}
	c.dirty = true
	l.mu.Unlock()
	l.again()
}

// again has Run write what is new.
func (l *ledger) again() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// current is the chunk that takes a row. l.mu is held.
func (l *ledger) current(day string, key rowKey) *chunk {
	if n := len(l.chunks); n > 0 {
		c := l.chunks[n-1]
		if _, has := c.index[key]; c.day == day && (has || len(c.rows) < chunkRows) {
			return c
		}
	}
	if len(l.chunks) >= maxChunks {
		l.log.Error("what models cost could not be kept for long, the oldest of it is given up", "day", l.chunks[0].day)
		l.chunks = l.chunks[1:]
	}
	c := &chunk{
		key: spendPrefix + day + "/" + l.owner + "/" + strconv.Itoa(l.made), day: day,
		index: make(map[rowKey]int),
	}
	l.made++
	l.chunks = append(l.chunks, c)
	return c
}

// flush writes what is new.
func (l *ledger) flush(ctx context.Context) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	for {
		l.mu.Lock()
		i := slices.IndexFunc(l.chunks, func(c *chunk) bool { return c.dirty })
		if i < 0 {
			l.tidy()
			l.mu.Unlock()
			return nil
		}
		c := l.chunks[i]
		data, err := c.encode()
		c.dirty = false
		l.mu.Unlock()
		if err == nil {
			err = l.put(ctx, c, data)
		}
		if err != nil {
			l.mu.Lock()
			c.dirty = true
			l.mu.Unlock()
			return fmt.Errorf("write what models cost: %w", err)
		}
	}
}

// tidy forgets the chunks that are full and written. l.mu is held.
func (l *ledger) tidy() {
	if n := len(l.chunks); n > 1 {
		l.chunks = append([]*chunk(nil), l.chunks[n-1])
	}
}

func (l *ledger) put(ctx context.Context, c *chunk, data []byte) error {
	version, err := l.state.Put(ctx, c.key, data, c.version)
	if errors.Is(err, store.ErrConflict) {
		// An earlier write was made although its outcome never came back.
		var have store.Value
		if have, err = l.state.Get(ctx, c.key); err == nil {
			version, err = l.state.Put(ctx, c.key, data, have.Version)
		}
	}
	if err == nil {
		c.version = version
	}
	return err
}

// read returns the rows of a day, of all processes, with those of this one as
// they are in memory.
func (l *ledger) read(ctx context.Context, day string) ([]Row, error) {
	merged := merged{}
	mine := map[string]bool{}
	l.mu.Lock()
	for _, c := range l.chunks {
		if c.day == day {
			mine[c.key] = true
			for _, r := range c.rows {
				merged.add(r)
			}
		}
	}
	l.mu.Unlock()
	values, err := l.state.List(ctx, spendPrefix+day+"/")
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		if mine[v.Key] {
			continue
		}
		rows, err := decodeRows(day, v.Data)
		if err != nil {
			l.log.Warn("a record of what models cost can't be read and is left out", "key", v.Key, "err", err)
			continue
		}
		for _, r := range rows {
			merged.add(r)
		}
	}
	out := make([]Row, 0, len(merged))
	for _, r := range merged {
		out = append(out, *r)
	}
	return out, nil
}

// merged are rows, each key once.
type merged map[rowKey]*Row

func (m merged) add(r Row) {
	if have := m[r.key()]; have != nil {
		have.add(&r)
		return
	}
	m[r.key()] = &r
}

func decodeRows(day string, data []byte) ([]Row, error) {
	var stored []storedRow
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, err
	}
	rows := make([]Row, len(stored))
	for i, r := range stored {
		rows[i] = Row{day, r.Model, r.Session, r.User, r.Calls, r.Cut, r.Usage}
	}
	return rows, nil
}

// forgetBefore deletes the days that were kept long enough. It goes back from
// the first of them until nothing has been found for a while, since the bot may
// have been down.
func (l *ledger) forgetBefore(ctx context.Context, first time.Time) error {
	for missing := 0; missing < 45; missing++ {
		first = first.AddDate(0, 0, -1)
		values, err := l.state.List(ctx, spendPrefix+first.Format(time.DateOnly)+"/")
		if err != nil {
			return err
		}
		for _, v := range values {
			if err := l.state.Delete(ctx, v.Key); err != nil {
				return err
			}
			missing = 0
		}
	}
	return nil
}
