package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"clawbot/agentcore"
	"clawbot/agentcore/compact"
	"clawbot/gateway/budget"
	"clawbot/store"
)

// What a run has shown so far, which decides what a message that comes right
// after its first one does.
const (
	showsNothing int32 = iota // the model is asked, and may be asked again
	showsText                 // a person has seen something, or a tool may have run
	asksAgain                 // given up in favour of a request with the new message
)

// run is one answer: the loop over what is pending, recorded as it goes and
// delivered as one reply.
type run struct {
	t     *tenure
	id    string
	host  *host
	agent string
	cfg   *Config // as the agent has it
	model agentcore.Model
	mode  string
	log   *slog.Logger

	ctx     context.Context // ends the loop
	stop    context.CancelCauseFunc
	began   time.Time
	state   atomic.Int32
	out     *delivery
	env     *environment
	who     company
	account *budget.Account // who pays
	batch   string          // id of the message whose calls run
	peeked  int64           // inbox position up to which messages were shown to the loop, but not drained
	kept    []*agentcore.Message

	// known is what the model is told of the person, see recall. mixed and told
	// say that others' words, and texts from outside, are in the context.
	known       *agentcore.Message
	mixed, told atomic.Bool
	// Of the transcript when the run began: its generation, and from which
	// position on the model sees it.
	generation, liveFrom int64
	begins               bool   // with this run
	guide                string // of the workspace, at the end of the system prompt

	// broken is why the store failed in a hook, which can't end the run itself.
	broken error
	// Of the context that grew too long: compacted after an overflow, spared
	// from further attempts before one, and tool output cut.
	compacted, spared, pruned bool
	turns                     int
	usage                     agentcore.Usage

	watch   RunObserver
	seen    func(context.Context) context.Context // what a ContextObserver adds; nil: nothing
	streams bool                                  // the event before was a delta, too
	// failure is set when the person was told of one, of that class.
	failure bool
	class   agentcore.ErrorClass
}

// newRun prepares an answer to what is pending.
func (t *tenure) newRun() (*run, error) {
	last := t.tr.last
	if last == nil {
		return nil, errors.New("the transcript does not say who is to be answered")
	}
	h := t.g.hosts[last.Channel]
	if h == nil {
		return nil, fmt.Errorf("channel %q: %w", last.Channel, errNoChannel)
	}
	r := &run{t: t, id: newID(), host: h, mode: t.g.queueMode(last.Channel, t.session), began: time.Now()}
	r.agent = t.g.agentFor(t.session, last.speaker())
	r.cfg = t.g.as(r.agent)
	r.model = t.g.modelOf(t.session, r.cfg)
	if t.resume.run != "" {
		r.id = t.resume.run
	}
	r.log = t.log.With("run", r.id, "message", last.ID)
	asking := t.tr.pending
	if len(asking) == 0 {
		asking = []*inbound{last}
	}
	r.who.add(asking...)
	r.account = t.account(r.id, asking...)
	r.newContext()
	r.generation, r.liveFrom = t.tr.generation, t.tr.liveFrom()
	r.begins = len(t.tr.pending) > 0 && t.tr.pending[0].position == 0
	r.hears()
	r.env = t.g.newEnvironment(r, last)
	r.guide = r.guidance()
	return r, nil
}

// errNoChannel is returned for a session of a channel that is not configured.
var errNoChannel = errors.New("not configured in this process")

// cancel ends the run from outside; the first cause counts.
func (r *run) cancel(cause error) {
	r.stop(cause)
	if errors.Is(cause, errHandOff) && r.out != nil {
		r.out.cut()
	}
}

// observed is the run's context for what it calls: with the run's logger, and
// as its observer wants it.
func (r *run) observed() context.Context {
	ctx := agentcore.WithLogger(r.ctx, r.log)
	if r.seen == nil {
		return ctx
	}
	return r.seen(ctx)
}

func (r *run) cause() error {
	if r.ctx.Err() == nil {
		return nil
	}
	return context.Cause(r.ctx)
}

// arrived is told of a new message. While nothing was shown, within the
// debounce window, the model is asked again with both; in interrupt mode the
// run ends in favour of the new message at any time.
func (r *run) arrived(sender string) {
	if r.mode != ModeSteer && r.mode != ModeInterrupt || !r.who.maySteer(r.t.g.config().Queue.SteerBy, sender) {
		return
	}
	early := r.mode == ModeInterrupt || time.Since(r.began) < r.t.g.config().Queue.Debounce
	switch {
	case early && r.state.CompareAndSwap(showsNothing, asksAgain):
		r.stop(errGather)
	case r.mode == ModeInterrupt:
		r.stop(errInterrupt)
	}
}

// shows notes that something of the answer is visible or takes effect, and
// reports false if the run has been given up just before.
func (r *run) shows() bool {
	return r.state.CompareAndSwap(showsNothing, showsText) || r.state.Load() == showsText
}

