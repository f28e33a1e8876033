package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/channels/reply"
	"clawbot/store"
)

const (
	// maxAttempts is how many tenures may crash over the same work before it
	// is given up.
	maxAttempts = 3

	interruptedText = "Interrupted: the process that ran this ended before the tool was done. Whether it took effect is unknown; check before you call it again."
	unstartedText   = "Interrupted before it began: this call did not run. Call it again if it is still needed."
)

// resumption is what a run that was taken over had shown already.
type resumption struct {
	run   string
	state *reply.State
	said  []segment
}

// takeOver deals with what an earlier tenure left behind: work that keeps
// killing processes, a final that was recorded but perhaps not delivered, and a
// reply to go on with.
func (t *tenure) takeOver() error {
	start := t.lease.Start()
	if !start.Crashed && !start.Reply.Open && !t.tr.unfinished && (t.tr.run == "" || start.Reply.Run == t.tr.run) {
		return nil
	}
	t.log.Debug("taking over", "crashed", start.Crashed, "attempts", start.Attempts, "unfinished", t.tr.unfinished, "reply_open", start.Reply.Open)
	if err := t.buryShortened(); err != nil {
		return err
	}
	if start.Attempts >= maxAttempts {
		if err := t.giveUp(); err != nil {
			return err
		}
	}
	if t.tr.unfinished {
		return t.prepareResume(start.Reply)
	}
	return t.deliverLeft(start)
}

// prepareResume finds what the interrupted run has said, so that the next one
// goes on with the same reply.
func (t *tenure) prepareResume(left store.Reply) error {
	run, err := t.interruptedRun()
	if err != nil {
		return err
	}
	all, err := t.lease.Load(t.ctx, 0)
	if err != nil {
		return t.failed(err)
	}
	said, _, err := saidBy(all.Entries, run)
	if err != nil {
		return err
	}
	if n := len(all.Entries); len(said) > 0 && all.Entries[n-1].Kind == store.KindUser {
		said = append(said, segment{Fresh: true})
	}
	t.resume = resumption{run: run, said: said}
	if left.Run == run {
		t.resume.state = replyState(left)
	}
	return nil
}

// interruptedRun returns the id of the run that was interrupted: the one that
// has said something since the latest final, or whose reply is open. A run that
// took in more messages after its final goes on as well, if that final may not
// have been delivered. If there is none, the id is new.
func (t *tenure) interruptedRun() (string, error) {
	left := t.lease.Start().Reply
	all, err := t.lease.Load(t.ctx, 0)
	if err != nil {
		return "", t.failed(err)
	}
	for _, e := range slices.Backward(all.Entries) {
		if e.Kind == store.KindUser {
			continue
		}
		p, err := readPayload(e)
		if err != nil {
			return "", err
		}
		if p.Note != nil && p.Note.Final || e.Kind == store.KindAssistant && len(e.Opens) == 0 && !brokeOff(p.Message) {
			if p.Run != "" && t.posts() && (left.Run != p.Run || left.Open) {
				return p.Run, nil
			}
			break
		}
		if p.Run != "" {
			return p.Run, nil
		}
	}
	if left.Open {
		return left.Run, nil
	}
	return newID(), nil
}

// posts reports whether answers in this session are posted, and so have a
// delivery state.
func (t *tenure) posts() bool {
	if t.tr.last == nil {
		return false
	}
	h := t.g.hosts[t.tr.last.Channel]
	return h != nil && !h.draws()
}

// deliverLeft delivers a recorded final once more if it may not have arrived.
func (t *tenure) deliverLeft(start store.Start) error {
	last := t.tr.last
	if t.tr.run == "" || last == nil || start.Reply.Run == t.tr.run && !start.Reply.Open {
		return t.closeReply(start.Reply)
	}
	h := t.g.hosts[last.Channel]
	if h == nil {
		return fmt.Errorf("channel %q: %w", last.Channel, errNoChannel)
	}
	if h.draws() {
		return t.closeReply(start.Reply)
	}
	all, err := t.lease.Load(t.ctx, 0)
	if err != nil {
		return t.failed(err)
	}
	said, at, err := saidBy(all.Entries, t.tr.run)
	if err != nil {
		return err
	}
	if len(said) == 0 {
		return t.closeReply(start.Reply)
	}
	var state *reply.State
	if start.Reply.Run == t.tr.run {
		state = replyState(start.Reply)
	}
	if time.Since(at) > announceAfter {
		t.announce(h, last, at)
		return t.closeReply(store.Reply{Run: t.tr.run, Open: true})
	}
	log := t.log.With("run", t.tr.run, "message", last.ID)
	log.Info("delivering an answer that may not have arrived")
	d := t.g.deliver(t, h, log, last.Target, t.tr.run, state)
	defer d.close()
	d.begin(said, nil)
	return d.finish(runEnd{})
}

