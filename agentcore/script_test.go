package agentcore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"

	"clawbot/agentcore"

	"github.com/rogpeppe/go-internal/txtar"
)

// script is a conversation as written.
type script struct {
	options  agentcore.Config
	steerAll bool
	resume   bool
	history  []*agentcore.Message
	prompts  []*agentcore.Message
	turns    map[string][][]string // by model, then by call
	tools    []*scriptTool
	hookFor  map[string][]string // "before NAME" and so on
	on       map[string][]string // event to actions
}

type scriptTool struct {
	name, answers string // answers is the name the deferred tool comes back with
	deferred      bool
	schema        string
	sequential    bool
	prepare       string
	lines         []string
}

func parseScript(t *testing.T, archive *txtar.Archive) script {
	s := script{turns: map[string][][]string{}, hookFor: map[string][]string{}, on: map[string][]string{}}
	s.resume = true
	for _, f := range archive.Files {
		kind, name, _ := strings.Cut(f.Name, " ")
		lines := nonEmpty(string(f.Data))
		switch kind {
		case "loop":
			s.parseOptions(t, lines)
		case "history":
			for _, line := range lines {
				role, text, _ := strings.Cut(line, " ")
				m := user(text)
				m.Role = agentcore.Role(role)
				s.history = append(s.history, m)
			}
		case "prompt":
			s.resume = false
			for _, line := range lines {
				s.prompts = append(s.prompts, user(line))
			}
		case "model":
			s.turns[name] = append(s.turns[name], lines)
		case "tool":
			s.tools = append(s.tools, parseTool(name, lines))
		case "hooks":
			for _, line := range lines {
				s.parseHook(line)
			}
		case "events", "requests":
		default:
			t.Fatalf("unknown section %q", f.Name)
		}
	}
	return s
}

func nonEmpty(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
}

func (s *script) parseOptions(t *testing.T, lines []string) {
	for _, line := range lines {
		name, value, _ := strings.Cut(line, " ")
		n, _ := strconv.Atoi(value)
		switch name {
		case "max_iterations":
			s.options.MaxIterations = n
		case "no_limit_summary":
			s.options.NoLimitSummary = true
		case "sequential":
			s.options.ToolExecution = agentcore.Sequential
		case "max_parallel_tools":
			s.options.MaxParallelTools = n
		case "continue_on_length":
			s.options.ContinueOnLength = true
		case "loop_guard":
			s.options.LoopGuard = n
		case "max_result_bytes":
			s.options.MaxResultBytes = n
		case "steer_all":
			s.steerAll = true
		default:
			t.Fatalf("unknown option %q", line)
		}
	}
}

func parseTool(name string, lines []string) *scriptTool {
	tool := &scriptTool{name: name, answers: name}
	for _, line := range lines {
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "schema":
			tool.schema = rest
		case "sequential":
			tool.sequential = true
		case "prepare":
			tool.prepare = rest
		case "deferred":
			tool.deferred = true
			if as, ok := strings.CutPrefix(rest, "as "); ok {
				tool.answers = as
			}
		default:
			tool.lines = append(tool.lines, line)
		}
	}
	return tool
}

func (s *script) parseHook(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	name, action, _ := strings.Cut(rest, " ")
	if verb == "on" {
		s.on[name] = append(s.on[name], action)
		return
	}
	if verb == "transform" || verb == "followup" || verb == "steering" {
		name, action = "", rest
	}
	key := strings.TrimSpace(verb + " " + name)
	s.hookFor[key] = append(s.hookFor[key], action)
}

// conversationModel plays the model sections of its name.
type conversationModel struct {
	c    *conversation
	name string
}

func (m *conversationModel) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		c := m.c
		n := c.calls[m.name]
		c.calls[m.name]++
		total := 0
		for _, calls := range c.calls {
			total += calls
		}
		c.requests.WriteString(traceRequest(total, m.name, req))
		if n >= len(c.turns[m.name]) {
			yield(agentcore.StreamEvent{}, fmt.Errorf("the script has no turn %d for model %q", n+1, m.name))
			return
		}
		m.play(ctx, c.turns[m.name][n], yield)
	}
}

