package gateway

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"clawbot/agentcore"
	"clawbot/store"
)

// transcript is a session's live transcript, decoded, as the model is shown it.
// Between tenures it lives in the cache; a tenure owns it alone.
type transcript struct {
	session    string
	tail       int64
	generation int64

	// messages are what the model sees, in order, and at their positions.
	messages []*agentcore.Message
	at       []int64
	// open are the calls without a result, in order.
	open []openCall
	// pending are the messages that no final covers yet.
	pending []*inbound
	// unfinished is set while the model owes an answer.
	unfinished bool
	// last is the latest message of a person: where an answer goes.
	last *inbound
	// run is the latest run that has said something.
	run string
	// tokens is the size of the context after the latest model call.
	tokens int64
	// summary is the text that stands for what came before messages, and
	// summaryAt its position.
	summary   string
	summaryAt int64
	// since is where the present conversation began: at the latest /new.
	since int64
	// used is what all model calls of the conversation took.
	used agentcore.Usage
	// media is set when a message may have images or documents.
	media bool
	// noted is the id of the latest note.
	noted string
	// voices are those who speak in it.
	voices voices
	bytes  int64
}

// openCall is a tool call without a result.
type openCall struct {
	key   string
	batch string // id of the message that made the call
	agentcore.ToolCall
}

// callKey names a call in the store. Servers number the calls of every message
// anew, so the call's id alone would not tell two of a session apart.
func callKey(message, call string) string { return message + "/" + call }

// entryCost is what an entry costs in memory beside its bytes.
const entryCost = 512

// load brings the transcript up to the store's tail. It reads only what is
// new, unless history was compacted elsewhere.
func (t *transcript) load(entries store.Transcript) error {
	if entries.Generation != t.generation {
		*t = transcript{session: t.session, generation: entries.Generation, summaryAt: -1}
	}
	for _, e := range entries.Entries {
		if err := t.add(e); err != nil {
			return err
		}
	}
	t.tail = entries.Tail
	return nil
}

// add decodes one entry.
func (t *transcript) add(e store.Entry) error {
	var err error
	switch e.Kind {
	case store.KindUser:
		var r *inbound
		if r, err = userRecord(e); err == nil {
			t.addUser(r)
		}
	default:
		var p *payload
		if p, err = readPayload(e); err == nil {
			t.addPayload(e, p)
		}
	}
	if err != nil {
		return fmt.Errorf("entry %d of %s: %w", e.Position, t.session, err)
	}
	t.bytes += int64(len(e.Data)) + entryCost
	t.tail = max(t.tail, e.Position+1)
	return nil
}

func (t *transcript) addUser(r *inbound) *agentcore.Message {
	m := r.message()
	t.voices.hear(r)
	t.show(m, r.position)
	if r.quiet() {
		return m
	}
	t.last = r
	t.pending = append(t.pending, r)
	t.unfinished = true
	return m
}

func (t *transcript) addPayload(e store.Entry, p *payload) {
	switch {
	case e.Kind == store.KindSummary:
		// What came before is represented by the summary alone. The kept tail
		// follows in the order of a load.
		t.messages, t.at, t.open, t.pending, t.last = nil, nil, nil, p.Pending, p.Last
		t.unfinished = p.Run != ""
		t.summary, t.summaryAt, t.used, t.since = p.Summary, e.Position, p.Used, p.Since
		if p.Summary == "" {
			t.since = e.Position
		}
		t.voices.sumUp(p)
		if p.Summary != "" {
			t.show(systemNote(e.ID, "summary of the conversation so far:\n"+unmark.Replace(p.Summary)), e.Position)
		}
	case p.Note != nil:
		t.addNote(e, p)
	case p.Message != nil && e.Kind == store.KindAssistant:
		t.addAssistant(e, p)
	case p.Message != nil && e.Kind == store.KindToolResult:
		t.show(p.Message, e.Position)
		t.open = slices.DeleteFunc(t.open, func(c openCall) bool { return c.key == e.Closes })
		t.unfinished = true
	}
}

