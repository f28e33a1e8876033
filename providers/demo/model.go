package demo

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"clawbot/agentcore"
	"clawbot/providers"
)

// Pacing of the stream.
const (
	wordPause = 8 * time.Millisecond
	slowPause = 250 * time.Millisecond
	longPause = 30 * time.Millisecond
)

// Instant is the name of the demo model that does not pause between words.
const Instant = "instant"

// Model is the demo model.
type Model struct {
	info    agentcore.ModelInfo
	instant bool
}

var (
	_ agentcore.Model     = (*Model)(nil)
	_ agentcore.Describer = (*Model)(nil)
)

// New returns the demo model. Every model name works; [Instant] is the one that
// does not pause.
func New(cfg providers.Config, model string) (agentcore.Model, error) {
	return &Model{
		instant: model == Instant,
		info: agentcore.ModelInfo{
			Ref:    agentcore.ModelRef{Provider: cfg.Name, Format: providers.FormatDemo, ID: model},
			Window: 200_000, MaxOutput: 16_000, Price: &agentcore.Price{},
		},
	}, nil
}

// Info describes the model: it costs nothing and sees no images.
func (m *Model) Info() agentcore.ModelInfo { return m.info }

// Stream implements [agentcore.Model].
func (m *Model) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		if ctx.Err() != nil {
			yield(agentcore.StreamEvent{}, providers.Aborted(ctx))
			return
		}
		r := reply(req)
		s := speaker{ctx: ctx, yield: yield, instant: m.instant, budget: req.MaxTokens}
		stop := agentcore.StopEnd
		for _, p := range r.parts {
			if !s.say(p) {
				return
			}
		}
		if len(r.calls) > 0 && !s.cut {
			stop = agentcore.StopToolUse
			if !s.call(r.calls) {
				return
			}
		}
		if s.cut {
			stop = agentcore.StopLength
		}
		yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: stop, Model: m.info.Ref, Usage: agentcore.Usage{
			Input: size(req), Output: int64(s.chars+3) / 4,
		}}, nil)
	}
}

// size estimates the tokens of a request.
func size(req *agentcore.Request) int64 {
	n := len(req.System)
	for _, m := range req.Messages {
		for _, b := range m.Content {
			switch b := b.(type) {
			case agentcore.Text:
				n += len(b.Text)
			case agentcore.ToolCall:
				n += len(b.Name) + len(b.Arguments)
			}
		}
	}
	return int64(n+3) / 4
}

// part is text at a pace.
type part struct {
	text  string
	pause time.Duration
}

// call is a tool call to make.
type call struct {
	tool string
	args map[string]any
}

// speaker streams what was decided.
type speaker struct {
	ctx     context.Context
	yield   func(agentcore.StreamEvent, error) bool
	instant bool
	budget  int64
	chars   int
	index   int
	open    bool
	cut     bool
}

func (s *speaker) wait(d time.Duration) bool {
	if s.instant || d <= 0 {
		if s.ctx.Err() == nil {
			return true
		}
	} else {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return true
		case <-s.ctx.Done():
		}
	}
	s.yield(agentcore.StreamEvent{}, providers.Aborted(s.ctx))
	return false
}

// say streams text a word at a time.
func (s *speaker) say(p part) bool {
	for rest := p.text; rest != "" && !s.cut; {
		word := nextWord(rest)
		rest = rest[len(word):]
		if !s.wait(p.pause) {
			return false
		}
		s.open = true
		s.chars += utf8.RuneCountInString(word)
		if !s.yield(agentcore.StreamEvent{Type: agentcore.StreamText, Index: s.index, Delta: word}, nil) {
			return false
		}
		s.cut = s.budget > 0 && int64(s.chars)/4 >= s.budget
	}
	return true
}

// nextWord returns the first word of s with the space behind it.
func nextWord(s string) string {
	start := len(s) - len(strings.TrimLeft(s, " \n"))
	at := strings.IndexAny(s[start:], " \n")
	if at < 0 {
		return s
	}
	return s[:start+at+1]
}

func (s *speaker) call(calls []call) bool {
	if s.open {
		if !s.yield(agentcore.StreamEvent{Type: agentcore.StreamBlockEnd, Index: s.index}, nil) {
			return false
		}
		s.index++
	}
	for _, c := range calls {
		if !s.wait(wordPause) {
			return false
		}
		args, err := json.Marshal(c.args)
		if err != nil {
			args = []byte("{}")
		}
		half := len(args) / 2
		for half > 0 && !utf8.RuneStart(args[half]) {
			half--
		}
		s.chars += len(c.tool) + len(args)
		for _, ev := range []agentcore.StreamEvent{
			{Type: agentcore.StreamToolCall, Index: s.index, ID: providers.NewCallID(), Name: c.tool},
			{Type: agentcore.StreamArguments, Index: s.index, Delta: string(args[:half])},
			{Type: agentcore.StreamArguments, Index: s.index, Delta: string(args[half:])},
			{Type: agentcore.StreamBlockEnd, Index: s.index},
		} {
			if !s.yield(ev, nil) {
				return false
			}
		}
		s.index++
	}
	return true
}
