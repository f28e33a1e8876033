package mistral

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"clawbot/agentcore"
	"clawbot/providers"
)

func request(t *testing.T, model string, compat providers.Compat, req *agentcore.Request) string {
	t.Helper()
	m, err := build(providers.Config{Name: "m", APIKeys: []string{"k"}, Compat: compat}, model)
	if err != nil {
		t.Fatal(err)
	}
	for _, msg := range req.Messages {
		if msg.Role == agentcore.RoleAssistant && msg.Model == (agentcore.ModelRef{}) {
			msg.Model = m.info.Ref
		}
	}
	body := string(m.encode(req).Bytes())
	if again := string(m.encode(req).Bytes()); again != body || !json.Valid([]byte(body)) {
		t.Fatalf("no JSON, or not the same twice:\n%s\n%s", body, again)
	}
	return body
}

func say(text string) *agentcore.Message {
	return &agentcore.Message{Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Text{Text: text}}}
}

func answered(blocks ...agentcore.Block) *agentcore.Message {
	m := &agentcore.Message{Role: agentcore.RoleAssistant, Stop: agentcore.StopEnd, Content: blocks}
	if len(m.ToolCalls()) > 0 {
		m.Stop = agentcore.StopToolUse
	}
	return m
}

func call(id string) agentcore.ToolCall {
	return agentcore.ToolCall{ID: id, Name: "look", Arguments: json.RawMessage(`{}`)}
}

func result(id string, blocks ...agentcore.Block) *agentcore.Message {
	return &agentcore.Message{Role: agentcore.RoleToolResult, ToolCallID: id, ToolName: "look", Content: blocks}
}

// expect checks what a body has and, after a "!", lacks.
func expect(t *testing.T, name, body string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if missing, not := strings.CutPrefix(part, "!"); strings.Contains(body, missing) == not {
			t.Errorf("%s: %s in\n%s", name, part, body)
		}
	}
}

func TestThinkingIsAskedForAsTheModelTakesIt(t *testing.T) {
	for _, c := range []struct {
		model string
		level agentcore.ThinkingLevel
		has   []string
	}{
		{"magistral-medium-latest", agentcore.ThinkingHigh, []string{`"prompt_mode":"reasoning"`}},
		{"magistral-medium-latest", agentcore.ThinkingOff, []string{"!reasoning"}},
		{"mistral-small-2603", agentcore.ThinkingLow, []string{`"reasoning_effort":"high"`}},
		{"mistral-large-latest", agentcore.ThinkingHigh, []string{"!reasoning"}},
	} {
		warm := 2.0
		body := request(t, c.model, providers.Compat{}, &agentcore.Request{MaxTokens: 10, Temperature: &warm, Thinking: c.level, Messages: []*agentcore.Message{say("q")}})
		expect(t, c.model, body, append(c.has, `"max_tokens":10`, `"temperature":1.5`, "!stream_options")...)
	}
}

func TestCamelCaseIsAFlag(t *testing.T) {
	yes := true
	req := &agentcore.Request{MaxTokens: 10, ToolChoice: "any", Tools: []agentcore.ToolSpec{{Name: "look"}},
		Messages: []*agentcore.Message{say("q"), answered(call("aaaaaaaa1")), result("aaaaaaaa1")}}
	expect(t, "by default", request(t, "m", providers.Compat{}, req), `"tool_choice":"any"`, `"tool_calls":[`, `"tool_call_id":`, "!toolC", "!maxTokens")
	expect(t, "camel case", request(t, "m", providers.Compat{CamelCase: &yes}, req), `"toolChoice":"any"`, `"toolCalls":[`, `"toolCallId":`, `"maxTokens":10`, "!tool_c")
}

func TestResultsSayThatTheyFailedOrAreEmpty(t *testing.T) {
	failed, nothing := result("b", agentcore.Text{Text: "no"}), result("c")
	failed.IsError, nothing.IsError = true, true
	picture := result("d", agentcore.Image{MIMEType: "image/png", Data: []byte("pixels")})
	m, err := build(providers.Config{Name: "m", APIKeys: []string{"k"}}, "mistral-large-latest")
	if err != nil || !m.info.Images {
		t.Fatal("a model that sees is needed", err)
	}
	body := request(t, "mistral-large-latest", providers.Compat{}, &agentcore.Request{Messages: []*agentcore.Message{say("q"),
		answered(call("a"), call("b"), call("c"), call("d"), call("e")), result("a", agentcore.Text{Text: " "}), failed, nothing, picture}})
	expect(t, "results", body, `"content":"(no tool output)"}`, `"content":"[tool error] no"}`, `"content":"[tool error] (no tool output)"}`,
		`"content":[{"type":"text","text":"(see attached image)"},{"type":"image_url","image_url":"data:image/png;base64,cGl4ZWxz"}]}`,
		`"content":"[tool error] No result provided"}]}`)
}