// closeReply lets the session be released although its reply was left open.
func (t *tenure) closeReply(left store.Reply) error {
	if !left.Open {
		return nil
	}
	return t.failed(t.lease.SetReply(t.ctx, store.Reply{Run: left.Run, Data: left.Data}))
}

// announce tells of an answer that is too old to be sent as if it were new.
func (t *tenure) announce(h *host, last *inbound, at time.Time) {
	h.notice(t.ctx, last.Target, last.Sender, fmt.Sprintf("I had finished an answer for you at %s, but could not deliver it then. It is in our conversation: ask me to repeat it.",
		at.Format("15:04 on 2 January")))
}

func replyState(left store.Reply) *reply.State {
	var s reply.State
	if json.Unmarshal(left.Data, &s) != nil || s.Done {
		return nil
	}
	return &s
}

func brokeOff(m *agentcore.Message) bool {
	return m != nil && (m.Stop == agentcore.StopError || m.Stop == agentcore.StopAborted || m.Stop == agentcore.StopPause)
}

// saidBy returns what a run has said, and when last. Text after a person's
// message begins a new platform message.
func saidBy(entries []store.Entry, run string) (said []segment, at time.Time, err error) {
	fresh := false
	for _, e := range entries {
		if e.Kind == store.KindUser {
			fresh = len(said) > 0
			continue
		}
		p, err := readPayload(e)
		if err != nil {
			return nil, at, err
		}
		if p.Run != run {
			continue
		}
		said = append(said, p.Said...)
		text := ""
		switch {
		case e.Kind == store.KindAssistant && p.Message != nil:
			text = p.Message.Text()
		case p.Note != nil && p.Note.Text != "":
			text = p.Note.remark()
		}
		if text != "" {
			said = append(said, segment{text, fresh})
			fresh = false
		}
		at = e.At
	}
	return said, at, nil
}

// remark is the note as it is said in the chat.
func (n *note) remark() string {
	if n.Kind == noteFailed {
		return "⚠️ " + n.Text
	}
	return n.Text
}

// closeCalls gives every open call its result. Calls that may run again, or
// never began, do so if rerun is set; the others are answered as interrupted.
func (t *tenure) closeCalls(rerun bool) error {
	began := t.lease.Start().Intents
	var r *run
	if rerun {
		var err error
		if r, err = t.newRun(); err != nil {
			return err
		}
		defer r.stop(nil)
		defer r.env.close()
		if !t.begin(r) {
			return nil // a signal decides first
		}
		defer t.end()
	}
	for len(t.tr.open) > 0 {
		call := t.tr.open[0]
		text := unstartedText
		if slices.Contains(began, call.key) {
			text = interruptedText
		}
		result := refused(text)
		if r != nil {
			if again, ok := r.env.rerun(r.ctx, call, text == interruptedText); ok {
				result = again
			}
			if t.ctx.Err() != nil {
				return context.Cause(t.ctx)
			}
			if r.env.handedOff(call.ID) {
				return nil
			}
		}
		if err := t.appendResult(call, result); err != nil {
			return err
		}
		if r != nil {
			r.env.forget(call.key)
		}
	}
	return nil
}

func (t *tenure) appendResult(call openCall, result agentcore.Result) error {
	m := &agentcore.Message{
		ID: newID(), Role: agentcore.RoleToolResult, Time: time.Now(), Content: result.Content,
		ToolCallID: call.ID, ToolName: call.Name, IsError: result.IsError, Details: result.Details,
	}
	return t.append(store.Entry{ID: m.ID, Kind: store.KindToolResult, Closes: call.key}, &payload{V: recordVersion, Run: t.tr.run, Message: m})
}

