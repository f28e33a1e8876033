package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"clawbot/store"
)

// chunkSize is how much of a blob is in memory at a time.
const chunkSize = 256 << 10

// Blobs implements store.Store. They are rows of the database in chunks, so
// that one file is all there is to back up. Put waits for the disk.
func (s *Store) Blobs() store.Blobs { return (*blobs)(s) }

type blobs Store

func (b *blobs) Put(ctx context.Context, r io.Reader, max int64) (string, error) {
	s := (*Store)(b)
	err := s.owner()
	var ref string
	if err == nil {
		ref, err = s.putBlob(ctx, r, max)
	}
	if err != nil {
		return "", fmt.Errorf("put blob: %w", err)
	}
	return ref, nil
}

// putBlob writes the chunks under a row without a reference, which nobody
// finds, and names it when the content and thus its hash are known.
func (s *Store) putBlob(ctx context.Context, r io.Reader, max int64) (string, error) {
	id, err := write(ctx, s, false, func(t *tx) (int64, error) {
		return t.insert("INSERT INTO blobs (ref) VALUES (NULL)")
	})
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	err = s.putChunks(ctx, id, io.TeeReader(r, hash), max)
	if err != nil {
		// Also when ctx has ended; if this fails, the next Open cleans up.
		clean := s.do(context.WithoutCancel(ctx), false, func(t *tx) error { return t.dropBlob(id) })
		return "", errors.Join(err, clean)
	}
	ref := "sha256:" + hex.EncodeToString(hash.Sum(nil))
	return ref, s.do(ctx, true, func(t *tx) error {
		there, err := t.number("SELECT count(*) FROM blobs WHERE ref = ?", ref)
		if err != nil {
			return err
		}
		if there > 0 {
			if err := t.exec("UPDATE blobs SET put = ? WHERE ref = ?", now(), ref); err != nil {
				return err
			}
			return t.dropBlob(id)
		}
		return t.exec("UPDATE blobs SET ref = ?, put = ? WHERE id = ?", ref, now(), id)
	})
}

func (s *Store) putChunks(ctx context.Context, id int64, r io.Reader, max int64) error {
	chunk := make([]byte, min(chunkSize, max+1))
	for n, size := int64(0), int64(0); ; n++ {
		got, err := io.ReadFull(r, chunk)
		end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !end {
			return err
		}
		if size += int64(got); size > max {
			return fmt.Errorf("more than %d bytes: %w", max, store.ErrLimit)
		}
		if got > 0 {
			err := s.do(ctx, false, func(t *tx) error {
				t.wrote += got
				return t.exec("INSERT OR REPLACE INTO chunks (key, data) VALUES (?, ?)", id<<20|n, chunk[:got])
			})
			if err != nil {
				return err
			}
		}
		if end {
			return nil
		}
	}
}

func (t *tx) dropBlob(id int64) error {
	if err := t.exec("DELETE FROM chunks WHERE key >= ? AND key < ?", id<<20, (id+1)<<20); err != nil {
		return err
	}
	return t.exec("DELETE FROM blobs WHERE id = ?", id)
}

func (b *blobs) Open(ctx context.Context, ref string) (io.ReadCloser, error) {
	s := (*Store)(b)
	var id int64
	err := s.read(ctx, func(c *conn) error {
		found, err := c.one("SELECT id FROM blobs WHERE ref = ?", args(ref), func(r row) error {
			id = r.int(0)
			return nil
		})
		if !found && err == nil {
			err = store.ErrNotFound
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open blob %q: %w", ref, err)
	}
	return &blobReader{ctx: ctx, s: s, next: id << 20, end: (id + 1) << 20}, nil
}

// blobReader reads a blob chunk by chunk.
type blobReader struct {
	ctx   context.Context
	s     *Store
	next  int64 // key of the next chunk
	end   int64
	chunk []byte
}

func (r *blobReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(r.chunk) == 0 {
		if err := r.load(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.chunk)
	r.chunk = r.chunk[n:]
	return n, nil
}

func (r *blobReader) load() error {
	if r.next >= r.end {
		return io.EOF
	}
	err := r.s.read(r.ctx, func(c *conn) error {
		_, err := c.one("SELECT data FROM chunks WHERE key = ?", args(r.next), func(row row) error {
			r.chunk = row.blob(0)
			return nil
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("read blob: %w", err)
	}
	r.next++
	if len(r.chunk) == 0 {
		r.next = r.end
		return io.EOF
	}
	return nil
}

// Close ends reading.
func (r *blobReader) Close() error {
	r.next, r.chunk = r.end, nil
	return nil
}
