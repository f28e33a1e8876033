package gateway

import (
	"context"

	"clawbot/agentcore"
	"clawbot/store"
)

// Compactor shortens a conversation that no longer fits the model's window. It
// returns a summary of the first messages and how many of the last ones are
// kept as they are; a tool result is kept only with the call it answers.
type Compactor interface {
	Compact(ctx context.Context, messages []*agentcore.Message) (summary string, kept int, err error)
}

// compact makes room after the model said that the context is too long, and
// reports whether the loop may go on. It does so once a run.
func (r *run) compact(l *agentcore.Loop, failed *agentcore.Error) bool {
	c := r.t.g.cfg.Compactor
	if c == nil || failed.Class != agentcore.ErrContextOverflow || r.compacted || r.ctx.Err() != nil {
		return false
	}
	r.compacted = true
	tr := r.t.tr
	summary, kept, err := c.Compact(r.ctx, tr.messages)
	if err == nil {
		err = r.t.replaceBySummary(summary, min(max(kept, 1), len(tr.messages)))
	}
	if err != nil {
		r.log.Error("the conversation was not compacted", "err", err)
		return false
	}
	l.SetMessages(tr.messages)
	return true
}

// replaceBySummary compacts the transcript to a summary and its last messages.
func (t *tenure) replaceBySummary(summary string, kept int) error {
	data, err := encode(&payload{V: recordVersion, Summary: summary, Last: t.tr.last})
	if err != nil {
		return err
	}
	all, err := t.lease.Load(t.ctx, 0)
	if err != nil {
		return t.failed(err)
	}
	e := store.Entry{Kind: store.KindSummary, ID: newID(), Data: data}
	if err := t.lease.Compact(t.ctx, t.tr.tail, e, keepFrom(all.Entries, kept)); err != nil {
		return t.failed(err)
	}
	if all, err = t.lease.Load(t.ctx, 0); err != nil {
		return t.failed(err)
	}
	return t.tr.load(all)
}

// keepFrom finds the position from which on the last messages that a model is
// shown are kept. It never lies between a call and its result.
func keepFrom(entries []store.Entry, kept int) int64 {
	first := 0
	if len(entries) > 0 && entries[0].Kind == store.KindSummary {
		first = 1
	}
	i := len(entries)
	for i > first && (kept > 0 || entries[i].Kind == store.KindToolResult) {
		i--
		if entries[i].Kind != store.KindNote {
			kept--
		}
	}
	if i == len(entries) {
		return 0
	}
	return entries[i].Position
}
