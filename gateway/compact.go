package gateway

import (
	"context"
	"errors"

	"clawbot/agentcore"
	"clawbot/agentcore/compact"
	"clawbot/store"
)

// Compactor shortens a conversation that no longer fits the model's window. It
// returns a summary of the first messages and how many of the last ones are
// kept as they are; a tool result is kept only with the call it answers.
type Compactor interface {
	Compact(ctx context.Context, messages []*agentcore.Message) (summary string, kept int, err error)
}

// summarizer has the model write the summary.
type summarizer struct{ model agentcore.Model }

// Compact implements [Compactor]. Where the model's window is not known, it is
// taken to be what did not fit, less a quarter.
func (s summarizer) Compact(ctx context.Context, messages []*agentcore.Message) (string, int, error) {
	var total int64
	for _, m := range messages {
		total += compact.Estimate(m)
	}
	cfg := compact.Config{Window: total * 3 / 4, KeepRecent: total / 4}
	if d, ok := s.model.(agentcore.Describer); ok && d.Info().Window > 0 {
		cfg.Window = d.Info().Window
	}
	cut := cfg.Cut(messages)
	if cut == 0 {
		return "", 0, errors.New("the latest message alone is too long; there is nothing before it to summarise")
	}
	summary, err := cfg.Summarise(ctx, s.model, "", messages[:cut])
	return summary.Text, len(messages) - cut, err
}

// compact makes room after the model said that the context is too long, and
// reports whether the loop may go on. It does so once a run.
func (r *run) compact(l *agentcore.Loop, failed *agentcore.Error) bool {
	if failed.Class != agentcore.ErrContextOverflow || r.compacted || r.ctx.Err() != nil {
		return false
	}
	r.compacted = true
	tr := r.t.tr
	before := len(tr.messages)
	summary, kept, err := r.t.g.cfg.Compactor.Compact(r.ctx, tr.messages)
	if err == nil {
		err = r.t.replaceBySummary(summary, max(kept, 1))
	}
	if err != nil {
		r.log.Error("the conversation was not compacted", "err", err)
		return false
	}
	r.log.Info("the conversation was compacted", "messages", before, "kept", len(tr.messages)-1)
	l.SetMessages(tr.messages)
	return true
}

// replaceBySummary compacts the transcript to a summary and its last messages.
func (t *tenure) replaceBySummary(summary string, kept int) error {
	data, err := encode(&payload{V: recordVersion, Summary: summary, Last: t.tr.last})
	if err != nil {
		return err
	}
	e := store.Entry{Kind: store.KindSummary, ID: newID(), Data: data}
	if err := t.lease.Compact(t.ctx, t.tr.tail, e, t.tr.keepFrom(kept)); err != nil {
		return t.failed(err)
	}
	all, err := t.lease.Load(t.ctx, 0)
	if err != nil {
		return t.failed(err)
	}
	return t.tr.load(all)
}
