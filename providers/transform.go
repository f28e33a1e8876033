package providers

import (
	"slices"
	"strings"

	"clawbot/agentcore"
)

// Step is one message as it is to be sent: a transcript made valid for any
// vendor. Adapters encode the message and decide only how it looks.
type Step struct {
	Role agentcore.Role
	// Message is nil for a result that stands in for a missing one.
	Message *agentcore.Message
	// Same says that the model that is asked now wrote the message, or the call
	// that a result answers, so that its signatures, thinking and ids may go
	// back to it.
	Same bool
	// NoCalls leaves the message's tool calls out.
	NoCalls bool
	// Call is what a result answers; it follows its call's message at once.
	Call *agentcore.ToolCall
	// Last is set on the last result of a batch.
	Last bool
}

// MissingResult is what a model is told of a call that has no result.
const MissingResult = "No result provided"

// EmptyResult is what a model is told of a result without content.
const EmptyResult = "(no output)"

// Transform makes a transcript valid, without encoding or copying messages.
//
//   - Messages that ended in an error are dropped; an aborted one is kept for
//     its text, without its calls unless one of them has a result and so was
//     run; so is, always without its calls, one that was cut or refused.
//   - Each call has exactly one result, right after its message: results are
//     moved up, the first of several is kept, strays are dropped, and a missing
//     one says so. Messages that came between follow the results.
//   - Messages that would be empty are left out.
//
// ref is the model that is asked. The result is the same for the same prefix of
// a transcript, whatever follows, except for results that are still to come.
func Transform(messages []*agentcore.Message, ref agentcore.ModelRef) []Step {
	steps := make([]Step, 0, len(messages)+8)
	var open map[string]int // call id → its result's place in steps
	for i, m := range messages {
		switch m.Role {
		case agentcore.RoleUser:
			if !Blank(m) {
				steps = append(steps, Step{Role: m.Role, Message: m})
			}
		case agentcore.RoleToolResult:
			if at, ok := open[m.ToolCallID]; ok && steps[at].Message == nil {
				steps[at].Message = m
			}
		case agentcore.RoleAssistant:
			s := Step{Role: m.Role, Message: m, Same: sameModel(m.Model, ref)}
			s.NoCalls = m.Stop == agentcore.StopAborted && !ran(m, messages[i+1:]) || m.Stop == agentcore.StopLength || m.Stop == agentcore.StopRefusal
			if m.Stop == agentcore.StopError || s.empty() {
				continue
			}
			steps = append(steps, s)
			if !s.NoCalls {
				open, steps = openCalls(s, open, steps)
			}
		}
	}
	return steps
}

// ran reports whether a call of m has a result that is no error among the
// results that follow it.
func ran(m *agentcore.Message, after []*agentcore.Message) bool {
	for _, r := range after {
		if r.Role != agentcore.RoleToolResult {
			return false
		}
		if !r.IsError && seenCall(m.Content, r.ToolCallID) {
			return true
		}
	}
	return false
}

// openCalls appends a place for the result of each call of an assistant's step.
func openCalls(s Step, open map[string]int, steps []Step) (map[string]int, []Step) {
	before := len(steps)
	for _, b := range s.Message.Content {
		call, ok := b.(agentcore.ToolCall)
		if !ok {
			continue
		}
		if open == nil {
			open = make(map[string]int)
		}
		if at, dup := open[call.ID]; dup && at >= before {
			continue // two calls of one message cannot share an id
		}
		open[call.ID] = len(steps)
		steps = append(steps, Step{Role: agentcore.RoleToolResult, Call: &call, Same: s.Same})
	}
	if len(steps) > before {
		steps[len(steps)-1].Last = true
	}
	return open, steps
}

// Called returns the tools that are called in steps, by their names only, in the
// order of their first call: some vendors want them declared even where none may
// be called any more.
func Called(steps []Step) []agentcore.ToolSpec {
	var tools []agentcore.ToolSpec
	for i := range steps {
		call := steps[i].Call
		if call != nil && !slices.ContainsFunc(tools, func(t agentcore.ToolSpec) bool { return t.Name == call.Name }) {
			tools = append(tools, agentcore.ToolSpec{Name: call.Name})
		}
	}
	return tools
}

func sameModel(a, b agentcore.ModelRef) bool {
	return a.ID == b.ID && a.Format == b.Format && (a.Provider == b.Provider || a.Provider == "" || b.Provider == "")
}

// empty reports whether nothing of an assistant message can be sent.
func (s Step) empty() bool {
	for _, b := range s.Message.Content {
		switch b := b.(type) {
		case agentcore.Text:
			if !IsBlank(b.Text) {
				return false
			}
		case agentcore.ToolCall:
			if !s.NoCalls {
				return false
			}
		case agentcore.Thinking:
			// Thinking alone is sent back only while its turn goes on.
			if s.Message.Stop == agentcore.StopPause {
				return false
			}
		case agentcore.Image, agentcore.Document:
			return false
		}
	}
	return true
}

