package reply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"clawbot/channels"
	"clawbot/channels/markdown"
)

// fault is what happens to one write.
type fault int

const (
	none       fault = iota
	limited          // 429 for this conversation
	everywhere       // 429 for the whole channel
	lost             // applied, and the answer lost
	dropped          // not applied, and the answer lost
	refused          // 400
	goneAway         // the message was deleted
	tooLong          // 400
	moved            // the chat has a new id
	thrownOut        // 403
)

// message is what people see.
type message struct {
	id, text, status string
	draft            bool
	nonce            string
	writes           []time.Time
}

// platform is a channel in memory that behaves: it refuses what is too long,
// empty or unknown, keeps order, and fails as told.
type platform struct {
	limits  channels.Limits
	latency time.Duration
	dedupes bool                       // a nonce seen before returns the message that is there
	global  func() *channels.SendError // the whole channel's limit

	mu       sync.Mutex
	script   []fault // for the next writes
	chat     string
	messages []*message
	writes   []time.Time
	edits    int
	posts    int
	ids      int
	broken   []string // what a real platform would hold against us
	typings  []time.Time
	deleted  int
}

func newPlatform() *platform {
	return &platform{chat: "c", limits: channels.Limits{
		Text: 4096, Measure: markdown.UTF16Len, FirstAfter: 700 * time.Millisecond, MinFirst: 24, EditEvery: time.Second,
	}}
}

func (p *platform) Name() string                                       { return "fake" }
func (p *platform) Receive(ctx context.Context, _ channels.Host) error { <-ctx.Done(); return nil }
func (p *platform) Limits(channels.Target) channels.Limits             { return p.limits }
func (p *platform) target() channels.Target {
	return channels.Target{Conversation: "fake:c", Chat: "c", ReplyTo: "m1"}
}

// begin takes the next fault. A non-nil error ends the write unapplied.
func (p *platform) begin(to channels.Target) (fault, error) {
	f := none
	if len(p.script) > 0 {
		f, p.script = p.script[0], p.script[1:]
	}
	p.writes = append(p.writes, time.Now())
	reject := func(e channels.SendError) error { e.Err = errors.New("no"); return &e }
	switch f {
	case moved:
		p.chat += "'"
	case limited:
		return f, reject(channels.SendError{Outcome: channels.RateLimited, RetryAfter: 3 * time.Second})
	case everywhere:
		return f, reject(channels.SendError{Outcome: channels.RateLimited, RetryAfter: 2 * time.Second, Global: true})
	case dropped:
		return f, reject(channels.SendError{Outcome: channels.Unknown})
	case refused:
		return f, reject(channels.SendError{Outcome: channels.Rejected})
	case tooLong:
		return f, reject(channels.SendError{Outcome: channels.Rejected, Reason: channels.ReasonTooLong})
	case thrownOut:
		return f, reject(channels.SendError{Outcome: channels.Rejected, Reason: channels.ReasonForbidden})
	}
	if to.Chat != p.chat {
		return f, reject(channels.SendError{Outcome: channels.Rejected, Reason: channels.ReasonMigrated, To: p.chat})
	}
	if p.global != nil {
		if e := p.global(); e != nil {
			return f, e
		}
	}
	return f, nil
}

// check notes what a real platform would refuse.
func (p *platform) check(out channels.Outgoing) {
	text := out.Markdown
	if out.Draft {
		text = markdown.Repair(text)
	}
	if markdown.Blank(text) && markdown.Blank(out.Status) {
		p.broken = append(p.broken, fmt.Sprintf("empty message (draft %v) from %q", out.Draft, out.Markdown))
	}
	if n := p.limits.Measure(text); n > p.limits.Text {
		p.broken = append(p.broken, fmt.Sprintf("%d over the limit", n))
	}
	if !out.Draft && out.Status != "" {
		p.broken = append(p.broken, "a final with a status line")
	}
}

func (p *platform) Post(ctx context.Context, to channels.Target, out channels.Outgoing) (string, error) {
	if p.latency > 0 {
		time.Sleep(p.latency)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	p.posts++
	f, err := p.begin(to)
	if err != nil {
		return "", err
	}
	p.check(out)
	for _, m := range p.messages {
		if p.dedupes && m.nonce == out.Nonce {
			return m.id, nil
		}
	}
	p.ids++
	m := &message{id: fmt.Sprint("m", p.ids), text: out.Markdown, status: out.Status, draft: out.Draft, nonce: out.Nonce}
	m.writes = append(m.writes, time.Now())
	p.messages = append(p.messages, m)
	if f == lost {
		return "", &channels.SendError{Err: errors.New("connection reset")}
	}
	return m.id, nil
}

func (p *platform) Edit(ctx context.Context, to channels.Target, id string, out channels.Outgoing) error {
	if p.latency > 0 {
		time.Sleep(p.latency)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.edits++
	f, err := p.begin(to)
	if err != nil {
		return err
	}
	p.check(out)
	if f == goneAway {
		p.drop(id)
	}
	for _, m := range p.messages {
		if m.id == id {
			m.text, m.status, m.draft = out.Markdown, out.Status, out.Draft
			m.writes = append(m.writes, time.Now())
			if f == lost {
				return &channels.SendError{Err: errors.New("connection reset")}
			}
			return nil
		}
	}
	return &channels.SendError{Outcome: channels.Rejected, Reason: channels.ReasonGone, Err: errors.New("no such message")}
}

func (p *platform) drop(id string) {
	for i, m := range p.messages {
		if m.id == id {
			p.messages = append(p.messages[:i:i], p.messages[i+1:]...)
			return
		}
	}
}

func (p *platform) Delete(_ context.Context, _ channels.Target, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deleted++
	p.drop(id)
	return nil
}

func (p *platform) Typing(context.Context, channels.Target) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.typings = append(p.typings, time.Now())
	return 4, nil
}

// reading is what a person reads, a line per message.
func (p *platform) reading() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for _, m := range p.messages {
		line := m.text
		if m.status != "" {
			line += " [" + m.status + "]"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n--\n")
}

// overpaced returns what was written faster than the limits allow.
func (p *platform) overpaced() []string {
	var out []string
	for _, m := range p.messages {
		for i := 1; i < len(m.writes); i++ {
			if gap := m.writes[i].Sub(m.writes[i-1]); gap < p.limits.EditEvery {
				out = append(out, fmt.Sprintf("message %s written twice in %s", m.id, gap))
			}
		}
	}
	if n := p.limits.PerMinute; n > 0 {
		for i := n; i < len(p.writes); i++ {
			if gap := p.writes[i].Sub(p.writes[i-n]); gap < time.Minute {
				out = append(out, fmt.Sprintf("%d writes in %s", n+1, gap))
			}
		}
	}
	return out
}

// prober is a platform that can look a message up by its nonce.
type prober struct{ *platform }

func (p prober) Probe(_ context.Context, _ channels.Target, nonce string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.messages {
		if m.nonce == nonce {
			return m.id, nil
		}
	}
	return "", nil
}

// journal keeps every state that was saved.
type journal struct {
	mu     sync.Mutex
	states []State
	err    error
}

func (j *journal) Save(_ context.Context, s State) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	s.Parts = append([]Part(nil), s.Parts...)
	j.states = append(j.states, s)
	return nil
}

func (j *journal) last() State {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.states) == 0 {
		return State{}
	}
	return j.states[len(j.states)-1]
}
