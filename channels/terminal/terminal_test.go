package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"clawbot/agentcore"
	"clawbot/channels"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeHost hands each accepted text to react, which publishes live events or
// posts notices as the gateway would.
type fakeHost struct {
	channel *Channel
	react   func(h *fakeHost, text string) error

	mu       sync.Mutex
	accepted []channels.Inbound
	fn       func(string, []byte)
	seq      int64
	at       time.Time
}

func (h *fakeHost) Accept(_ context.Context, in channels.Inbound) error {
	h.mu.Lock()
	h.accepted = append(h.accepted, in)
	h.mu.Unlock()
	return h.react(h, in.Text)
}
func (h *fakeHost) Get(context.Context, string) ([]byte, error)   { return nil, nil }
func (h *fakeHost) Put(context.Context, string, []byte) error     { return nil }
func (h *fakeHost) Publish(context.Context, string, []byte) error { return nil }
func (h *fakeHost) Subscribe(topic string, fn func(string, []byte)) (func(), error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if topic != channels.LiveTopic(h.channel.Conversation()) {
		return nil, errors.New("wrong topic " + topic)
	}
	h.fn = fn
	return func() {}, nil
}

// publish sends live events, a tenth of a second apart.
func (h *fakeHost) publish(events ...channels.LiveEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ev := range events {
		h.seq++
		h.at = h.at.Add(100 * time.Millisecond)
		ev.Seq, ev.At, ev.Run = h.seq, h.at, "r"
		data, err := json.Marshal(ev)
		if err != nil {
			panic(err)
		}
		h.fn("", data)
	}
}

func (h *fakeHost) texts() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, in := range h.accepted {
		out = append(out, in.Text)
	}
	return out
}

func message(m *agentcore.Message) channels.LiveEvent {
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return channels.LiveEvent{Type: "message", Message: data}
}

func assistant(text string, usage agentcore.Usage, calls ...string) channels.LiveEvent {
	m := &agentcore.Message{ID: "a", Role: agentcore.RoleAssistant, Stop: agentcore.StopEnd, Usage: usage}
	if text != "" {
		m.Content = append(m.Content, agentcore.Text{Text: text})
	}
	for _, c := range calls {
		m.Stop = agentcore.StopToolUse
		m.Content = append(m.Content, agentcore.ToolCall{ID: c, Name: c, Arguments: json.RawMessage(`{}`)})
	}
	return message(m)
}

func toolResult(name string) channels.LiveEvent {
	return message(&agentcore.Message{ID: "t", Role: agentcore.RoleToolResult, ToolCallID: name, ToolName: name})
}

var (
	runStart = channels.LiveEvent{Type: "run_start"}
	runEnd   = channels.LiveEvent{Type: "run_end"}
)

func delta(offset int, text string) channels.LiveEvent {
	return channels.LiveEvent{Type: "text", Offset: offset, Text: text}
}

// talk runs a channel to its end and returns what it wrote.
func talk(t *testing.T, cfg Config, react func(h *fakeHost, text string) error) (out, errs string, host *fakeHost, result error) {
	t.Helper()
	var o, e bytes.Buffer
	cfg.Out, cfg.Err = &o, &e
	c := New(cfg)
	host = &fakeHost{channel: c, react: react}
	ctx, cancel := context.WithCancel(t.Context())
	received := make(chan error, 1)
	go func() { received <- c.Receive(ctx, host) }()
	<-c.Done()
	cancel()
	if err := <-received; err != nil {
		t.Errorf("Receive() = %v", err)
	}
	return o.String(), e.String(), host, c.Result()
}

func twoTurns(h *fakeHost, _ string) error {
	h.publish(runStart,
		delta(0, "Let me "), delta(7, "look."),
		assistant("Let me look.", agentcore.Usage{Input: 100, Output: 7}, "read_file"),
		channels.LiveEvent{Type: "tool_start", Call: &channels.LiveCall{ID: "1", Name: "read_file", Arguments: json.RawMessage(`{"path":"a"}`)}},
		channels.LiveEvent{Type: "tool_end", Call: &channels.LiveCall{ID: "1", Name: "read_file", IsError: true, Output: "no\nsuch file"}},
		toolResult("read_file"),
		delta(0, "It is "), delta(6, "empty."),
		assistant("It is empty.", agentcore.Usage{Input: 32, CacheRead: 280, Output: 42}), runEnd)
	return nil
}

func TestOneMessageGetsTheAnswerAloneOnStdout(t *testing.T) {
	out, errs, host, err := talk(t, Config{Once: "what is in a?"}, twoTurns)
	if out != "It is empty.\n" || errs != "" || err != nil {
		t.Errorf("stdout %q, stderr %q, result %v", out, errs, err)
	}
	in := host.accepted[0]
	if in.Target.Conversation != "terminal:local" || !in.Addressed || !in.Target.Direct || in.Sender.ID != User || in.EventID == "" {
		t.Errorf("inbound %+v", in)
	}
}

func TestVerboseWritesALinePerTurn(t *testing.T) {
	_, errs, _, _ := talk(t, Config{Once: "x", Verbose: true}, twoTurns)
	want := "turn 1 stop=toolUse tools=read_file in=100 cached=0 out=7 0.3s\nturn 2 stop=stop tools=- in=312 cached=280 out=42 0.3s\n"
	if errs != want {
		t.Errorf("stderr %q\nwant   %q", errs, want)
	}
}

