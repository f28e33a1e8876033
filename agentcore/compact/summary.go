package compact

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"clawbot/agentcore"
)

//go:embed prompt.md
var prompt string

// Bounds of what the summarising model is shown of one message, in bytes.
const (
	maxOutput    = 2000 // of a tool's output
	maxArguments = 500
	maxText      = 20_000
)

// Summary is what a compaction made.
type Summary struct {
	Text  string
	Usage agentcore.Usage // of all the model calls it took
}

// Message returns the summary as the first message of the context that it
// begins. Its time parts counts of tokens before it from those after it.
func (s Summary) Message(id string, at time.Time) *agentcore.Message {
	return &agentcore.Message{
		ID: id, Role: agentcore.RoleUser, Time: at,
		Content: []agentcore.Block{agentcore.Text{
			Text: "Summary of the conversation so far, which is no longer shown:\n\n" + s.Text,
		}},
	}
}

// Summarise has the model write the summary that stands in place of previous,
// the text of an earlier one or empty, and messages. No request is larger than
// the window allows: a long past is summarised in several calls, each building
// on the one before.
func (c Config) Summarise(ctx context.Context, model agentcore.Model, previous string, messages []*agentcore.Message) (Summary, error) {
	c = c.withDefaults()
	answer := c.Reserve * 4 / 5
	// Three characters a token leaves a margin for text that is dense.
	room := int(c.Window-answer-2000) * 3
	s := Summary{Text: previous}
	for part := range parts(messages, max(room-len(previous), room/2)) {
		text, usage, err := ask(ctx, model, s.Text, part, answer)
		s.Usage = s.Usage.Add(usage)
		if err != nil {
			return s, fmt.Errorf("summarising the conversation: %w", err)
		}
		s.Text = text
	}
	return s, nil
}

// ask makes one model call.
func ask(ctx context.Context, model agentcore.Model, previous, record string, answer int64) (string, agentcore.Usage, error) {
	var in strings.Builder
	if previous != "" {
		fmt.Fprintf(&in, "<summary-so-far>\n%s\n</summary-so-far>\n\n", previous)
	}
	fmt.Fprintf(&in, "<conversation>\n%s</conversation>", record)
	req := &agentcore.Request{
		System: prompt, MaxTokens: answer,
		Messages: []*agentcore.Message{{
			ID: "summary", Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Text{Text: in.String()}},
		}},
	}
	var assembler agentcore.Assembler
	for ev, err := range model.Stream(ctx, req) {
		if err != nil {
			return "", agentcore.Usage{}, err
		}
		assembler.Add(ev)
		if ev.Type != agentcore.StreamDone {
			continue
		}
		m := assembler.Finish(ev)
		if m.Error != nil {
			return "", m.Usage, m.Error
		}
		if text := strings.TrimSpace(m.Text()); text != "" {
			return text, m.Usage, nil
		}
		return "", m.Usage, errors.New("the model wrote no summary")
	}
	return "", agentcore.Usage{}, errors.New("the model's stream ended early")
}

// parts yields the messages as a record in pieces of at most size bytes.
func parts(messages []*agentcore.Message, size int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		var part strings.Builder
		for _, m := range messages {
			line := record(m)
			if part.Len() > 0 && part.Len()+len(line) > size {
				if !yield(part.String()) {
					return
				}
				part.Reset()
			}
			part.WriteString(clip(line, size))
		}
		if part.Len() > 0 {
			yield(part.String())
		}
	}
}

// record writes one message as the summarising model is shown it. Thinking is
// left out: its conclusions are in what was said.
func record(m *agentcore.Message) string {
	var out strings.Builder
	for _, b := range m.Content {
		switch b := b.(type) {
		case agentcore.Text:
			if m.Role == agentcore.RoleToolResult {
				fmt.Fprintf(&out, "[result of %s] %s\n", m.ToolName, clip(b.Text, maxOutput))
			} else {
				fmt.Fprintf(&out, "[%s] %s\n", m.Role, clip(b.Text, maxText))
			}
		case agentcore.ToolCall:
			fmt.Fprintf(&out, "[%s called %s] %s\n", m.Role, b.Name, clip(string(b.Arguments), maxArguments))
		case agentcore.Image:
			fmt.Fprintf(&out, "[%s] (an image)\n", m.Role)
		case agentcore.Document:
			fmt.Fprintf(&out, "[%s] (a document: %s) %s\n", m.Role, b.Name, clip(b.Text, maxText))
		}
	}
	return out.String()
}

// clip keeps the beginning and the end of a text that is too long.
func clip(s string, size int) string {
	if len(s) <= size {
		return s
	}
	const mark = "\n[…]\n"
	head := max(size-len(mark), 0) * 2 / 3
	tail := len(s) - max(size-len(mark)-head, 0)
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + mark + s[tail:]
}

// Prune returns the messages with the text of tool results cut to size bytes
// each, for a context that is too long even after a compaction. Messages that
// need no cut are shared.
func Prune(messages []*agentcore.Message, size int) []*agentcore.Message {
	out := make([]*agentcore.Message, len(messages))
	for i, m := range messages {
		out[i] = m
		if m.Role != agentcore.RoleToolResult {
			continue
		}
		for j, b := range m.Content {
			text, ok := b.(agentcore.Text)
			if !ok || len(text.Text) <= size {
				continue
			}
			if out[i] == m {
				cut := *m
				// Another content is another message to a provider's cache.
				cut.ID += "~pruned"
				cut.Content = append([]agentcore.Block(nil), m.Content...)
				out[i] = &cut
			}
			out[i].Content[j] = agentcore.Text{Text: clip(text.Text, size)}
		}
	}
	return out
}
