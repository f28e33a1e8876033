package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"clawbot/store"
)

type blobStore Store

// blob is what was put, and when last.
type blob struct {
	data []byte
	put  int64
}

func (s *blobStore) Put(ctx context.Context, r io.Reader, max int64) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, max+1))
	if err != nil {
		return "", fmt.Errorf("put blob: %w", err)
	}
	if int64(len(data)) > max {
		return "", fmt.Errorf("put blob: more than %d bytes: %w", max, store.ErrLimit)
	}
	st := (*Store)(s)
	if err := st.enter(ctx); err != nil {
		return "", fmt.Errorf("put blob: %w", err)
	}
	defer st.mu.Unlock()
	sum := sha256.Sum256(data)
	ref := "sha256:" + hex.EncodeToString(sum[:])
	s.blobs[ref] = blob{data, now()}
	return ref, nil
}

func (s *blobStore) Open(ctx context.Context, ref string) (io.ReadCloser, error) {
	st := (*Store)(s)
	if err := st.enter(ctx); err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	defer st.mu.Unlock()
	b, ok := s.blobs[ref]
	if !ok {
		return nil, fmt.Errorf("open blob %q: %w", ref, store.ErrNotFound)
	}
	return io.NopCloser(bytes.NewReader(b.data)), nil
}
