package web

import (
	"encoding/json"
	"strings"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/internal/entryview"
)

// maxOpenText bounds what is remembered of an unfinished message, in bytes.
const maxOpenText = 1 << 20

// openRun is what a page that comes in the middle must know of a run: what is
// not in the transcript yet.
type openRun struct {
	id    string
	began time.Time
	seq   int64
	// text of the open assistant message; known is false when its beginning
	// was missed.
	text     []byte
	known    bool
	thinking bool
	calls    []openCall
}

type openCall struct {
	channels.LiveCall
	Began time.Time `json:"began"`
	Done  bool      `json:"done,omitempty"`
}

// liveView is a live event as the page gets it.
type liveView struct {
	Type string    `json:"type"`
	Run  string    `json:"run,omitempty"`
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
	// Position is the transcript's tail after Entry; 0 if there is none.
	Position int64            `json:"position,omitempty"`
	Entry    *entryview.Entry `json:"entry,omitempty"`
	Text     string           `json:"text,omitempty"`
	// Offset and End are the byte range of a delta in the open message.
	Offset int                `json:"offset,omitempty"`
	End    int                `json:"end,omitempty"`
	Call   *channels.LiveCall `json:"call,omitempty"`
	Error  string             `json:"error,omitempty"`
}

// snapshotView is what a page gets when it joins.
type snapshotView struct {
	Run     *runView `json:"run"`
	Notices []notice `json:"notices"`
}

type runView struct {
	ID       string     `json:"id"`
	Began    time.Time  `json:"began"`
	Seq      int64      `json:"seq"`
	Text     string     `json:"text"`
	End      int        `json:"end"`
	Known    bool       `json:"known"`
	Thinking bool       `json:"thinking,omitempty"`
	Calls    []openCall `json:"calls"`
}

func (h *hub) snapshot() []byte {
	v := snapshotView{Notices: h.notices}
	if v.Notices == nil {
		v.Notices = []notice{}
	}
	if r := h.run; r != nil {
		v.Run = &runView{
			ID: r.id, Began: r.began, Seq: r.seq, Text: strings.ToValidUTF8(string(r.text), ""), End: len(r.text),
			Known: r.known, Thinking: r.thinking, Calls: append([]openCall{}, r.calls...),
		}
	}
	return h.encode("snapshot", v)
}

// apply notes what ev changes and returns it for the page.
func (h *hub) apply(ev *channels.LiveEvent) liveView {
	v := liveView{
		Type: ev.Type, Run: ev.Run, Seq: ev.Seq, At: ev.At, Position: ev.Position,
		Text: ev.Text, Offset: ev.Offset, Error: ev.Error, Call: viewCall(ev.Call),
	}
	if ev.Position > 0 {
		h.tail = ev.Position
	}
	if len(ev.Message) > 0 {
		var m agentcore.Message
		if json.Unmarshal(ev.Message, &m) == nil {
			e := entryview.Of(&m, maxOutput)
			v.Entry = &e
		}
	}
	switch ev.Type {
	case "run_end", "reset":
		h.run = nil
		return v
	case "accepted", "notice":
		return v
	}
	r := h.open(ev)
	switch ev.Type {
	case "text":
		r.addText(ev)
		v.End = ev.Offset + len(ev.Text)
	case "thinking":
		r.thinking = true
	case "text_reset":
		r.text, r.known, r.thinking = r.text[:0], true, false
	case "message":
		r.settle(v.Entry)
	case "tool_start", "tool_update", "tool_end":
		r.tool(ev.Type, v.Call, ev.At)
	}
	return v
}

// open returns the run that ev belongs to.
func (h *hub) open(ev *channels.LiveEvent) *openRun {
	if h.run == nil || h.run.id != ev.Run {
		h.run = &openRun{id: ev.Run, began: ev.At, known: true}
	}
	h.run.seq = ev.Seq
	return h.run
}

func (r *openRun) addText(ev *channels.LiveEvent) {
	r.thinking = false
	switch {
	case ev.Offset < 0 || ev.Offset > len(r.text) || !r.known && ev.Offset > 0:
		r.known = false // some deltas were lost
	case len(r.text)+len(ev.Text) > maxOpenText:
		r.known = false
	default:
		r.known = true
		r.text = append(r.text[:ev.Offset], ev.Text...)
	}
	if !r.known {
		r.text = r.text[:0]
	}
}

// settle forgets what the transcript has from now on.
func (r *openRun) settle(e *entryview.Entry) {
	if e == nil {
		return
	}
	switch e.Kind {
	case EntryAssistant:
		r.text, r.known, r.thinking = r.text[:0], true, false
	case EntryToolResult:
		for i := range r.calls {
			if r.calls[i].ID == e.Call {
				r.calls = append(r.calls[:i], r.calls[i+1:]...)
				return
			}
		}
	}
}

func (r *openRun) tool(kind string, call *channels.LiveCall, at time.Time) {
	if call == nil {
		return
	}
	i := 0
	for i < len(r.calls) && r.calls[i].ID != call.ID {
		i++
	}
	if i == len(r.calls) {
		r.calls = append(r.calls, openCall{LiveCall: *call, Began: at})
	}
	c := &r.calls[i]
	if call.Output != "" {
		c.Output = call.Output
	}
	if len(call.Arguments) > 0 {
		c.Arguments = call.Arguments
	}
	if kind == "tool_end" {
		c.Done, c.IsError, c.MS = true, call.IsError, call.MS
	}
}

// viewCall returns a call with bounded arguments and the end of its output.
func viewCall(call *channels.LiveCall) *channels.LiveCall {
	if call == nil {
		return nil
	}
	v := *call
	v.Arguments = entryview.Arguments(call.Arguments, maxOutput)
	if n := len(v.Output); n > maxOutput {
		v.Output = "… " + strings.ToValidUTF8(v.Output[n-maxOutput:], "")
	}
	return &v
}