// Parts returns the blocks of an assistant's step that are sent, in order:
// blank text and what belongs to another model is taken out. Thinking of
// another model becomes text if asText is set, and is dropped otherwise; so is
// thinking that is redacted or was cut before its signature.
func (s Step) Parts(asText bool) []agentcore.Block {
	out := make([]agentcore.Block, 0, len(s.Message.Content))
	for _, b := range s.Message.Content {
		switch b := b.(type) {
		case agentcore.Text:
			if IsBlank(b.Text) {
				continue
			}
			if !s.Same {
				b.Signature = ""
			}
			out = append(out, b)
		case agentcore.Thinking:
			switch {
			case s.Same:
				out = append(out, b)
			case asText && !b.Redacted && !IsBlank(b.Text):
				out = append(out, agentcore.Text{Text: b.Text})
			}
		case agentcore.ToolCall:
			if s.NoCalls || seenCall(out, b.ID) {
				continue
			}
			if !s.Same {
				b.Signature = ""
			}
			out = append(out, b)
		}
	}
	return out
}

func seenCall(blocks []agentcore.Block, id string) bool {
	for _, b := range blocks {
		if c, ok := b.(agentcore.ToolCall); ok && c.ID == id {
			return true
		}
	}
	return false
}

// ResultText returns the text of a result's step, never blank unless images
// follow; images says whether they can be sent, and if not, what stands for
// them is part of the text.
func (s Step) ResultText(images bool) string {
	if s.Message == nil {
		return MissingResult
	}
	var out []string
	pictures, omitted := false, false
	for _, b := range s.Message.Content {
		switch b := b.(type) {
		case agentcore.Text:
			if !IsBlank(b.Text) {
				out = append(out, b.Text)
			}
		case agentcore.Image:
			switch {
			case images && len(b.Data) > 0:
				pictures = true
			case !omitted:
				omitted = true
				out = append(out, "(tool image omitted: "+whyOmitted(images)+")")
			}
		case agentcore.Document:
			out = append(out, "(document "+b.Name+" omitted)")
		}
	}
	if len(out) == 0 && !pictures {
		return EmptyResult
	}
	return strings.Join(out, "\n")
}

// WireID returns a call's id as it is sent: as it came if it goes back to the
// model that made it, for some servers know their own ids again, and as
// [WireID] otherwise. A length of 9 means [ShortID].
func (s Step) WireID(id string, length int) string {
	switch {
	case length == 9:
		return ShortID(id)
	case s.Same && id != "" && (length <= 0 || len(id) <= length):
		return id
	}
	return WireID(id, length)
}

// Failed reports whether a result's step is an error.
func (s Step) Failed() bool { return s.Message == nil || s.Message.IsError }

// Images returns the images of a step that can be sent.
func (s Step) Images(supported bool) []agentcore.Image {
	if s.Message == nil || !supported {
		return nil
	}
	var out []agentcore.Image
	for _, b := range s.Message.Content {
		if img, ok := b.(agentcore.Image); ok && sendable(img) {
			out = append(out, img)
		}
	}
	return out
}

// UserParts returns the blocks of a user's message that are sent: text that is
// not blank, images and documents that the model takes, and a line of text for
// those that it does not.
func UserParts(m *agentcore.Message, images, documents bool) []agentcore.Block {
	out := make([]agentcore.Block, 0, len(m.Content))
	note := ""
	for _, b := range m.Content {
		said := ""
		switch b := b.(type) {
		case agentcore.Text:
			if IsBlank(b.Text) {
				continue
			}
		case agentcore.Image:
			if !images || !sendable(b) {
				said = "(image omitted: " + whyOmitted(images) + ")"
			}
		case agentcore.Document:
			switch {
			case documents && len(b.Data) > 0:
			case !IsBlank(b.Text):
				out = append(out, agentcore.Text{Text: b.Text})
				note = ""
				continue
			default:
				said = "(document " + b.Name + " omitted: " + whyOmittedDocument(documents) + ")"
			}
		default:
			continue
		}
		switch {
		case said == "":
			out = append(out, b)
		case said != note: // one line for a run of omissions
			out = append(out, agentcore.Text{Text: said})
		}
		note = said
	}
	return out
}

func whyOmitted(supported bool) string {
	if supported {
		return "it can't be read, is too large, or is no longer there"
	}
	return "model does not support images"
}

func whyOmittedDocument(supported bool) string {
	if supported {
		return "it is no longer available"
	}
	return "model does not take this kind of file"
}

// Blank reports whether a user's message has nothing to send.
func Blank(m *agentcore.Message) bool {
	for _, b := range m.Content {
		if t, ok := b.(agentcore.Text); !ok || !IsBlank(t.Text) {
			return false
		}
	}
	return true
}

// IsBlank reports whether s is only white space.
func IsBlank(s string) bool { return strings.TrimSpace(s) == "" }