// rerun executes a call that was open when its process ended. It reports false
// if the call must not run again.
func (e *environment) rerun(ctx context.Context, call openCall, began bool) (result agentcore.Result, ok bool) {
	e.mu.Lock()
	t := e.allowed[call.Name]
	e.mu.Unlock()
	if t == nil {
		t, _ = e.resolve(ctx, call.Name) // one that was not declared
	}
	if t == nil || began && !t.Idempotent {
		return result, false
	}
	defer func() {
		if p := recover(); p != nil {
			e.r.log.Error("a tool panicked", "tool", call.Name, "panic", p)
			result, ok = refused(fmt.Sprintf("The tool failed: %v", p)), true
		}
	}()
	args, err := call.Arguments, error(nil)
	if t.PrepareArguments != nil {
		args, err = t.PrepareArguments(args)
	}
	if err == nil {
		args, err = e.r.t.g.schemas.Validate(t, args)
	}
	if err == nil {
		e.r.batch = call.batch
		result, err = e.repeat(ctx, agentcore.Call{ID: call.ID, Name: call.Name, Arguments: args})
	}
	if err != nil {
		result = refused(err.Error())
	}
	return result, true
}

// repeat runs a call outside of the loop. Its time counts from when it may run.
func (e *environment) repeat(ctx context.Context, call agentcore.Call) (result agentcore.Result, err error) {
	ctx, trail := e.trace(ctx, call)
	defer func() { trail.end(&result, err) }()
	call, refusal, err := e.hooked(ctx, call)
	if err != nil || refusal != "" {
		return refused(refusal), err
	}
	trail.got(call)
	ctx, refusal, err = e.admit(ctx, call.Name, call)
	if err != nil || refusal != "" {
		return refused(refusal), err
	}
	ctx, cancel := context.WithTimeout(ctx, e.r.t.g.config().Loop.Timeout)
	defer cancel()
	result, err = e.perform(ctx, call.Name, call, func(agentcore.Update) {})
	trail.returned()
	if err != nil {
		return result, err
	}
	return e.shown(ctx, call, result)
}

// giveUp ends work that has killed every process that tried it, so that it
// does not kill the next.
func (t *tenure) giveUp() error {
	t.log.Error("giving up on work that has crashed repeatedly", "attempts", t.lease.Start().Attempts)
	if t.tr.unfinished {
		if err := t.closeCalls(false); err != nil {
			return err
		}
		run, err := t.interruptedRun()
		if err != nil {
			return err
		}
		m := &agentcore.Message{ID: newID(), Role: agentcore.RoleAssistant, Stop: agentcore.StopEnd, Time: time.Now(),
			Content: []agentcore.Block{agentcore.Text{Text: fmt.Sprintf("I gave up on this after %d attempts: each time, the program I run in broke down. Please say it differently, or in smaller steps.", maxAttempts)}}}
		return t.append(store.Entry{ID: m.ID, Kind: store.KindAssistant}, &payload{V: recordVersion, Run: run, Message: m})
	}
	w, err := t.lease.Peek(t.ctx, 0)
	if err != nil {
		return t.failed(err)
	}
	return t.bury(w.Messages, "the bot broke down each time it took this message up",
		"I could not take up your message: each time, the program I run in broke down. Please say it differently.")
}

// bury moves messages to the dead letters and tells their senders.
func (t *tenure) bury(messages []store.Queued, reason, notice string) error {
	if len(messages) == 0 {
		return nil
	}
	positions := make([]int64, len(messages))
	for i := range messages {
		positions[i] = messages[i].Position
	}
	if err := t.lease.Bury(t.ctx, positions, reason); err != nil {
		return t.failed(err)
	}
	told := map[string]bool{}
	for _, q := range messages {
		r, err := decodeInbound(q.Data)
		if err != nil {
			t.log.Error("a dead letter can't be read", "event", q.ID, "err", err)
			continue
		}
		t.log.Warn("message given up", "message", r.ID, "reason", reason)
		t.counted(r)
		t.marked(r)
		if !q.Quiet && !told[r.Sender.ID] {
			told[r.Sender.ID] = true
			t.tell(r.Channel, r.Target, r.Sender, notice)
		}
	}
	return nil
}

// tell posts a notice, if the channel is here.
func (t *tenure) tell(channel string, to channels.Target, sender channels.Sender, text string) {
	if h := t.g.hosts[channel]; h != nil {
		h.notice(t.ctx, to, sender, text)
	}
}