func TestRolesFollowOneAnotherAsTheAPIWants(t *testing.T) {
	body := request(t, "m", providers.Compat{}, &agentcore.Request{System: "s", Messages: []*agentcore.Message{
		say("q"), answered(call("aaaaaaaa1")), result("aaaaaaaa1"), say("also"), say("and")}})
	expect(t, "a user after results", body, `{"role":"assistant","content":"Ok."},{"role":"user","content":"also"},{"role":"user","content":"and"}]`)
	half := answered(agentcore.Text{Text: "half"})
	half.Stop = agentcore.StopAborted
	body = request(t, "m", providers.Compat{}, &agentcore.Request{Messages: []*agentcore.Message{say("q"), half}})
	expect(t, "an assistant at the end", body, `{"role":"assistant","content":"half"},{"role":"user","content":"Go on."}]`)
	body = request(t, "m", providers.Compat{}, &agentcore.Request{System: "s"})
	expect(t, "nobody", body, `"messages":[{"role":"system","content":"s"},{"role":"user","content":"."}]`)
	body = request(t, "m", providers.Compat{}, &agentcore.Request{Messages: []*agentcore.Message{say("q"), answered(call("aaaaaaaa1")), result("aaaaaaaa1")}})
	expect(t, "no tools but calls", body, `"tool_calls":[`, `!"tools"`)
}

func TestThinkingGoesBackToTheModelThatThought(t *testing.T) {
	no := false
	messages := []*agentcore.Message{say("q"), answered(agentcore.Thinking{Text: "hm"}, agentcore.Text{Text: "a"}), say("n")}
	body := request(t, "m", providers.Compat{}, &agentcore.Request{Messages: messages})
	expect(t, "same", body, `{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]}`)
	body = request(t, "m", providers.Compat{ReplayThinking: &no}, &agentcore.Request{Messages: messages})
	expect(t, "switched off", body, `{"role":"assistant","content":"a"}`)
	messages[1].Model = agentcore.ModelRef{Provider: "o", Format: "openai", ID: "x"}
	body = request(t, "m", providers.Compat{}, &agentcore.Request{Messages: messages})
	expect(t, "another", body, `{"role":"assistant","content":"hm\na"}`)
}

var wireIDs = regexp.MustCompile(`"(?:id|tool_call_id)":"([^"]*)"`)

func TestIDsAreNineAlphanumericsAndNeverTheSame(t *testing.T) {
	taken := providers.ShortID("call_1|fc_1") // what the foreign id would become
	var messages []*agentcore.Message
	ids := []string{taken, "call_1|fc_1", "call_2|fc_2", "call_2|fc_2", "aaaaaaaa1", "aaaaaaaa1", "call_1|fc_1"}
	var bodies []string
	for i, id := range ids {
		c, r := answered(call(id)), result(id, agentcore.Text{Text: fmt.Sprint("result ", i)})
		c.ID, r.ID = fmt.Sprint("c", i), fmt.Sprint("r", i)
		messages = append(messages, c, r)
		bodies = append(bodies, request(t, "m", providers.Compat{}, &agentcore.Request{Messages: messages}))
	}
	last := bodies[len(bodies)-1]
	seen := map[string]int{}
	for i, m := range wireIDs.FindAllStringSubmatch(last, -1) {
		if len(m[1]) != 9 || strings.ContainsAny(m[1], "_|-") {
			t.Errorf("id %d is %q", i, m[1])
		}
		if at, ok := seen[m[1]]; ok && at != i-1 {
			t.Errorf("id %d is that of %d", i, at)
		}
		seen[m[1]] = i
	}
	if len(seen) != len(ids) {
		t.Errorf("%d ids for %d calls: %s", len(seen), len(ids), last)
	}
	expect(t, "kept", last, `"id":"`+taken+`"`, `"id":"aaaaaaaa1"`)
	for i := 1; i < len(bodies); i++ {
		if before := strings.TrimSuffix(bodies[i-1], "]}"); !strings.HasPrefix(bodies[i], before) {
			t.Errorf("turn %d changes what was before:\n%s\n%s", i, bodies[i-1], bodies[i])
		}
	}
}

func TestAnIDDependsOnItsTranscriptAlone(t *testing.T) {
	m, err := build(providers.Config{Name: "m", APIKeys: []string{"k"}}, "m")
	if err != nil {
		t.Fatal(err)
	}
	pair := func(id string) []*agentcore.Message {
		c, r := answered(call(id), call(id)), result(id)
		c.ID, r.ID, c.Model = "c"+id, "r"+id, m.info.Ref
		return []*agentcore.Message{c, r}
	}
	usual := providers.ShortID("call_1")
	alone := string(m.encode(&agentcore.Request{Messages: pair("call_1")}).Bytes())
	beside := string(m.encode(&agentcore.Request{Messages: append(pair(usual), pair("call_1")...)}).Bytes())
	again := string(m.encode(&agentcore.Request{Messages: pair("call_1")}).Bytes())
	if n := strings.Count(alone, usual); n != 2 || again != alone {
		t.Errorf("%d times %s in %s, then %s", n, usual, alone, again)
	}
	if n := strings.Count(beside, usual); n != 2 {
		t.Errorf("%s is used by two calls: %s", usual, beside)
	}
}
