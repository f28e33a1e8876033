package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/channels/reply"
	"clawbot/store"
)

// delivery shows one run to the people in the conversation: as a reply that is
// posted and edited, or, on channels that draw runs themselves, as live events.
// All methods but cut are called by the run's goroutine.
type delivery struct {
	reply *reply.Reply // nil on channels that draw runs themselves
	live  *liveRun     // silent on others, unless somebody looks

	journal *journal

	done   chan struct{} // the reply's actor has ended
	ctx    context.Context
	cancel context.CancelFunc
	log    logger
	// report tells an observer what the reply asked of the platform.
	report  func()
	givenUp bool

	// shown is the text of the open message as far as it was streamed; index
	// is the block it came from.
	shown strings.Builder
	index int
	mark  int
	said  bool // an earlier message of the reply has text
	fresh bool // the next text begins a new platform message
	calls []running
	busy  string // what the program itself does
	whole bool   // text is shown when it is complete only
	quiet bool   // what runs is not shown
}

type running struct{ id, line string }

type logger interface {
	Warn(msg string, args ...any)
}

// segment is text that a reply has had before a takeover. Breaks lie between
// segments.
type segment struct {
	Text  string `json:"text"`
	Fresh bool   `json:"fresh,omitempty"`
}

func (g *Gateway) newDelivery(r *run, state *reply.State) *delivery {
	return g.deliver(r.t, r.host, r.log, r.t.tr.last.Target, r.id, state)
}

// deliver makes the delivery of one run's reply; close ends it. Log says which
// message is answered.
func (g *Gateway) deliver(t *tenure, h *host, log *slog.Logger, to channels.Target, run string, state *reply.State) *delivery {
	d := &delivery{log: log, live: g.live(h.channel, t.session).run(run)}
	d.ctx, d.cancel = context.WithCancel(agentcore.WithLogger(t.ctx, log))
	if h.draws() {
		return d
	}
	d.journal = &journal{t: t, run: run}
	cfg := reply.Config{Channel: h.channel, Target: to, Journal: d.journal, Pacer: h.pacer, BeforeWrite: t.checkTrust, Logger: log}
	if state != nil {
		cfg.State = *state
	}
	cfg.State.Run = run
	d.whole, d.quiet = !shownIn(g.config().Access.Partial, to.Direct), !shownIn(g.config().Access.Progress, to.Direct)
	d.reply = reply.New(cfg)
	d.report = func() { g.cfg.Observer.Delivered(h.channel.Name(), d.reply.Stats(), d.givenUp) }
	d.done = make(chan struct{})
	go func() {
		defer close(d.done)
		_ = d.reply.Run(d.ctx) // Finish returns the same error
	}()
	return d
}

// journal keeps the reply's delivery state under the session's lease.
type journal struct {
	t   *tenure
	run string
	err atomic.Pointer[error] // why the state could not be kept
	// done is set when the state says that nothing is left to deliver.
	done atomic.Bool
}

// Save implements [reply.Journal].
func (j *journal) Save(ctx context.Context, state reply.State) error {
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	if err := j.t.failed(j.t.lease.SetReply(ctx, store.Reply{Run: j.run, Open: !state.Done, Data: data})); err != nil {
		j.err.Store(&err)
		return err
	}
	j.done.Store(state.Done)
	return nil
}

// close notes that a reply which never reached the platform was given up.
func (j *journal) close(ctx context.Context) error {
	return j.t.failed(j.t.lease.SetReply(ctx, store.Reply{Run: j.run}))
}

// begin shows that the bot works, and repeats what a reply said before it was
// taken over.
func (d *delivery) begin(said []segment, pending []*inbound) {
	d.live.publish(channels.LiveEvent{Type: "run_start"})
	for _, m := range pending {
		d.entered(m)
	}
	if d.reply == nil {
		return
	}
	for _, s := range said {
		if s.Fresh {
			d.freeze()
		}
		d.openMessage()
		d.write(s.Text)
		d.end()
	}
}

// openMessage begins a message of the assistant.
func (d *delivery) openMessage() {
	d.shown.Reset()
	d.index = 0
	if d.reply != nil {
		d.mark = d.reply.Mark()
	}
}

// text appends what the model says.
func (d *delivery) text(index int, delta string) {
	if d.whole {
		return // closeMessage writes it
	}
	if index != d.index && d.shown.Len() > 0 {
		delta = "\n" + delta
	}
	d.index = index
	d.write(delta)
}

func (d *delivery) write(delta string) {
	if delta == "" {
		return
	}
	d.live.text(delta, d.shown.Len())
	if d.reply != nil {
		switch {
		case d.fresh:
			d.reply.Freeze()
			d.fresh, d.said = false, false
			d.mark = d.reply.Mark()
		case d.said && d.shown.Len() == 0:
			d.reply.Write("\n\n")
		}
		d.reply.Write(delta)
	}
	d.shown.WriteString(delta)
}

