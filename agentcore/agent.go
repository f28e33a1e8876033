package agentcore

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Agent is the stateful form of the loop, for programs that would rather
// subscribe to events than range over them. It holds the transcript and two
// queues: steering messages, which the running agent sees before its next model
// call, and follow-ups, which it sees when it would otherwise be done. All
// methods are safe for concurrent use.
type Agent struct {
	loop *Loop

	mu        sync.Mutex
	steering  queue
	followUp  queue
	skipPoll  bool // the next steering poll takes nothing
	active    bool // Prompt or Continue is running
	accepting bool // the run will still look at the queues
	abort     context.CancelFunc
	idle      chan struct{} // closed when the active run is over
	state     State
	listeners []*func(Event)
}

// State is what an agent knows of itself.
type State struct {
	// Running is set from the call of Prompt or Continue until the last
	// listener has returned from the last event.
	Running bool
	// Messages is the transcript so far, to be read only.
	Messages []*Message
	// Pending are the tool calls that have started and not ended.
	Pending []ToolCall
	// Err is why the last run did not end well.
	Err *Error
}

// NewAgent returns an idle agent. SteeringMessages and FollowUpMessages of cfg,
// if set, are asked when the agent's own queues are empty.
func NewAgent(cfg Config) *Agent {
	a := &Agent{abort: func() {}}
	a.state.Messages = cfg.Messages
	steer, follow := cfg.SteeringMessages, cfg.FollowUpMessages
	cfg.SteeringMessages = func(ctx context.Context) ([]*Message, error) { return a.poll(ctx, &a.steering, steer) }
	cfg.FollowUpMessages = func(ctx context.Context) ([]*Message, error) { return a.poll(ctx, &a.followUp, follow) }
	a.loop = New(cfg)
	a.loop.seal = a.seal
	return a
}

// Prompt runs the agent on messages until it is idle again, calling the
// listeners on this goroutine. It returns the error that the run ended with, an
// [*Error], or ErrRunning when the agent is active. A message that a run
// accepted but could not answer any more, because it reached a limit, begins
// another run at once.
func (a *Agent) Prompt(ctx context.Context, messages ...*Message) error {
	return a.run(ctx, func() ([]*Message, error) { return messages, nil })
}

// Continue runs on from the transcript. If its last message is the
// assistant's, queued messages are its prompts, steering before follow-ups;
// with nothing queued, that is ErrFromAssistant.
func (a *Agent) Continue(ctx context.Context) error {
	return a.run(ctx, func() ([]*Message, error) {
		err := a.loop.ready(nil)
		if !errors.Is(err, ErrFromAssistant) {
			return nil, err
		}
		if queued := a.steering.take(); len(queued) > 0 {
			a.skipPoll = true
			return queued, nil
		}
		if queued := a.followUp.take(); len(queued) > 0 {
			return queued, nil
		}
		return nil, err
	})
}

// Steer gives the running agent a message to see before its next model call.
// ErrNotRunning means that no run will see it; then it is not queued either.
func (a *Agent) Steer(m *Message) error { return a.enqueue(&a.steering, m) }

// FollowUp gives the running agent a message for when it would otherwise be
// done. Errors are those of Steer.
func (a *Agent) FollowUp(m *Message) error { return a.enqueue(&a.followUp, m) }

func (a *Agent) enqueue(q *queue, m *Message) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.accepting {
		return ErrNotRunning
	}
	q.items = append(q.items, m)
	return nil
}

// SetQueueModes says how many messages a poll takes from each queue.
func (a *Agent) SetQueueModes(steering, followUp QueueMode) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.steering.mode, a.followUp.mode = steering, followUp
}

// Abort ends the active run in order, if there is one, and does not wait for
// it. What is queued stays queued for the next run.
func (a *Agent) Abort() {
	a.mu.Lock()
	abort := a.abort
	a.mu.Unlock()
	abort()
}

// Wait returns when the agent is idle or ctx is done. A listener must not call
// it.
func (a *Agent) Wait(ctx context.Context) error {
	a.mu.Lock()
	idle := a.idle
	a.mu.Unlock()
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Subscribe has listener called with every event from now on, after those that
// subscribed earlier. The run waits for it. Calling unsubscribe ends that.
func (a *Agent) Subscribe(listener func(Event)) (unsubscribe func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	entry := &listener
	a.listeners = append(slices.Clip(a.listeners), entry)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		kept := make([]*func(Event), 0, len(a.listeners))
		for _, l := range a.listeners {
			if l != entry {
				kept = append(kept, l)
			}
		}
		a.listeners = kept
	}
}

