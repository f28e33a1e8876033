package providertest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"clawbot/agentcore"
)

// requests checks what transcripts become.
func requests(t *testing.T, f Format) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		stream(w, f.Stream(Answer{Text: []string{"ok"}, Stop: agentcore.StopEnd}))
	})
	m := f.build(t, f.config(s.URL))
	n := 0
	// send returns the body that the messages are sent as.
	send := func(t *testing.T, messages ...*agentcore.Message) string {
		t.Helper()
		if got := ask(t.Context(), t, m, &agentcore.Request{Messages: messages, Tools: weatherTool()}); got.err != nil {
			t.Fatal(got.err)
		}
		body := s.body(n)
		n++
		if !json.Valid([]byte(body)) || !utf8.ValidString(body) {
			t.Fatalf("the request is not JSON in UTF-8:\n%q", body)
		}
		return body
	}
	t.Run("an image is sent", func(t *testing.T) {
		msg := userMessage("i1", "look")
		msg.Content = append(msg.Content, agentcore.Image{MIMEType: "image/png", Data: []byte("pixels")})
		if body := send(t, msg); !strings.Contains(body, "cGl4ZWxz") || !strings.Contains(body, "image/png") {
			t.Errorf("the image is missing: %s", body)
		}
	})
	t.Run("an image beyond the limits is scaled", func(t *testing.T) {
		var wide bytes.Buffer
		if err := png.Encode(&wide, image.NewGray(image.Rect(0, 0, 5000, 4))); err != nil {
			t.Fatal(err)
		}
		msg := userMessage("i2", "look")
		msg.Content = append(msg.Content, agentcore.Image{MIMEType: "image/png", Data: wide.Bytes()})
		body := send(t, msg)
		if strings.Contains(body, base64.StdEncoding.EncodeToString(wide.Bytes())) || !strings.Contains(body, "image/") {
			t.Errorf("the image is sent as it is, or not at all: %.500s", body)
		}
	})
	t.Run("half a surrogate pair and broken UTF-8 do no harm", func(t *testing.T) {
		body := send(t, userMessage("s1", "a\xed\xa0\xbdb \xff c\u2028\x00\x1f"))
		if strings.Contains(body, `\ud83d`) || !strings.Contains(body, "ab ") {
			t.Errorf("the text is sent as %s", body)
		}
	})
	t.Run("blank messages are left out", func(t *testing.T) {
		body := send(t, userMessage("b1", "hello"), &agentcore.Message{ID: "b2", Role: agentcore.RoleAssistant, Stop: agentcore.StopEnd,
			Content: []agentcore.Block{agentcore.Text{Text: " \n"}}}, userMessage("b3", "  "), userMessage("b4", "again"))
		if strings.Contains(body, `"  "`) || strings.Contains(body, `" \n"`) || !strings.Contains(body, "again") {
			t.Errorf("sent as %s", body)
		}
	})
	t.Run("an empty transcript is still a request", func(t *testing.T) { send(t) })
	t.Run("a failed answer is not sent back, an aborted one without its calls", func(t *testing.T) {
		call := agentcore.ToolCall{ID: "call00009", Name: "get_weather", Arguments: json.RawMessage(`{"ci`)}
		body := send(t, userMessage("f1", "one"),
			&agentcore.Message{ID: "f2", Role: agentcore.RoleAssistant, Stop: agentcore.StopError, Content: []agentcore.Block{agentcore.Text{Text: "broken answer"}}},
			userMessage("f3", "two"),
			&agentcore.Message{ID: "f4", Role: agentcore.RoleAssistant, Stop: agentcore.StopAborted, Content: []agentcore.Block{agentcore.Text{Text: "half an answer"}, call}},
			userMessage("f5", "three"))
		if strings.Contains(body, "broken answer") || !strings.Contains(body, "half an answer") || strings.Contains(body, "call00009") || strings.Contains(body, `{\"ci`) {
			t.Errorf("sent as %s", body)
		}
	})
	t.Run("a call without a result gets one, a result without a call goes", func(t *testing.T) {
		body := send(t, userMessage("p1", "one"),
			&agentcore.Message{ID: "p2", Role: agentcore.RoleToolResult, ToolCallID: "gone00001", ToolName: "get_weather", Content: []agentcore.Block{agentcore.Text{Text: "stray result"}}},
			assistantCall("p3", "open00001"), userMessage("p4", "two"))
		if strings.Contains(body, "stray result") || !strings.Contains(body, "No result provided") {
			t.Errorf("sent as %s", body)
		}
	})
	t.Run("another vendor's ids and thinking are made fit", func(t *testing.T) {
		foreign := assistantCall("x2", "functions.get_weather:0/with spaces and more than sixty-four characters in all, I think")
		foreign.Model = agentcore.ModelRef{Provider: "other", Format: "other", ID: "other"}
		foreign.Content = append([]agentcore.Block{agentcore.Thinking{Text: "foreign thought", Signature: "foreign-signature"}}, foreign.Content...)
		body := send(t, userMessage("x1", "one"), foreign, &agentcore.Message{ID: "x3", Role: agentcore.RoleToolResult,
			ToolCallID: foreign.ToolCalls()[0].ID, Content: []agentcore.Block{agentcore.Text{Text: "the result"}}}, userMessage("x4", "two"))
		if strings.Contains(body, "foreign-signature") || strings.Contains(body, "with spaces") || !strings.Contains(body, "the result") || strings.Contains(body, "No result provided") {
			t.Errorf("sent as %s", body)
		}
	})
	t.Run("a tool with an impossible name is called by its own", func(t *testing.T) { renamed(t, f) })
	t.Run("a long conversation keeps its prefix from turn to turn", func(t *testing.T) {
		var messages []*agentcore.Message
		last := ""
		for i := range 6 {
			id := fmt.Sprint("k", i)
			messages = append(messages, userMessage(id+"u", "question "+id), assistantCall(id+"a", "call0000"+fmt.Sprint(i)),
				&agentcore.Message{ID: id + "r", Role: agentcore.RoleToolResult, ToolCallID: "call0000" + fmt.Sprint(i), ToolName: "get_weather",
					Content: []agentcore.Block{agentcore.Text{Text: "result " + id}}})
			body := send(t, messages...)
			if last != "" {
				samePrefix(t, last, body)
			}
			last = body
		}
	})
}