// answer runs the loop until nothing is pending.
func (t *tenure) answer() (err error) {
	if n := len(t.tr.messages); n > 0 && t.tr.messages[n-1].Role == agentcore.RoleAssistant {
		if err := t.note("", newID(), note{Kind: noteResumed}); err != nil {
			return err
		}
	}
	r, err := t.newRun()
	if err != nil {
		return err
	}
	if !t.begin(r) {
		r.stop(nil)
		return nil
	}
	defer t.end()
	defer r.env.close()
	r.out = t.g.newDelivery(r, t.resume.state)
	defer r.out.close()
	defer r.stop(nil)
	r.watch = t.g.cfg.Observer.Run(t.session, r.host.channel.Name())
	if a, ok := r.watch.(AgentObserver); ok {
		a.Agent(r.agent)
	}
	if c, ok := r.watch.(ContextObserver); ok {
		message := t.tr.last.ID
		r.seen = func(ctx context.Context) context.Context { return c.Context(ctx, r.id, message) }
	}
	defer func() { r.watch.End(r.outcome(err), r.class) }()
	r.out.begin(t.resume.said, t.tr.pending)
	t.resume = resumption{}
	for _, m := range t.tr.pending {
		if m.ID != t.tr.last.ID {
			t.log.Info("message joined a run", "run", r.id, "message", m.ID)
		}
	}
	r.log.Info("run started", "messages", len(t.tr.pending), "role", r.env.roleName())
	if err := r.conclude(r.loop()); err != nil {
		return err
	}
	t.clearMarks(r.failure)
	r.nearly()
	r.enlist()
	return r.tidy()
}

// loop ranges over runs of the agent loop until one has ended for good. It
// returns why that failed, if it did.
func (r *run) loop() error {
	for {
		if err := r.readFiles(); err != nil {
			return err
		}
		r.recall()
		if _, err := r.makeRoom(r.observed()); err != nil {
			return err
		}
		l := r.newLoop()
		err := r.follow(l)
		for e, ok := errors.AsType[*agentcore.Error](err); ok && r.shrink(l, e); e, ok = errors.AsType[*agentcore.Error](err) {
			err = r.follow(l)
		}
		if r.state.Load() != asksAgain || r.t.ctx.Err() != nil {
			return err
		}
		if again, err := r.askAgain(); !again {
			return err
		}
	}
}

func (r *run) newLoop() *agentcore.Loop {
	cfg := r.cfg
	before, after := r.env.hooks()
	return agentcore.New(agentcore.Config{
		Model:               r.model,
		System:              r.systemPrompt(),
		Messages:            r.t.tr.messages,
		Tools:               r.env.tools(),
		Session:             r.t.session,
		MaxTokens:           cfg.Agent.MaxTokens,
		Temperature:         cfg.Agent.Temperature,
		Thinking:            cfg.thinking(),
		MaxIterations:       cfg.Loop.MaxIterations,
		NoLimitSummary:      cfg.Loop.NoLimitSummary,
		Timeout:             cfg.Loop.Timeout,
		ToolExecution:       cfg.toolExecution(),
		MaxParallelTools:    cfg.Loop.MaxParallelTools,
		Schemas:             &r.t.g.schemas,
		ConvertToLLM:        func(messages []*agentcore.Message) []*agentcore.Message { return messages },
		TransformContext:    r.transform,
		BeforeToolCall:      before,
		AfterToolCall:       after,
		SteeringMessages:    r.steering,
		ResolveDeferredTool: r.env.resolve,
		PrepareNextTurn:     r.prepareNextTurn,
		Logger:              r.log,
	})
}

func (r *run) systemPrompt() string {
	last := r.t.tr.last
	return r.cfg.systemPrompt(r.host.channel.Name(), last.Target, last.Room) + r.guide
}

// transform is what one request makes of the transcript.
func (r *run) transform(ctx context.Context, messages []*agentcore.Message) ([]*agentcore.Message, error) {
	if r.pruned {
		messages = compact.Prune(messages, prunedResult)
	}
	messages = r.withMemory(messages)
	if !r.t.tr.media {
		return messages, nil
	}
	return r.t.g.media.show(ctx, messages)
}

// model answers in the session.
func (t *tenure) model() agentcore.Model { return t.g.modelOf(t.session, t.profile()) }

// follow ranges over the loop's events. Whatever must be durable is, before
// the loop goes on. It returns an *agentcore.Error if the loop ended with one,
// errGather if it was given up, and otherwise what the store said.
func (r *run) follow(l *agentcore.Loop) error {
	for ev, err := range l.Continue(r.observed()) {
		if err != nil {
			return fmt.Errorf("run: %w", err)
		}
		if r.broken != nil {
			return r.broken
		}
		if r.state.Load() == asksAgain {
			return errGather
		}
		if ev.Type != agentcore.MessageUpdate || !r.streams {
			r.streams = ev.Type == agentcore.MessageUpdate
			r.watch.Event(ev)
		}
		if err := r.handle(&ev); err != nil {
			return err
		}
		if ev.Type == agentcore.AgentEnd && ev.Err != nil {
			return ev.Err
		}
	}
	return nil
}

