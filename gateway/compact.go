package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"clawbot/agentcore"
	"clawbot/agentcore/compact"
	"clawbot/gateway/budget"
	"clawbot/store"
)

// Compaction says when a conversation is shortened, and by how much: the table
// [compaction]. The history itself stays whole in the store.
type Compaction struct {
	// Off leaves a conversation as it is until the model refuses it.
	Off bool
	// Reserve is how many tokens of the model's window are kept free; 0 means
	// 16,384, and at least what an answer may take. At most half the window.
	Reserve int64
	// Keep is how many tokens of the latest messages stay as they are; 0 means
	// 20,000. At most half of what Reserve leaves.
	Keep int64
}

// Past is what a [Compactor] is to shorten.
type Past struct {
	// Model answers in this conversation.
	Model agentcore.Model
	// Summary is the one that stands before Messages; empty if there is none.
	Summary  string
	Messages []*agentcore.Message
	// Overflow is set when the model has refused the messages as too long, Asked
	// when a person wants the summary, whether it is needed or not.
	Overflow, Asked bool
}

// Shortened is what a [Compactor] made of a [Past]: the summary that takes the
// place of the one before and of all but the last Kept messages. A tool result
// is kept only with the call it answers.
type Shortened struct {
	Summary string
	Kept    int
	Usage   agentcore.Usage // of the model calls that it took
}

// Compactor shortens a conversation that no longer fits the model's window.
type Compactor interface {
	Compact(ctx context.Context, past Past) (Shortened, error)
}

// summarizer has the model write the summary.
type summarizer struct{ cfg *Config }

// errNothingBefore is returned where a compaction would win nothing.
var errNothingBefore = errors.New("the latest messages alone are too long; there is nothing before them to summarise")

// Compact implements [Compactor]. Where the model's window is not known but its
// limit was met, the window is taken to be what did not fit, less a quarter.
func (s summarizer) Compact(ctx context.Context, past Past) (Shortened, error) {
	cfg := s.cfg.window(past.Model)
	if past.Overflow && windowOf(past.Model) == 0 {
		total := estimate(past.Messages)
		cfg = compact.Config{Window: total * 3 / 4, KeepRecent: total / 4}
	}
	if past.Asked {
		cfg.KeepRecent = min(cmp.Or(cfg.KeepRecent, 20_000), estimate(past.Messages)/4)
	}
	cut := cfg.Cut(past.Messages)
	if cut == 0 || past.Asked && cut < 2 {
		return Shortened{}, errNothingBefore
	}
	summary, err := cfg.Summarise(ctx, past.Model, past.Summary, past.Messages[:cut])
	return Shortened{Summary: summary.Text, Kept: len(past.Messages) - cut, Usage: summary.Usage}, err
}

// window bounds the context of a model.
func (c *Config) window(model agentcore.Model) compact.Config {
	reserve := c.Compaction.Reserve
	if reserve == 0 {
		reserve = max(16_384, c.Agent.MaxTokens)
	}
	return compact.Config{Window: windowOf(model), Reserve: reserve, KeepRecent: c.Compaction.Keep}
}

// windowOf is 0 where the window is not known.
func windowOf(model agentcore.Model) int64 {
	if d, ok := model.(agentcore.Describer); ok {
		return d.Info().Window
	}
	return 0
}

func estimate(messages []*agentcore.Message) (tokens int64) {
	for _, m := range messages {
		tokens += compact.Estimate(m)
	}
	return tokens
}

// size is how many tokens the context has: what the latest model call counted
// and an estimate of what came after. A count from before the latest compaction
// says nothing any more; then all is estimated, with extra for what is no
// message.
func (t *transcript) size(extra func() int64) int64 {
	for i, m := range slices.Backward(t.messages) {
		counted := m.Role == agentcore.RoleAssistant && m.Usage.Total() > 0 && m.Stop != agentcore.StopAborted
		if counted && t.at[i] > t.summaryAt {
			return m.Usage.Total() + estimate(t.messages[i+1:])
		}
	}
	return estimate(t.messages) + extra()
}

