package gateway

import (
	"container/list"
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"

	"clawbot/agentcore"
	"clawbot/store"
)

const (
	// mediaKept bounds the decoded files kept in memory, in bytes.
	mediaKept = 32 << 20
	// mediaShown and mediaBytes bound the files of one request; the latest are
	// shown.
	mediaShown = 20
	mediaBytes = 24 << 20
)

// media gives the bytes of images and documents when a model is to be shown
// them. The latest used are kept.
type media struct {
	blobs store.Blobs
	log   *slog.Logger
	texts chan struct{} // a place among the documents whose text is taken out

	mu    sync.Mutex
	bytes int64
	items map[string]*list.Element
	order list.List // of *mediaItem, the latest used first
}

type mediaItem struct {
	ref  string
	data []byte
}

// show returns the messages with the bytes of their images and documents. What
// is not shown any more is told by a line.
func (c *media) show(ctx context.Context, messages []*agentcore.Message) ([]*agentcore.Message, error) {
	out := slices.Clone(messages)
	shown, size := 0, 0
	for i, m := range slices.Backward(messages) {
		if !hasMedia(m) {
			continue
		}
		cp := *m
		cp.Content = slices.Clone(m.Content)
		dropped := false
		for j, b := range slices.Backward(cp.Content) {
			ref := refOf(b)
			if ref == "" {
				continue
			}
			data, err := c.get(ctx, ref)
			if err != nil {
				return nil, err
			}
			shown++
			gone := data == nil || shown > mediaShown || size+len(data) > mediaBytes
			if d, ok := b.(agentcore.Document); ok && gone && d.Text != "" {
				dropped = true // its text stands for it
				continue
			}
			if gone {
				cp.Content[j] = agentcore.Text{Text: markOpen + "this file is no longer shown to you" + markClose}
				dropped = true
				continue
			}
			size += len(data)
			cp.Content[j] = withData(b, data)
		}
		if dropped {
			cp.ID += "~unshown" // another content is another message to a provider's cache
		}
		out[i] = &cp
	}
	return out, nil
}

func refOf(b agentcore.Block) string {
	switch b := b.(type) {
	case agentcore.Image:
		return b.Ref
	case agentcore.Document:
		return b.Ref
	}
	return ""
}

func withData(b agentcore.Block, data []byte) agentcore.Block {
	switch b := b.(type) {
	case agentcore.Image:
		b.Data = data
		return b
	case agentcore.Document:
		b.Data = data
		return b
	}
	return b
}

// get returns a blob's bytes; nil if it is gone.
func (c *media) get(ctx context.Context, ref string) ([]byte, error) {
	c.mu.Lock()
	if el, ok := c.items[ref]; ok {
		c.order.MoveToFront(el)
		c.mu.Unlock()
		return el.Value.(*mediaItem).data, nil
	}
	c.mu.Unlock()
	body, err := c.blobs.Open(ctx, ref)
	if err == nil {
		defer func() { _ = body.Close() }()
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(body, maxFile)); err == nil {
			c.keep(ref, data)
			return data, nil
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	agentcore.LoggerOf(ctx, c.log).Error("a file can't be read any more, so the model is not shown it", "blob", ref, "err", err)
	return nil, nil
}

func (c *media) keep(ref string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.items[ref]; ok {
		return
	}
	if c.items == nil {
		c.items = map[string]*list.Element{}
	}
	c.items[ref] = c.order.PushFront(&mediaItem{ref, data})
	c.bytes += int64(len(data))
	for c.bytes > mediaKept {
		last := c.order.Remove(c.order.Back()).(*mediaItem)
		delete(c.items, last.ref)
		c.bytes -= int64(len(last.data))
	}
}
