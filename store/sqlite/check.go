package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"clawbot/store"
)

// Bus implements store.Store. Messages reach subscribers of this process, which
// is the only one.
func (s *Store) Bus() store.Bus { return &s.bus }

// Check implements store.Store: it makes an empty write durable.
func (s *Store) Check(ctx context.Context) error {
	err := s.do(ctx, true, func(t *tx) error {
		return t.exec(fmt.Sprintf("PRAGMA user_version = %d", len(migrations)))
	})
	if err != nil {
		return fmt.Errorf("check store: %w", err)
	}
	return nil
}

// Backup writes the database as it is at this moment to a new file at path,
// readable by its owner only, while the store is in use.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := s.backup(ctx, path); err != nil {
		return fmt.Errorf("back up to %s: %w", path, err)
	}
	return nil
}

func (s *Store) backup(ctx context.Context, path string) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	// SQLite takes an existing file only if it is empty, so this both refuses
	// to overwrite and sets the mode.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("%w: name a file that does not exist, in a folder that does", err)
	}
	defer f.Close()
	c, err := dial(s.path, "rw", "cache_size(-1000)")
	if err != nil {
		return explain(s.path, err)
	}
	err = c.execContext(ctx, "VACUUM INTO ?", path)
	if end := c.close(); err == nil {
		err = end
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		os.Remove(path)
		return explain(path, err)
	}
	return nil
}