// askAgain takes in what has come and readies the run for another request. It
// reports false if the run is ended for another reason.
func (r *run) askAgain() (bool, error) {
	r.t.mu.Lock()
	ended := r.t.stop || r.t.closing
	if !ended {
		r.newContext()
		r.state.Store(showsNothing)
	}
	r.t.mu.Unlock()
	if ended {
		return false, errGather
	}
	r.t.awaitRest(r.ctx)
	r.t.stillWaiting()
	_, err := r.take()
	r.kept = nil // the next loop begins with all there is
	return err == nil, err
}

func (r *run) handle(ev *agentcore.Event) error {
	switch ev.Type {
	case agentcore.MessageStart:
		switch ev.Message.Role {
		case agentcore.RoleAssistant:
			r.out.openMessage()
		case agentcore.RoleUser:
			return r.injected()
		}
	case agentcore.MessageUpdate:
		return r.delta(&ev.Delta)
	case agentcore.MessageEnd:
		return r.finished(ev.Message)
	case agentcore.ToolStart:
		r.out.toolStart(ev.Call, r.env.describe(ev.Call))
	case agentcore.ToolUpdate:
		r.out.toolUpdate(ev.Call, ev.Update)
	case agentcore.ToolEnd:
		if !ev.Executed {
			r.env.unrun(ev.Call, ev.Result)
		}
		r.out.toolEnd(ev.Call, ev.Result)
	}
	return nil
}

func (r *run) delta(ev *agentcore.StreamEvent) error {
	switch ev.Type {
	case agentcore.StreamText:
		if !r.shows() {
			return errGather
		}
		r.out.text(ev.Index, ev.Delta)
	case agentcore.StreamThinking:
		r.out.thinking()
	case agentcore.StreamRestart:
		r.out.restart()
	}
	return nil
}

// finished records a message that the loop has ended, unless it is one that
// Drain has written.
func (r *run) finished(m *agentcore.Message) error {
	switch m.Role {
	case agentcore.RoleAssistant:
		return r.finishedAssistant(m)
	case agentcore.RoleToolResult:
		if r.env.handedOff(m.ToolCallID) {
			return errHandOff // whoever takes the session over waits for the same approval
		}
		key := callKey(r.batch, m.ToolCallID)
		if err := r.record(store.Entry{Kind: store.KindToolResult, Closes: key}, m); err != nil {
			return err
		}
		r.env.forget(key)
		r.reads(m)
	}
	return nil
}

func (r *run) finishedAssistant(m *agentcore.Message) error {
	r.turns++
	r.usage = r.usage.Add(m.Usage)
	r.out.closeMessage(m)
	e := store.Entry{Kind: store.KindAssistant}
	switch m.Stop {
	case agentcore.StopAborted, agentcore.StopError:
		// Kept for what was shown of it. A process that ends leaves nothing:
		// whoever comes next asks the model again.
		if m.Text() == "" || errors.Is(r.cause(), errHandOff) {
			return nil
		}
	case agentcore.StopToolUse:
		if !r.shows() {
			return errGather
		}
		r.batch = m.ID
		for _, c := range m.ToolCalls() {
			e.Opens = append(e.Opens, callKey(m.ID, c.ID))
		}
	default:
		if !r.shows() {
			return errGather
		}
	}
	return r.record(e, m)
}

// record appends a message of the loop.
func (r *run) record(e store.Entry, m *agentcore.Message) error {
	e.ID = m.ID
	p := &payload{V: recordVersion, Run: r.id, Message: m}
	if len(r.cfg.Agents) > 0 && m.Role == agentcore.RoleAssistant {
		p.Agent = r.agent
	}
	if err := r.t.append(e, p); err != nil {
		return err
	}
	r.out.recorded(m, r.t.tr.tail)
	return nil
}

// append writes one entry at the tail and adds it to the transcript in memory.
func (t *tenure) append(e store.Entry, p *payload) error {
	data, err := encode(p)
	if err != nil {
		return err
	}
	e.Data, e.Inbox = data, -1
	if err := t.lease.Append(t.ctx, t.tr.tail, []store.Entry{e}); err != nil {
		if errors.Is(err, store.ErrFenced) {
			t.lose(err)
		}
		return err
	}
	e.Position = t.tr.tail
	t.tr.addPayload(e, p)
	t.tr.bytes += int64(len(data)) + entryCost
	t.tr.tail++
	return nil
}

// note appends an event of the session.
func (t *tenure) note(run, id string, n note) error {
	if t.tr.noted == id {
		return nil // written by the tenure before
	}
	return t.append(store.Entry{Kind: store.KindNote, ID: id}, &payload{V: recordVersion, Run: run, Note: &n})
}
