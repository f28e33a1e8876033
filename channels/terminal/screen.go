package terminal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"clawbot/agentcore"
	"clawbot/channels"
)

// screen writes what happens.
type screen struct {
	cfg *Config

	// text is the open assistant message as far as it was streamed, visible
	// what is written of it.
	text, visible string
	// open is set while the cursor stands behind text.
	open bool
	// prompted is set while the last thing written is the prompt.
	prompted bool

	turns turns
	// answer is the text since the last tool call of the run, for Once.
	answer string
	// failed is why the last run did not end well.
	failed string
}

func newScreen(cfg *Config) *screen { return &screen{cfg: cfg} }

// live reports whether text is written as it grows.
func (s *screen) live() bool { return s.cfg.OutTTY && s.cfg.Once == "" }

func (s *screen) greet(name string) {
	if s.cfg.InTTY && s.cfg.OutTTY {
		s.dim(s.cfg.Out, name+" is here. /help for commands, Ctrl-C stops, Ctrl-D leaves.\n")
	}
	s.prompt()
}

func (s *screen) prompt() {
	if s.cfg.InTTY && s.cfg.OutTTY && s.cfg.Once == "" && !s.prompted {
		s.newline()
		s.print("> ")
		s.prompted = true
	}
}

// entered notes that the person has ended the prompt's line.
func (s *screen) entered() { s.prompted = false }

// event draws one live event.
func (s *screen) event(ev *channels.LiveEvent) {
	switch ev.Type {
	case "run_start":
		s.turns.start(ev.At)
		s.answer, s.failed = "", ""
		s.text, s.visible = "", ""
	case "text":
		s.delta(ev)
	case "text_reset":
		s.text = "" // begun anew, perhaps with the same words
	case "message":
		s.message(ev)
	case "tool_start":
		s.toolStart(ev.Call)
	case "tool_end":
		s.toolEnd(ev.Call)
	case "notice":
		s.notice(ev.Text)
	case "run_end":
		s.end(ev)
	}
}

// delta appends to the open message. When one was lost, the finished message
// mends it.
func (s *screen) delta(ev *channels.LiveEvent) {
	if !s.live() || ev.Offset != len(s.text) {
		return
	}
	s.text += ev.Text
	if !strings.HasPrefix(s.visible, s.text) {
		s.show(s.text)
	}
}

// show makes text visible: what is missing of it or, since what is written
// stays, all of it once more.
func (s *screen) show(text string) {
	rest, ok := strings.CutPrefix(text, s.visible)
	if !ok {
		s.newline()
		s.note("(once more)")
		rest = text
	}
	s.write(rest)
	s.visible = text
}

func (s *screen) message(ev *channels.LiveEvent) {
	var m agentcore.Message
	if json.Unmarshal(ev.Message, &m) != nil {
		return
	}
	switch m.Role {
	case agentcore.RoleToolResult:
		s.turns.begin(ev.At)
	case agentcore.RoleAssistant:
		text := m.Text()
		if len(m.ToolCalls()) > 0 {
			s.answer = ""
		} else {
			s.answer += text
		}
		s.settle(text)
		if s.cfg.Verbose {
			s.newline()
			fmt.Fprintln(s.cfg.Err, s.turns.line(&m, ev.At))
		}
		s.turns.begin(ev.At)
	}
}

// settle makes what is written the message's exact text.
func (s *screen) settle(text string) {
	if s.cfg.Once == "" && strings.TrimRight(text, " \n") != strings.TrimRight(s.visible, " \n") {
		s.show(text)
	}
	s.text, s.visible = "", ""
	s.newline()
}

func (s *screen) toolStart(call *channels.LiveCall) {
	if call == nil || !s.cfg.ErrTTY {
		return
	}
	line := call.Label
	if line == "" || line == call.Name {
		line = strings.TrimSpace(call.Name + " " + string(call.Arguments))
	}
	s.newline()
	s.dim(s.cfg.Err, "· "+oneLine(line, 100)+"\n")
}

func (s *screen) toolEnd(call *channels.LiveCall) {
	if call == nil || !call.IsError || !s.cfg.ErrTTY {
		return
	}
	s.newline()
	s.dim(s.cfg.Err, "· "+call.Name+" failed: "+oneLine(call.Output, 100)+"\n")
}

func (s *screen) end(ev *channels.LiveEvent) {
	s.newline()
	s.text, s.visible = "", ""
	why := ev.Text
	if why == "" {
		why = ev.Error
	}
	switch {
	case why == "":
	case ev.Error != "" && s.cfg.Once != "":
		s.failed = why // told as the program's error
	default:
		s.note(why)
	}
}

// notice shows a text of the bot's own. As the only thing that a message led to
// it is the answer.
func (s *screen) notice(text string) {
	if s.cfg.Once != "" {
		s.answer += text
		return
	}
	s.newline()
	s.write(text)
	s.newline()
}

// note says something about the conversation, beside it.
func (s *screen) note(text string) {
	s.newline()
	s.dim(s.cfg.Err, text+"\n")
}

// close writes what is still to be written.
func (s *screen) close() {
	if s.cfg.Once != "" && s.answer != "" {
		s.write(s.answer)
	}
	s.newline()
	if s.prompted {
		s.print("\n")
	}
}

// failure is why the one message got no whole answer.
func (s *screen) failure() error {
	if s.cfg.Once == "" || s.failed == "" {
		return nil
	}
	return errors.New(s.failed)
}

// write puts text at the cursor.
func (s *screen) write(text string) {
	if text == "" {
		return
	}
	if s.prompted {
		s.print("\r\x1b[K")
		s.prompted = false
	}
	if s.cfg.OutTTY {
		text = printable(text)
	}
	s.print(text)
	s.open = !strings.HasSuffix(text, "\n")
}

// newline ends an open line.
func (s *screen) newline() {
	if s.open {
		s.print("\n")
		s.open = false
	}
}

// print writes to Out. A broken pipe is found out when the program ends.
func (s *screen) print(text string) { _, _ = io.WriteString(s.cfg.Out, text) }

func (s *screen) dim(w io.Writer, text string) {
	if s.prompted {
		s.print("\r\x1b[K")
		s.prompted = false
	}
	tty := w == s.cfg.Out && s.cfg.OutTTY || w == s.cfg.Err && s.cfg.ErrTTY
	if tty {
		text = printable(text)
		if s.cfg.Color {
			text = "\x1b[2m" + strings.TrimSuffix(text, "\n") + "\x1b[0m\n"
		}
	}
	_, _ = io.WriteString(w, text)
}

// printable takes out what would steer a terminal: a model or a tool must not
// move the cursor, set the title or write to the clipboard.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

func oneLine(text string, limit int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return string(runes)
}