func (t *transcript) addAssistant(e store.Entry, p *payload) {
	m := p.Message
	t.tokens = m.Usage.Total()
	if e.Position > t.summaryAt { // the summary has counted what it kept
		t.used = t.used.Add(m.Usage)
	}
	t.run = p.Run
	for _, c := range m.ToolCalls() {
		if key := callKey(m.ID, c.ID); slices.Contains(e.Opens, key) {
			t.open = append(t.open, openCall{key, m.ID, c})
		}
	}
	if shown := replayed(m); shown != nil {
		t.show(shown, e.Position)
	}
	switch m.Stop {
	case agentcore.StopError, agentcore.StopAborted, agentcore.StopPause:
		// A note that follows makes it final; without one the process died
		// here, and the answer is owed still.
		t.unfinished = true
	default:
		t.unfinished = len(e.Opens) > 0
	}
	if !t.unfinished {
		t.pending = nil
	}
}

func (t *transcript) addNote(e store.Entry, p *payload) {
	n := p.Note
	t.noted = e.ID
	if p.Run != "" {
		t.run = p.Run
	}
	var later *inbound // the first message that is not covered
	if n.Final {
		t.pending = sentFrom(t.pending, cmp.Or(n.Before, math.MaxInt64))
		if t.unfinished = len(t.pending) > 0; t.unfinished {
			later = t.pending[0]
		}
	}
	switch n.Kind {
	case noteFiles:
		t.attach(n.Files)
	case noteStopped:
		t.showBefore(later, systemNote(e.ID, "the user stopped you here; what stands above needs no answer unless it is asked for again"), e.Position)
	case noteResumed:
		t.show(systemNote(e.ID, "your answer broke off here; go on with it"), e.Position)
	}
}

func (t *transcript) show(m *agentcore.Message, position int64) {
	t.messages = append(t.messages, m)
	t.at = append(t.at, position)
}

// showBefore shows m where it happened: before a message that entered the
// transcript first but was sent later.
func (t *transcript) showBefore(later *inbound, m *agentcore.Message, position int64) {
	at := -1
	if later != nil {
		at = slices.Index(t.at, later.position)
	}
	if at < 0 {
		t.show(m, position)
		return
	}
	t.messages = slices.Insert(t.messages, at, m)
	t.at = slices.Insert(t.at, at, later.position)
}

// sentFrom returns the messages from an inbox position on.
func sentFrom(messages []*inbound, position int64) []*inbound {
	for i, m := range messages {
		if m.Inbox >= position {
			return messages[i:]
		}
	}
	return nil
}

// keepFrom returns the position from which on the last messages are kept. It
// never lies between a call and its result.
func (t *transcript) keepFrom(kept int) int64 {
	i := max(len(t.messages)-kept, 0)
	if i >= len(t.messages) {
		return t.tail
	}
	for i > 0 && t.messages[i].Role == agentcore.RoleToolResult {
		i--
	}
	return t.at[i]
}

// replayed returns what the model is shown of an assistant message: nothing of
// one that failed, the text alone of one that was aborted.
func replayed(m *agentcore.Message) *agentcore.Message {
	switch m.Stop {
	case agentcore.StopError:
		return nil
	case agentcore.StopAborted:
		text := m.Text()
		if text == "" {
			return nil
		}
		c := *m
		c.Content = []agentcore.Block{agentcore.Text{Text: text}}
		c.Error = nil
		return &c
	}
	return m
}

// systemNote is a remark of the program's own in the model's conversation.
func systemNote(id, text string) *agentcore.Message {
	return &agentcore.Message{
		ID:      id,
		Role:    agentcore.RoleUser,
		Content: []agentcore.Block{agentcore.Text{Text: markOpen + text + markClose}},
	}
}
