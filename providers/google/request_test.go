package google

import (
	"encoding/json"
	"strings"
	"testing"

	"clawbot/agentcore"
	"clawbot/providers"
)

func request(t *testing.T, model string, compat providers.Compat, req *agentcore.Request) string {
	t.Helper()
	m, err := build(providers.Config{Name: "g", APIKeys: []string{"k"}, Compat: compat}, model)
	if err != nil {
		t.Fatal(err)
	}
	for _, msg := range req.Messages {
		if msg.Role == agentcore.RoleAssistant && msg.Model == (agentcore.ModelRef{}) {
			msg.Model = m.info.Ref
		}
	}
	body := string(m.encode(req).Bytes())
	if !json.Valid([]byte(body)) {
		t.Fatalf("no JSON: %s", body)
	}
	return body
}

func say(text string) *agentcore.Message {
	return &agentcore.Message{Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Text{Text: text}}}
}

func calls(calls ...agentcore.Block) *agentcore.Message {
	return &agentcore.Message{Role: agentcore.RoleAssistant, Stop: agentcore.StopToolUse, Content: calls}
}

func call(id, signature string) agentcore.ToolCall {
	return agentcore.ToolCall{ID: id, Name: "look", Arguments: json.RawMessage(`{}`), Signature: signature}
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
		{"gemini-2.5-flash", agentcore.ThinkingOff, []string{`"thinkingConfig":{"thinkingBudget":0}`, `"maxOutputTokens":1000,`}},
		{"gemini-2.5-pro", agentcore.ThinkingOff, []string{`"thinkingBudget":128`, `"maxOutputTokens":1128`}},
		{"gemini-2.5-pro", agentcore.ThinkingMedium, []string{`"includeThoughts":true,"thinkingBudget":8192`, `"maxOutputTokens":9192`}},
		{"gemini-3-flash-preview", agentcore.ThinkingOff, []string{`"thinkingConfig":{"thinkingLevel":"minimal"}`}},
		{"gemini-3-pro-preview", agentcore.ThinkingOff, []string{`"thinkingConfig":{"thinkingLevel":"low"}`, `"maxOutputTokens":3048`}},
		{"gemini-3-pro-preview", agentcore.ThinkingMedium, []string{`"includeThoughts":true,"thinkingLevel":"high"`}},
		{"gemini-3.1-pro", agentcore.ThinkingMedium, []string{`"thinkingLevel":"medium"`, "!Budget"}},
		{"gemini-2.0-flash", agentcore.ThinkingHigh, []string{"!thinking", `"maxOutputTokens":1000}`}},
		{"some-model", agentcore.ThinkingOff, []string{"!thinking"}},
		{"some-model", agentcore.ThinkingLow, []string{`"thinkingBudget":2048`}},
	} {
		body := request(t, c.model, providers.Compat{}, &agentcore.Request{MaxTokens: 1000, Thinking: c.level, Messages: []*agentcore.Message{say("q")}})
		expect(t, c.model+" "+string(c.level), body, c.has...)
	}
}

func TestChoicesOfTools(t *testing.T) {
	tools := []agentcore.ToolSpec{{Name: "look"}, {Name: "9 lives"}}
	for choice, want := range map[string]string{
		"": "!toolConfig", "none": `"mode":"NONE"}`, "any": `"mode":"ANY"}`, "look": `"mode":"ANY","allowedFunctionNames":["look"]`,
	} {
		body := request(t, "m", providers.Compat{}, &agentcore.Request{Tools: tools, ToolChoice: choice, Messages: []*agentcore.Message{say("q")}})
		expect(t, choice, body, want, `"name":"_9_lives_`, "!parameters")
	}
	body := request(t, "m", providers.Compat{}, &agentcore.Request{Messages: []*agentcore.Message{say("q")}})
	expect(t, "no tools", body, "!tools", "!toolConfig")
	body = request(t, "m", providers.Compat{}, &agentcore.Request{Messages: []*agentcore.Message{say("q"), calls(call("a", ""), call("b", "")), result("a")}})
	expect(t, "no tools but calls", body, `"functionDeclarations":[{"name":"look","description":"look"}]`, `"mode":"NONE"`)
}