func (m *conversationModel) play(ctx context.Context, lines []string, yield func(agentcore.StreamEvent, error) bool) {
	index, last, calls := -1, "", 0
	done := agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: agentcore.StopEnd}
	for _, line := range lines {
		verb, rest, _ := strings.Cut(line, " ")
		if verb != last || verb == "call" {
			index++
			last = verb
		}
		ok := true
		switch verb {
		case "text":
			ok = yield(agentcore.StreamEvent{Type: agentcore.StreamText, Index: index, Delta: rest}, nil)
		case "thinking":
			ok = yield(agentcore.StreamEvent{Type: agentcore.StreamThinking, Index: index, Delta: rest}, nil)
		case "call":
			calls++
			part := strings.SplitN(rest, " ", 3)
			ok = yield(agentcore.StreamEvent{Type: agentcore.StreamToolCall, Index: index, ID: strings.Trim(part[0], "-"), Name: part[1]}, nil) &&
				(len(part) < 3 || yield(agentcore.StreamEvent{Type: agentcore.StreamArguments, Index: index, Delta: part[2]}, nil))
		case "restart":
			index, calls = -1, 0
			ok = yield(agentcore.StreamEvent{Type: agentcore.StreamRestart}, nil)
		case "stop":
			done.Stop = agentcore.StopReason(rest)
			calls = 0
		case "error":
			class, message, _ := strings.Cut(rest, " ")
			yield(agentcore.StreamEvent{}, &agentcore.Error{Class: agentcore.ErrorClass(class), Message: message})
			return
		case "until":
			<-ctx.Done()
			yield(agentcore.StreamEvent{}, ctx.Err())
			return
		case "panic":
			panic(rest)
		case "eof":
			return
		default:
			index--
			m.c.act(line)
		}
		if !ok {
			return
		}
	}
	if calls > 0 {
		done.Stop = agentcore.StopToolUse
	}
	yield(done, nil)
}

// build makes the tool; its lines run in order until one ends it.
func (st *scriptTool) build(c *conversation) *agentcore.Tool {
	tool := &agentcore.Tool{Name: st.answers, Schema: json.RawMessage(st.schema)}
	if st.sequential {
		tool.Mode = agentcore.Sequential
	}
	if st.prepare != "" {
		tool.PrepareArguments = func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(st.prepare), nil }
	}
	tool.Execute = func(ctx context.Context, call agentcore.Call, update func(agentcore.Update)) (agentcore.Result, error) {
		c.mu.Lock()
		c.updates[call.ID] = update
		c.mu.Unlock()
		return st.execute(ctx, c, call, update)
	}
	return tool
}

func (st *scriptTool) execute(ctx context.Context, c *conversation, call agentcore.Call, update func(agentcore.Update)) (result agentcore.Result, err error) {
	for _, line := range st.lines {
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "update":
			update(agentcore.Update{Content: []agentcore.Block{agentcore.Text{Text: rest}}})
		case "until":
			if rest == "abort" {
				<-ctx.Done()
				return result, ctx.Err()
			}
			<-c.await(rest)
		case "late":
			id, text, _ := strings.Cut(rest, " ")
			c.mu.Lock()
			late := c.updates[id]
			c.mu.Unlock()
			late(agentcore.Update{Content: []agentcore.Block{agentcore.Text{Text: text}}})
		case "return":
			result.Content = append(result.Content, agentcore.Text{Text: strings.ReplaceAll(rest, "$args", string(call.Arguments))})
		case "repeat": // repeat N TEXT: a long result
			count, text, _ := strings.Cut(rest, " ")
			n, _ := strconv.Atoi(count)
			result.Content = append(result.Content, agentcore.Text{Text: strings.Repeat(text, n)})
		case "terminate":
			result.Terminate = true
		case "iserror":
			result.IsError = true
		case "error":
			return result, errors.New(rest)
		case "panic":
			panic(rest)
		default:
			c.act(line)
		}
	}
	return result, nil
}
