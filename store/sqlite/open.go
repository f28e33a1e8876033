package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"clawbot/store"
	"clawbot/store/internal/localbus"
)

// Config says which database to open.
type Config struct {
	// Path of the database file. It is made if it is not there, readable by its
	// owner only, and so is its folder.
	Path string
	// Logger gets what goes wrong in the background. nil: slog.Default().
	Logger *slog.Logger
	// Guest opens an existing database beside the process that owns it: all can
	// be read, State can be written, everything else is refused.
	Guest bool
}

// readers is how many reads run at once.
const readers = 4

// Store is a store.Store in an SQLite database. It is safe for concurrent use.
type Store struct {
	path    string
	guest   bool
	log     *slog.Logger
	lock    *os.File // nil for a guest
	wal     *os.File
	barrier func() error // makes what is in wal durable
	writer  *writer
	readers chan *conn
	failure failure
	kick    chan struct{}
	behind  atomic.Bool // the checkpointer can't keep up
	bus     localbus.Bus
	index   index

	closing sync.Once
	closed  atomic.Bool
	running sync.WaitGroup
}

var _ store.Store = (*Store)(nil)

// Open opens the database, brings it to the present schema and, unless a
// guest, lets every lease and term expire that a dead process left. It fails
// with a *LockedError while another process has it. The caller closes it.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := open(cfg)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", explain(cfg.Path, err))
	}
	return s, nil
}

func open(cfg Config) (*Store, error) {
	path, err := prepare(cfg)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, guest: cfg.Guest, log: cfg.Logger, kick: make(chan struct{})}
	if s.log == nil {
		s.log = slog.Default()
	}
	if !s.guest {
		if s.lock, err = lock(path); err == nil {
			err = create(path, s.log)
		}
	}
	if err == nil {
		err = s.connect()
	}
	if err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

// prepare checks the path, makes its folder and returns it without symbolic
// links, so that one file has one lock whatever it is called.
func prepare(cfg Config) (string, error) {
	if cfg.Path == "" {
		return "", errors.New("no database file is named: set store.path")
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return "", err
	}
	if cfg.Guest {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%s does not exist: start clawbot once, or set store.path", path)
		}
	} else if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("make the database's folder: %w: set store.path to where clawbot may write", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is a %s, not a file: set store.path to a file in it", path, kind(info))
	}
	return path, nil
}

func kind(info fs.FileInfo) string {
	if info.IsDir() {
		return "folder"
	}
	return "special file"
}

// create makes the file for its owner only; SQLite gives the log its mode.
func create(path string, log *slog.Logger) error {
	info, err := os.Stat(path)
	if err == nil {
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			log.Warn("sqlite: others on this machine can read the database", "path", path, "mode", mode, "remedy", "chmod 600 "+path)
		}
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("%w: clawbot must be able to write there, or set store.path", err)
	}
	return f.Close()
}

// connect opens the connections and starts the goroutines.
func (s *Store) connect() error {
	w, err := dial(s.path, "rw", "journal_mode(wal)", "synchronous(normal)", "wal_autocheckpoint(0)", "journal_size_limit(16777216)", "cache_size(-4000)")
	if err != nil {
		return err
	}
	s.writer = &writer{
		s: s, conn: w, calls: make(chan *call), quit: make(chan struct{}),
		sync: queue{signal: make(chan struct{}, 1)}, cache: map[string]*session{},
	}
	if err := s.begin(w); err != nil {
		return errors.Join(err, w.close())
	}
	ckpt, err := dial(s.path, "rw", "synchronous(normal)", "wal_autocheckpoint(0)", "cache_size(-100)")
	if err != nil {
		return errors.Join(err, w.close())
	}
	s.readers = make(chan *conn, readers)
	for range readers {
		s.readers <- nil // opened when first needed
	}
	s.running.Go(s.writer.loop)
	s.running.Go(s.syncer)
	s.running.Go(func() { s.checkpointer(ckpt) })
	return nil
}

// begin readies the database: schema, log, and what a dead owner left.
func (s *Store) begin(w *conn) error {
	if mode, err := text(w, "PRAGMA journal_mode"); err != nil || mode != "wal" {
		return errors.Join(err, fmt.Errorf("%s: the file system does not support a write-ahead log (journal mode %q): keep the database on a local disk", s.path, mode))
	}
	if err := migrate(w, s.path, s.guest); err != nil {
		return err
	}
	if !s.guest {
		if err := s.writer.transaction([]*call{{ctx: context.Background(), run: void}}); err != nil {
			return err
		}
	}
	var err error
	if s.wal, err = os.OpenFile(s.path+"-wal", os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	s.barrier = func() error { return barrier(s.wal) }
	// The log's name, too, must be on the disk before the first promise.
	return errors.Join(s.barrier(), syncDir(filepath.Dir(s.path)))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, fs.ErrPermission) {
		return err // where folders can't be synced, there is nothing to wait for
	}
	return nil
}

// usable is the first check of every call.
func (s *Store) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() {
		return store.ErrClosed
	}
	return nil
}

// Close waits for the writes that were begun, brings the log into the database
// file and releases the lock. A second Close does nothing.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		s.closed.Store(true)
		s.bus.Close()
		s.index.close()
		close(s.writer.quit)
		s.running.Wait()
		var errs []error
		for range readers {
			if c := <-s.readers; c != nil {
				errs = append(errs, c.close())
			}
		}
		errs = append(errs, s.writer.conn.close())
		s.release()
		if err = errors.Join(errs...); err != nil {
			err = fmt.Errorf("close store: %w", explain(s.path, err))
		}
	})
	return err
}

// release lets go of the files. The lock is the last, so that a successor
// finds everything closed.

func (s *Store) release() {
	for _, f := range []*os.File{s.wal, s.lock} {
		if f != nil {
			f.Close()
		}
	}
}

func now() int64 { return time.Now().UnixNano() }

// text returns the first column of the only row.
func text(c *conn, sql string) (out string, err error) {
	_, err = c.one(sql, nil, func(r row) error {
		out = r.text(0)
		return nil
	})
	return out, err
}