// past is the conversation without the summary that it begins with.
func (t *transcript) past() (summary string, messages []*agentcore.Message) {
	if t.summary == "" {
		return "", t.messages
	}
	return t.summary, t.messages[1:]
}

// overhead estimates what every request has beside the messages, in tokens.
func (r *run) overhead() int64 {
	n := len(r.systemPrompt())
	if r.known != nil {
		n += len(r.known.Text())
	}
	for _, t := range r.env.tools() {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return int64(n / 4)
}

// crowded reports whether the next request would leave the model too little
// room, and a compaction would win some.
func (r *run) crowded() bool {
	if r.t.g.config().Compaction.Off || r.spared {
		return false
	}
	cfg := r.cfg.window(r.model)
	if !cfg.Due(r.t.tr.size(r.overhead)) {
		return false
	}
	_, messages := r.t.tr.past()
	return estimate(messages[:cfg.Cut(messages)]) >= cmp.Or(cfg.Window, 128_000)/10
}

// makeRoom compacts before a request that would leave too little room. When
// that fails, the request is made all the same: it may fit.
func (r *run) makeRoom(ctx context.Context) (compacted bool, err error) {
	if !r.crowded() {
		return false, nil
	}
	r.out.doing("Summing up our conversation so far, to make room")
	defer r.out.doing("")
	err = r.t.compact(ctx, r, Past{})
	if lost := r.t.ctx.Err(); lost != nil {
		return false, context.Cause(r.t.ctx)
	}
	if err != nil {
		r.spared = true // once a run is enough
		if ctx.Err() == nil {
			r.log.Warn("the conversation was not compacted; it is tried as it is", "err", err)
		}
		return false, nil
	}
	return true, nil
}

// tidy compacts after a run, so that the next one need not wait for it.
func (r *run) tidy() error {
	if r.ctx.Err() != nil || r.t.g.dispatch.closed() || !r.crowded() {
		return nil
	}
	if err := r.t.compact(r.observed(), r, Past{}); err != nil && r.ctx.Err() == nil {
		r.log.Warn("the conversation was not compacted; the next run tries again", "err", err)
	}
	if r.t.ctx.Err() != nil {
		return context.Cause(r.t.ctx)
	}
	return nil
}

// shrink makes room after the model said that the context is too long, and
// reports whether the loop may go on: first by a compaction, then by cutting
// what tools returned. It does each once a run.
func (r *run) shrink(l *agentcore.Loop, failed *agentcore.Error) bool {
	if failed.Class != agentcore.ErrContextOverflow || r.ctx.Err() != nil {
		return false
	}
	if !r.compacted {
		r.compacted = true
		r.out.doing("Summing up our conversation so far, because it no longer fits")
		err := r.t.compact(r.ctx, r, Past{Overflow: true})
		r.out.doing("")
		if err == nil {
			l.SetMessages(r.t.tr.messages)
			return true
		}
		r.log.Warn("the conversation was not compacted", "err", err)
	}
	if r.pruned || !hasLongResults(r.t.tr.messages) {
		return false
	}
	r.pruned = true
	l.SetMessages(r.t.tr.messages)
	return true
}

// prunedResult is what is left of a tool's output, in bytes, where nothing else
// made room.
const prunedResult = 4000

func hasLongResults(messages []*agentcore.Message) bool {
	return slices.ContainsFunc(messages, func(m *agentcore.Message) bool {
		return m.Role == agentcore.RoleToolResult && len(m.Text()) > prunedResult
	})
}

// compact replaces all but the latest messages by a summary. r is the run that
// goes on after it, nil if there is none.
func (t *tenure) compact(ctx context.Context, r *run, past Past) error {
	before, began := len(t.tr.messages), time.Now()
	past.Summary, past.Messages = t.tr.past()
	if past.Model = t.model(); r != nil {
		past.Model = r.model
	}
	short, err := t.g.config().Compactor.Compact(ctx, past)
	if err != nil {
		return err
	}
	if short.Summary == "" {
		return errors.New("the summary is empty")
	}
	if err := t.replaceBySummary(short, r); err != nil {
		return err
	}
	t.log.Info("the conversation was compacted", "messages", before, "kept", len(t.tr.messages)-1,
		"tokens", t.tr.tokens, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// summaryFor bounds a summary that a person asked for.
const summaryFor = 3 * time.Minute

// compactAsked sums up because a person wants it, and tells how that went.
func (t *tenure) compactAsked() error {
	sig := t.asked
	t.asked = nil
	account := t.account("", &inbound{Channel: sig.Channel, Sender: sig.Sender})
	ctx, cancel := context.WithTimeout(budget.With(t.ctx, account), summaryFor)
	defer cancel()
	t.mu.Lock()
	t.summing = cancel
	t.mu.Unlock()
	messages, tokens := len(t.tr.messages), t.tr.size(func() int64 { return 0 })
	err := t.compact(ctx, nil, Past{Asked: true})
	t.mu.Lock()
	t.summing = nil
	t.mu.Unlock()
	switch {
	case t.ctx.Err() != nil:
		return context.Cause(t.ctx)
	case errors.Is(err, errNothingBefore):
		t.tell(sig.Channel, sig.Target, sig.Sender, "There is too little to sum up yet.")
	case tooExpensive(err) != "":
		t.tell(sig.Channel, sig.Target, sig.Sender, "I did not sum it up. "+tooExpensive(err))
	case err != nil:
		t.log.Warn("the conversation was not compacted", "err", err)
		t.tell(sig.Channel, sig.Target, sig.Sender, "I could not sum it up: the model did not write a summary. Nothing has changed.")
	default:
		t.tell(sig.Channel, sig.Target, sig.Sender, fmt.Sprintf(
			"Summed up: of %d messages the latest %d stay as they are; about %s tokens became %s. The history keeps everything.",
			messages, len(t.tr.messages)-1, thousands(tokens), thousands(t.tr.tokens)))
	}
	return nil
}

// replaceBySummary writes the summary. What a run needs of the entries before
// it, should another process go on with it, is kept in the summary.
func (t *tenure) replaceBySummary(short Shortened, r *run) error {
	keep := t.tr.keepFrom(max(short.Kept, 1))
	p := payload{V: recordVersion, Summary: short.Summary, Last: t.tr.last, Used: t.tr.used.Add(short.Usage), Since: t.tr.since}
	if r != nil && t.tr.unfinished {
		all, err := t.lease.Load(t.ctx, 0)
		if err != nil {
			return t.failed(err)
		}
		before := slices.DeleteFunc(slices.Clone(all.Entries), func(e store.Entry) bool {
			return e.Kind != store.KindSummary && e.Position >= keep
		})
		if p.Said, _, err = saidBy(before, r.id); err != nil {
			return err
		}
		p.Run = r.id
	}
	for _, m := range t.tr.pending {
		if m.position < keep {
			p.Pending = append(p.Pending, m.stub())
		}
	}
	data, err := encode(&p)
	if err != nil {
		return err
	}
	e := store.Entry{Kind: store.KindSummary, ID: newID(), Data: data}
	if err := t.lease.Compact(t.ctx, t.tr.tail, e, keep); err != nil {
		return fmt.Errorf("write the summary: %w", t.failed(err))
	}
	all, err := t.lease.Load(t.ctx, 0)
	if err != nil {
		return t.failed(err)
	}
	if err := t.tr.load(all); err != nil {
		return err
	}
	t.tr.tokens = t.tr.size(func() int64 { return 0 })
	return nil
}

// stub is the record without what its sender wrote: who is owed an answer.
func (r *inbound) stub() *inbound {
	s := *r
	s.Text, s.Quote, s.Attachments, s.Overheard = "", "", nil, nil
	return &s
}