func assistantCall(id, call string) *agentcore.Message {
	return &agentcore.Message{ID: id, Role: agentcore.RoleAssistant, Stop: agentcore.StopToolUse,
		Content: []agentcore.Block{agentcore.ToolCall{ID: call, Name: "get_weather", Arguments: json.RawMessage(`{"city":"Lima"}`)}}}
}

// renamed plays a call of a tool whose name no vendor takes.
func renamed(t *testing.T, f Format) {
	const name = "wetter.für/alle"
	wire := ""
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		stream(w, f.Stream(Answer{Calls: []Call{{ID: "call00001", Name: wire, Arguments: []string{`{}`}}}, Stop: agentcore.StopToolUse}))
	})
	tools := weatherTool()
	tools[0].Name = name
	m := f.build(t, f.config(s.URL))
	req := question()
	req.Tools = tools
	ask(t.Context(), t, m, req)
	wire = nameIn(s.body(0))
	if wire == "" || wire == name {
		t.Fatalf("the tool is called %q in %s", wire, s.body(0))
	}
	got := ask(t.Context(), t, m, req)
	if calls := got.message.ToolCalls(); len(calls) != 1 || calls[0].Name != name {
		t.Errorf("the call of %q became %+v (%v)", wire, calls, got.err)
	}
}

// nameIn returns the name of the one tool in a body, which follows "name":.
func nameIn(body string) string {
	_, rest, _ := strings.Cut(body, `"name":"`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}