// State returns a snapshot.
func (a *Agent) State() State {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.state
	s.Messages = slices.Clip(s.Messages)
	s.Pending = slices.Clone(s.Pending)
	return s
}

// Reset forgets the transcript and empties both queues. It fails with
// ErrRunning while the agent is active.
func (a *Agent) Reset() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.active {
		return ErrRunning
	}
	a.loop.SetMessages(nil)
	a.steering.items, a.followUp.items, a.skipPoll = nil, nil, false
	a.state = State{}
	return nil
}

// run claims the agent, and runs what prompts returns (under the lock) and what
// is left in the queues after it.
func (a *Agent) run(ctx context.Context, prompts func() ([]*Message, error)) error {
	a.mu.Lock()
	if a.active {
		a.mu.Unlock()
		return ErrRunning
	}
	messages, err := prompts()
	if err != nil {
		a.mu.Unlock()
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	a.active, a.accepting, a.abort, a.idle = true, true, cancel, make(chan struct{})
	a.state.Running = true
	a.mu.Unlock()
	defer a.release(cancel)
	for {
		err := a.once(ctx, messages)
		if messages = a.leftover(ctx, err); messages == nil {
			return err
		}
	}
}

func (a *Agent) release(cancel context.CancelFunc) {
	cancel()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.active, a.accepting, a.abort, a.skipPoll = false, false, func() {}, false
	a.state.Running, a.state.Pending = false, nil
	close(a.idle)
}

// once runs the loop and reports why the run ended, if it did not end well.
func (a *Agent) once(ctx context.Context, messages []*Message) error {
	sequence := a.loop.Continue(ctx)
	if len(messages) > 0 {
		sequence = a.loop.Run(ctx, messages)
	}
	var failed *Error
	for ev, err := range sequence {
		if err != nil {
			return err
		}
		if ev.Type == AgentEnd {
			failed = ev.Err
		}
		for _, listener := range a.reduce(ev) {
			(*listener)(ev)
		}
	}
	if failed != nil {
		return failed
	}
	return nil
}

// reduce brings the state up to date and returns whom to tell.
func (a *Agent) reduce(ev Event) []*func(Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch ev.Type {
	case AgentStart:
		a.state.Err = nil
	case MessageEnd:
		a.state.Messages = a.loop.Messages()
	case ToolStart:
		a.state.Pending = append(a.state.Pending, *ev.Call)
	case ToolEnd:
		a.state.Pending = slices.DeleteFunc(a.state.Pending, func(c ToolCall) bool { return c.ID == ev.Call.ID })
	case AgentEnd:
		a.state.Err = ev.Err
	}
	return a.listeners
}

// leftover returns what the next run begins with: messages that were accepted
// by a run that reached a limit or was stopped by a hook. After an abort or a
// failure they stay queued.
func (a *Agent) leftover(ctx context.Context, err error) []*Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	var next []*Message
	if ctx.Err() == nil && (err == nil || ClassOf(err) == ErrLimit) {
		if next = a.steering.take(); len(next) == 0 {
			next = a.followUp.take()
		} else {
			a.skipPoll = true
		}
	}
	if len(next) == 0 {
		a.accepting = false
		return nil
	}
	return next
}

// poll takes from a queue, or else from the configuration's hook.
func (a *Agent) poll(ctx context.Context, q *queue, hook func(context.Context) ([]*Message, error)) ([]*Message, error) {
	a.mu.Lock()
	var taken []*Message
	if q == &a.steering && a.skipPoll {
		a.skipPoll = false
		a.mu.Unlock()
		return nil, nil
	}
	taken = q.take()
	a.mu.Unlock()
	if len(taken) > 0 || hook == nil {
		return taken, nil
	}
	return hook(ctx)
}

// seal closes the queues if nothing waits in them, in one step, so that a
// message is either answered by this run or refused.
func (a *Agent) seal() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.steering.items) > 0 || len(a.followUp.items) > 0 {
		return false
	}
	a.accepting = false
	return true
}
