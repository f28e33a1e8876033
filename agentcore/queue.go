package agentcore

// QueueMode says how many queued messages are taken at a time.
type QueueMode uint8

const (
	// OneAtATime takes one message, so that each gets a turn of its own.
	OneAtATime QueueMode = iota
	// All takes everything that waits.
	All
)

// queue is a FIFO of messages. Its owner guards it.
type queue struct {
	mode  QueueMode
	items []*Message
}

func (q *queue) take() []*Message {
	n := len(q.items)
	if q.mode == OneAtATime {
		n = min(n, 1)
	}
	taken := q.items[:n:n]
	if q.items = q.items[n:]; len(q.items) == 0 {
		q.items = nil
	}
	return taken
}
