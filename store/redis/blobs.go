package redis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"clawbot/store"
)

const (
	// chunkSize is how much of a blob is in memory at a time.
	chunkSize = 256 << 10
	// unfinished is when chunks expire that were never given a name.
	unfinished = time.Hour
)

// Blobs are chunks in a hash under a name of the moment. When the content's
// hash is known, another key says where they are.
type blobs Store

func (b *blobs) Put(ctx context.Context, r io.Reader, max int64) (string, error) {
	ref, err := (*Store)(b).putBlob(ctx, r, max)
	if err != nil {
		return "", fmt.Errorf("put blob: %w", err)
	}
	return ref, nil
}

func (s *Store) putBlob(ctx context.Context, r io.Reader, max int64) (string, error) {
	where := s.keys.blob(nonce())
	hash := sha256.New()
	if err := s.putChunks(ctx, where, io.TeeReader(r, hash), max); err != nil {
		// Also when ctx has ended; if this fails, they expire.
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		_ = s.client.Del(clean, where).Err()
		return "", err
	}
	ref := "sha256:" + hex.EncodeToString(hash.Sum(nil))
	return ref, s.nameBlob(ctx, ref, where)
}

// putChunks writes the chunks under keys that expire.
func (s *Store) putChunks(ctx context.Context, where string, r io.Reader, max int64) error {
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
		if got > 0 || n == 0 {
			err := s.retry(ctx, func() error {
				_, err := s.client.TxPipelined(ctx, func(p goredis.Pipeliner) error {
					p.HSet(ctx, where, strconv.FormatInt(n, 10), chunk[:got])
					p.PExpire(ctx, where, unfinished)
					return nil
				})
				return err
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

// nameBlob makes the chunks the content's, unless there are some: then those
// are made to stay, for they may be of a Put that died before it did that.
func (s *Store) nameBlob(ctx context.Context, ref, where string) error {
	name := s.keys.reference(ref)
	reply, err := s.call(ctx, s.scripts.nameBlob, name, where, ref)
	if err != nil {
		return err
	}
	there := text(reply)
	stays, err := s.persist(ctx, there)
	if err != nil || there == where {
		return err
	}
	if stays {
		return s.retry(ctx, func() error { return s.client.Del(ctx, where).Err() })
	}
	if err := s.retry(ctx, func() error { return s.client.Set(ctx, name[0], where, 0).Err() }); err != nil {
		return err
	}
	_, err = s.persist(ctx, where)
	return err
}

// persist keeps chunks from expiring and reports whether there are any.
func (s *Store) persist(ctx context.Context, where string) (there bool, err error) {
	err = s.retry(ctx, func() error {
		if err := s.client.Persist(ctx, where).Err(); err != nil {
			return err
		}
		n, err := s.client.Exists(ctx, where).Result()
		there = n == 1
		return err
	})
	return there, err
}

func (b *blobs) Open(ctx context.Context, ref string) (io.ReadCloser, error) {
	s := (*Store)(b)
	r := &blobReader{ctx: ctx, s: s}
	err := s.retry(ctx, func() error {
		where, err := s.client.Get(ctx, s.keys.reference(ref)[0]).Result()
		if err != nil && !errors.Is(err, goredis.Nil) {
			return err
		}
		r.where = where
		return nil
	})
	if err == nil && r.where != "" {
		err = r.load()
	}
	if err == nil && r.where == "" {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("open blob %q: %w", ref, err)
	}
	return r, nil
}

// blobReader reads a blob chunk by chunk.
type blobReader struct {
	ctx   context.Context
	s     *Store
	where string // empty: at the end
	next  int64
	chunk string
}

// Read implements io.Reader.
func (r *blobReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for r.chunk == "" {
		if r.where == "" {
			return 0, io.EOF
		}
		if err := r.load(); err != nil {
			return 0, fmt.Errorf("read blob: %w", err)
		}
	}
	n := copy(p, r.chunk)
	r.chunk = r.chunk[n:]
	return n, nil
}

// load fetches the next chunk; where none is, the blob has ended. The first is
// there even of an empty blob.
func (r *blobReader) load() error {
	return r.s.retry(r.ctx, func() error {
		chunk, err := r.s.client.HGet(r.ctx, r.where, strconv.FormatInt(r.next, 10)).Result()
		if errors.Is(err, goredis.Nil) {
			r.where = ""
			return nil
		}
		if err == nil {
			r.chunk = chunk
			r.next++
		}
		return err
	})
}

// Close ends reading.
func (r *blobReader) Close() error {
	r.where, r.chunk = "", ""
	return nil
}
