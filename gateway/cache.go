package gateway

import (
	"container/list"
	"sync"
)

// cache keeps decoded transcripts of idle sessions, the longest unused dropped
// first, so that a turn costs what is new and not what there is.
type cache struct {
	limit int64 // bytes

	mu    sync.Mutex
	bytes int64
	items map[string]*list.Element
	order list.List // of *transcript, the latest used first
}

// take removes and returns the session's transcript; nil if it isn't here. The
// caller owns it until it puts it back.
func (c *cache) take(session string) *transcript {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.items[session]
	if !ok {
		return nil
	}
	return c.remove(el)
}

// put keeps t for the next tenure. One larger than the whole cache is let go.
func (c *cache) put(t *transcript) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.items[t.session]; ok {
		c.remove(el)
	}
	if t.bytes > c.limit {
		return
	}
	if c.items == nil {
		c.items = make(map[string]*list.Element)
	}
	c.items[t.session] = c.order.PushFront(t)
	c.bytes += t.bytes
	for c.bytes > c.limit {
		c.remove(c.order.Back())
	}
}

func (c *cache) remove(el *list.Element) *transcript {
	t := c.order.Remove(el).(*transcript)
	delete(c.items, t.session)
	c.bytes -= t.bytes
	return t
}

// tokens is the size of an idle session's context as far as it is known; 0 if
// it isn't.
func (c *cache) tokens(session string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.items[session]; ok {
		return el.Value.(*transcript).tokens
	}
	return 0
}

// cost is what an idle session's conversation has cost, as far as it is known,
// in billionths of a dollar; 0 if it isn't.
func (c *cache) cost(session string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.items[session]; ok {
		return el.Value.(*transcript).used.Cost
	}
	return 0
}