func TestLegacyParametersAreAFlag(t *testing.T) {
	yes := true
	req := &agentcore.Request{Messages: []*agentcore.Message{say("q")}, Tools: []agentcore.ToolSpec{
		{Name: "look", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":["string","null"]}},"additionalProperties":false}`)}}}
	expect(t, "by default", request(t, "m", providers.Compat{}, req), `"parametersJsonSchema":{`, "!\"parameters\"")
	expect(t, "legacy", request(t, "m", providers.Compat{LegacyParameters: &yes}, req), `"parameters":{"properties":{"a":{"nullable":true,"type":"string"}},"type":"object"}`, "!additional", "!JsonSchema")
}

func TestResultsShareOneContentAndErrorsSaySo(t *testing.T) {
	failed := result("b", agentcore.Text{Text: "no"})
	failed.IsError = true
	body := request(t, "gemini-2.5-flash", providers.Compat{}, &agentcore.Request{Messages: []*agentcore.Message{
		say("q"), calls(call("a", ""), call("b", ""), call("c", "")), failed, result("a", agentcore.Text{Text: "yes"}), say("also"), say("and")}})
	expect(t, "results", body, `{"role":"user","parts":[{"functionResponse":{"id":"a","name":"look","response":{"output":"yes"}}},`+
		`{"functionResponse":{"id":"b","name":"look","response":{"error":"no"}}},{"functionResponse":{"id":"c","name":"look","response":{"error":"No result provided"}}}]},`+
		`{"role":"user","parts":[{"text":"also"}]},{"role":"user","parts":[{"text":"and"}]}]`)
}

func TestIDsAreOnCallsAndResultsOrOnNeither(t *testing.T) {
	messages := func(id string, of agentcore.ModelRef) []*agentcore.Message {
		m := calls(call(id, ""))
		m.Model = of
		return []*agentcore.Message{say("q"), m, result(id)}
	}
	other := agentcore.ModelRef{Provider: "o", Format: "openai", ID: "gpt"}
	for _, c := range []struct {
		name, model string
		messages    []*agentcore.Message
		ids         int
	}{
		{"the server's own", "gemini-3", messages("fc1", agentcore.ModelRef{}), 2},
		{"made up", "gemini-3", messages(providers.NewCallID(), agentcore.ModelRef{}), 0},
		{"another model's", "gemini-3", messages("call_xyz", other), 0},
		{"a vendor that needs them", "claude-x", messages("call|xyz", other), 2},
	} {
		body := request(t, c.model, providers.Compat{}, &agentcore.Request{Messages: c.messages})
		if n := strings.Count(body, `"id":`); n != c.ids {
			t.Errorf("%s: %d ids in %s", c.name, n, body)
		}
	}
}

func TestSignaturesGoBackOnTheirPartToTheSameModelOnly(t *testing.T) {
	own := func() *agentcore.Message {
		return calls(agentcore.Thinking{Text: "hm", Signature: "QQ=="}, agentcore.Thinking{Text: "unsigned"}, agentcore.Text{Text: "a", Signature: "Qg=="},
			call("a", "Qw=="), call("b", ""), agentcore.Thinking{Redacted: true, Signature: "RA=="})
	}
	body := request(t, "gemini-3-pro", providers.Compat{}, &agentcore.Request{Messages: []*agentcore.Message{say("q"), own()}})
	expect(t, "same", body, `{"text":"hm","thought":true,"thoughtSignature":"QQ=="},{"text":"a","thoughtSignature":"Qg=="},`+
		`{"functionCall":{"id":"a","name":"look","args":{}},"thoughtSignature":"Qw=="},{"functionCall":{"id":"b","name":"look","args":{}}},{"text":"","thoughtSignature":"RA=="}]`, "!unsigned")
	foreign := own()
	foreign.Model = agentcore.ModelRef{Provider: "g", Format: "google", ID: "gemini-2.5-pro"}
	body = request(t, "gemini-3-pro", providers.Compat{}, &agentcore.Request{Messages: []*agentcore.Message{say("q"), foreign}})
	expect(t, "another", body, `{"text":"hm"}`, `"args":{}},"thoughtSignature":"`+unsigned+`"},{"functionCall":{"name":"look","args":{}}}]`, "!QQ==", "!Qw==", "!RA==")
	foreign = own()
	foreign.Model = agentcore.ModelRef{Provider: "g", Format: "google", ID: "gemini-3-pro"}
	body = request(t, "gemini-2.5-pro", providers.Compat{}, &agentcore.Request{Messages: []*agentcore.Message{say("q"), foreign}})
	expect(t, "an older one", body, "!thoughtSignature")
	broken := calls(call("a", "not base64!"))
	body = request(t, "gemini-2.5-pro", providers.Compat{}, &agentcore.Request{Messages: []*agentcore.Message{say("q"), broken}})
	expect(t, "what can be no signature", body, "!thoughtSignature")
}

func TestImagesOfResultsGoWhereTheModelTakesThem(t *testing.T) {
	yes := true
	image := agentcore.Image{MIMEType: "image/png", Data: []byte("pixels")}
	for model, want := range map[string]string{
		"gemini-3-flash": `{"functionResponse":{"id":"a","name":"look","response":{"output":"(see attached image)"},"parts":[{"inlineData":{"mimeType":"image/png","data":"cGl4ZWxz"}}]}},` +
			`{"functionResponse":{"id":"b","name":"look","response":{"output":"x"}}}]},`,
		"gemini-2.5-pro": `"response":{"output":"x"}}}]},{"role":"user","parts":[{"text":"Tool result image:"},{"inlineData":{"mimeType":"image/png","data":"cGl4ZWxz"}}]},`,
	} {
		m, err := build(providers.Config{Name: "g", APIKeys: []string{"k"}, Models: map[string]providers.ModelSettings{model: {Images: &yes}}}, model)
		if err != nil {
			t.Fatal(err)
		}
		c := calls(call("a", "QQ=="), call("b", ""))
		c.Model = m.info.Ref
		body := string(m.encode(&agentcore.Request{Messages: []*agentcore.Message{say("q"), c, result("a", image), result("b", agentcore.Text{Text: "x"}), say("n")}}).Bytes())
		expect(t, model, body, want)
	}
}

func TestContentsBeginAndEndWithTheUser(t *testing.T) {
	half := &agentcore.Message{Role: agentcore.RoleAssistant, Stop: agentcore.StopAborted, Content: []agentcore.Block{agentcore.Text{Text: "half"}}}
	body := request(t, "m", providers.Compat{}, &agentcore.Request{Messages: []*agentcore.Message{half}})
	expect(t, "only an answer", body, `"contents":[{"role":"user","parts":[{"text":"(conversation continued)"}]},{"role":"model","parts":[{"text":"half"}]},{"role":"user","parts":[{"text":"Go on."}]}]`)
	body = request(t, "m", providers.Compat{}, &agentcore.Request{Messages: []*agentcore.Message{say("q"), half, calls(call("a", "")), result("a")}})
	expect(t, "answers in a row", body, `{"role":"model","parts":[{"text":"half"},{"functionCall":{`)
}

func TestTheKeyIsInAHeaderAndNeverInTheURL(t *testing.T) {
	m, err := build(providers.Config{Name: "g", APIKeys: []string{"AIza-secret"}}, "gemini-2.5-flash")
	if err != nil || m.traits.AuthHeader != "x-goog-api-key" {
		t.Errorf("%q, %v", m.traits.AuthHeader, err)
	}
	if _, err := build(providers.Config{Name: "g"}, "gemini-2.5-flash"); err == nil || !strings.Contains(err.Error(), "GEMINI_API_KEY") {
		t.Errorf("without a key: %v", err)
	}
}