func (d *delivery) thinking() {
	d.live.thinking()
}

// restart takes back what was shown of the open message.
func (d *delivery) restart() {
	d.live.reset()
	if d.reply != nil {
		d.reply.Truncate(d.mark)
	}
	d.shown.Reset()
}

// closeMessage makes sure that what was shown is what the message says.
func (d *delivery) closeMessage(m *agentcore.Message) {
	if text := m.Text(); text != d.shown.String() {
		d.restart()
		d.write(text)
	}
	d.end()
}

// end settles the open message's text.
func (d *delivery) end() {
	d.said = d.said || d.shown.Len() > 0
	d.shown.Reset()
}

// recorded tells that a message stands in the transcript now.
func (d *delivery) recorded(m *agentcore.Message, tail int64) {
	d.live.message(m, tail)
}

// entered tells that a person's message stands in the transcript now.
func (d *delivery) entered(m *inbound) {
	if d.live.on() {
		d.live.message(m.plain(), m.position+1)
	}
}

// freeze makes text after it a new platform message, below what people wrote in
// between.
func (d *delivery) freeze() {
	d.fresh = d.fresh || d.said
}

// remark appends a sentence of the program's own.
func (d *delivery) remark(text string) {
	if d.reply == nil {
		return // the page draws it from the end of the run
	}
	d.openMessage()
	d.write(text)
	d.end()
}

func (d *delivery) toolStart(call *agentcore.ToolCall, line string) {
	if d.live.on() {
		d.live.tool("tool_start", channels.LiveCall{ID: call.ID, Name: call.Name, Label: line, Arguments: call.Arguments})
	}
	d.calls = append(d.calls, running{call.ID, line})
	d.status()
}

func (d *delivery) toolUpdate(call *agentcore.ToolCall, u *agentcore.Update) {
	if u != nil && d.live.on() {
		d.live.tool("tool_update", channels.LiveCall{ID: call.ID, Name: call.Name, Output: textOf(u.Content)})
	}
}

func (d *delivery) toolEnd(call *agentcore.ToolCall, result *agentcore.Result) {
	if result != nil && d.live.on() {
		d.live.tool("tool_end", channels.LiveCall{ID: call.ID, Name: call.Name, Output: textOf(result.Content), IsError: result.IsError})
	}
	for i := range d.calls {
		if d.calls[i].id == call.ID {
			d.calls = append(d.calls[:i], d.calls[i+1:]...)
			break
		}
	}
	d.status()
}

// doing shows what the program itself is busy with; empty is nothing.
func (d *delivery) doing(line string) {
	if line != "" {
		d.live.publish(channels.LiveEvent{Type: "notice", Text: line + "…"})
	}
	d.busy = line
	d.status()
}

// status shows the tools that run in one line.
func (d *delivery) status() {
	if d.reply == nil || d.quiet {
		return
	}
	lines := make([]string, 0, len(d.calls)+1)
	if d.busy != "" {
		lines = append(lines, d.busy)
	}
	for _, c := range d.calls {
		lines = append(lines, c.line)
	}
	line := ""
	if len(lines) > 0 {
		line = "⏳ " + clip(strings.Join(lines, " · "), 200)
	}
	d.reply.Status(line)
}

// finish delivers the final state and waits until it is there or given up. It
// returns an error only if the store failed: then the reply is left open for
// the tenure that follows, as it is when the process is ending.
func (d *delivery) finish(end runEnd) error {
	d.live.end(end)
	if d.reply == nil {
		return nil
	}
	d.reply.Status("")
	err := d.reply.Finish(d.ctx)
	if failed := d.journal.err.Load(); failed != nil {
		return *failed
	}
	if err == nil || d.ctx.Err() != nil {
		return nil
	}
	d.givenUp = true
	d.log.Warn("the reply was given up", "err", err)
	if d.journal.done.Load() {
		return nil
	}
	return d.journal.close(d.ctx)
}

// runEnd says how a run ended, for those who draw it themselves.
type runEnd struct {
	text string // a remark, Markdown
	err  string // why it did not end well
}

// cut lets go of the reply at once. It is called by any goroutine.
func (d *delivery) cut() { d.cancel() }

func (d *delivery) close() {
	d.cancel()
	if d.done != nil {
		<-d.done
		d.report()
	}
	d.live.close()
}

func textOf(content []agentcore.Block) string {
	m := agentcore.Message{Content: content}
	return m.Text()
}

// announceAfter is the age from which a final is announced, not sent.
const announceAfter = time.Hour