func TestAFailedRunGivesWhatThereIsAndTheError(t *testing.T) {
	out, _, _, err := talk(t, Config{Once: "x"}, func(h *fakeHost, _ string) error {
		h.publish(runStart, assistant("So far.", agentcore.Usage{}), channels.LiveEvent{Type: "run_end", Error: "limit", Text: "Reached the limit of 3 model calls"})
		return nil
	})
	if out != "So far.\n" || err == nil || err.Error() != "Reached the limit of 3 model calls" {
		t.Errorf("stdout %q, result %v", out, err)
	}
}

func TestAMessageThatIsNotTakenFails(t *testing.T) {
	_, _, _, err := talk(t, Config{Once: "x"}, func(*fakeHost, string) error { return errors.New("disk full") })
	if err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("result %v", err)
	}
}

func TestAReadingCommandIsAnsweredWithoutARun(t *testing.T) {
	out, _, _, err := talk(t, Config{Once: "/help"}, func(h *fakeHost, _ string) error {
		_, err := h.channel.Post(context.Background(), channels.Target{}, channels.Outgoing{Markdown: "I am help."})
		return err
	})
	if out != "I am help.\n" || err != nil {
		t.Errorf("stdout %q, result %v", out, err)
	}
}

func TestLinesFromAPipeWaitForTheAnswerBeforeThem(t *testing.T) {
	in := "first\nsecond \\\ngoes on\n\n/stop\nlast"
	out, _, host, err := talk(t, Config{In: strings.NewReader(in)}, func(h *fakeHost, text string) error {
		if text == "/stop" {
			go func() {
				_, _ = h.channel.Post(context.Background(), channels.Target{}, channels.Outgoing{Markdown: "Idle."})
			}()
			return nil
		}
		go h.publish(runStart, delta(0, "wrong"), channels.LiveEvent{Type: "text_reset"}, delta(0, "To "),
			assistant("To "+text+"\x1b[31m", agentcore.Usage{}), runEnd)
		return nil
	})
	want := "To first\x1b[31m\nTo second \ngoes on\x1b[31m\nIdle.\nTo last\x1b[31m\n"
	if out != want || err != nil {
		t.Errorf("stdout %q, want %q; %v", out, want, err)
	}
	if got := strings.Join(host.texts(), "|"); got != "first|second \ngoes on|/stop|last" {
		t.Errorf("accepted %q", got)
	}
}

func TestATerminalShowsTextAsItGrowsAndMendsWhatWasLost(t *testing.T) {
	out, errs, _, _ := talk(t, Config{In: strings.NewReader("hi\n"), OutTTY: true, ErrTTY: true}, func(h *fakeHost, _ string) error {
		go h.publish(runStart,
			delta(0, "One "), delta(4, "two"), delta(9, "lost before"),
			assistant("One two, three\x1b]0;title\a.", agentcore.Usage{}, "read_file"),
			channels.LiveEvent{Type: "tool_start", Call: &channels.LiveCall{Name: "read_file", Label: "Read: a\x1b[2J"}},
			delta(0, "wrong"), channels.LiveEvent{Type: "text_reset"}, delta(0, "right "), delta(6, "off"),
			channels.LiveEvent{Type: "text_reset"}, delta(0, "right"), delta(5, " once"),
			assistant("right once", agentcore.Usage{}), runEnd)
		return nil
	})
	if want := "One two, three]0;title.\nwrong\nright off\nright once\n"; out != want {
		t.Errorf("stdout %q, want %q", out, want)
	}
	if !strings.Contains(errs, "· Read: a") || strings.Contains(errs, "\x1b") {
		t.Errorf("stderr %q", errs)
	}
}

func TestLinesThatArePastedTogetherAreOneMessage(t *testing.T) {
	_, _, host, _ := talk(t, Config{In: strings.NewReader("one\ntwo\n\nthree\n"), InTTY: true}, func(h *fakeHost, _ string) error {
		h.publish(runStart, runEnd)
		return nil
	})
	if got := host.texts(); len(got) != 1 || got[0] != "one\ntwo\n\nthree" {
		t.Errorf("accepted %q", got)
	}
}

func TestCtrlCStopsTheRunAndTwiceLeaves(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	interrupts := make(chan struct{})
	var errs bytes.Buffer
	c := New(Config{In: r, InTTY: true, Err: &errs, Interrupts: interrupts})
	stopped := make(chan struct{})
	host := &fakeHost{channel: c, react: func(h *fakeHost, text string) error {
		if text == "/stop" {
			close(stopped)
			return nil
		}
		h.publish(runStart)
		go func() { interrupts <- struct{}{} }()
		return nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	received := make(chan error, 1)
	go func() { received <- c.Receive(ctx, host) }()
	if _, err := io.WriteString(w, "work\n"); err != nil {
		t.Fatal(err)
	}
	<-stopped
	select {
	case <-c.Done():
		t.Fatal("the first Ctrl-C ended the conversation")
	default:
	}
	interrupts <- struct{}{}
	<-c.Done()
	if !errors.Is(c.Result(), ErrInterrupted) {
		t.Errorf("result %v", c.Result())
	}
	cancel()
	if err := <-received; err != nil {
		t.Error(err)
	}
}
