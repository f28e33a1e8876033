package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// googleRequest has the fields of Gemini's generateContent that a chat uses. The
// API is a protocol buffer behind JSON: it refuses any field that it does not
// know.
type googleRequest struct {
	SystemInstruction *googleContent  `json:"systemInstruction"`
	Contents          []googleContent `json:"contents"`
	Tools             []struct {
		FunctionDeclarations []struct {
			Name                 string          `json:"name"`
			Description          string          `json:"description"`
			Parameters           json.RawMessage `json:"parameters"`
			ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	ToolConfig *struct {
		FunctionCallingConfig struct {
			Mode                 string   `json:"mode"`
			AllowedFunctionNames []string `json:"allowedFunctionNames"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	GenerationConfig struct {
		MaxOutputTokens int64    `json:"maxOutputTokens"`
		Temperature     *float64 `json:"temperature"`
		ThinkingConfig  *struct {
			IncludeThoughts bool   `json:"includeThoughts"`
			ThinkingBudget  *int64 `json:"thinkingBudget"`
			ThinkingLevel   string `json:"thinkingLevel"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

type googleContent struct {
	Role  string       `json:"role"`
	Parts []googlePart `json:"parts"`
}

type googlePart struct {
	Text             *string `json:"text"`
	Thought          bool    `json:"thought"`
	ThoughtSignature []byte  `json:"thoughtSignature"`
	InlineData       *struct {
		MIMEType string `json:"mimeType"`
		Data     []byte `json:"data"`
	} `json:"inlineData"`
	FunctionCall *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	FunctionResponse *struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Response struct {
			Output *string `json:"output"`
			Error  *string `json:"error"`
		} `json:"response"`
		Parts []json.RawMessage `json:"parts"`
	} `json:"functionResponse"`
}

// parseGoogle reads a streamGenerateContent request, whose path names the model.
func parseGoogle(req *Request) error {
	var in googleRequest
	decoder := json.NewDecoder(bytes.NewReader(req.Body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return &refusal{400, "Invalid JSON payload received. " + err.Error()}
	}
	_, model, _ := strings.Cut(req.Path, "/models/")
	req.Model, _, _ = strings.Cut(model, ":")
	req.Stream = strings.HasSuffix(req.Path, ":streamGenerateContent")
	req.MaxTokens = in.GenerationConfig.MaxOutputTokens
	if in.SystemInstruction != nil {
		for _, p := range in.SystemInstruction.Parts {
			req.System = strings.TrimSpace(req.System + "\n\n" + *p.Text)
		}
	}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			schema := f.ParametersJSONSchema
			if len(schema) == 0 {
				schema = f.Parameters
			}
			req.Tools = append(req.Tools, Tool{f.Name, f.Description, schema})
		}
	}
	if in.ToolConfig != nil && in.ToolConfig.FunctionCallingConfig.Mode == "NONE" {
		req.Tools = nil
	}
	g := googleReader{req: req}
	for i, c := range in.Contents {
		if err := g.content(i, c); err != nil {
			return err
		}
	}
	if len(g.open) > 0 || g.last != "user" {
		return &refusal{400, "Please ensure that multiturn requests end with a user role or a function response."}
	}
	return req.check()
}

// googleReader turns contents into messages.
type googleReader struct {
	req  *Request
	open []Call // of the model's last content
	bare []bool // which of them have no id on the wire
	last string
}

func (g *googleReader) content(i int, c googleContent) error {
	switch {
	case len(c.Parts) == 0:
		return &refusal{400, fmt.Sprintf("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.", i)}
	case c.Role == "user":
		return g.user(i, c.Parts)
	case c.Role == "model":
		return g.model(i, c.Parts)
	}
	return &refusal{400, "Please use a valid role: user, model."}
}

func (g *googleReader) user(i int, parts []googlePart) error {
	out := Message{Role: "user"}
	var results []Message
	for _, p := range parts {
		switch {
		case p.FunctionResponse != nil:
			n, r := len(results), p.FunctionResponse
			if n >= len(g.open) || r.Name != g.open[n].Name || (r.ID == "") != g.bare[n] || r.ID != "" && r.ID != g.open[n].ID {
				return &refusal{400, fmt.Sprintf("the function response %d of content %d does not match its function call", n, i)}
			}
			text := r.Response.Output
			if text == nil {
				text = r.Response.Error
			}
			if text == nil {
				return &refusal{400, "a function response has neither output nor error"}
			}
			results = append(results, Message{Role: "tool", ToolCallID: g.open[n].ID, Text: *text, IsError: r.Response.Error != nil, Images: len(r.Parts)})
		case p.InlineData != nil:
			out.Images++
		case p.Text != nil:
			out.Text += *p.Text
		}
	}
	if len(results) != len(g.open) {
		return &refusal{400, "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."}
	}
	g.open, g.bare, g.last = nil, nil, "user"
	g.req.Messages = append(g.req.Messages, results...)
	if out.Text != "" || out.Images > 0 {
		g.req.Messages = append(g.req.Messages, out)
	}
	return nil
}

func (g *googleReader) model(i int, parts []googlePart) error {
	out := Message{Role: "assistant"}
	for n, p := range parts {
		switch {
		case p.FunctionCall != nil:
			call := Call{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Arguments: string(p.FunctionCall.Args)}
			g.bare = append(g.bare, call.ID == "")
			if call.ID == "" {
				call.ID = fmt.Sprintf("%d.%d", i, n)
			}
			out.Calls = append(out.Calls, call)
		case p.Text != nil && p.Thought:
			out.Thinking += *p.Text
		case p.Text != nil:
			out.Text += *p.Text
		}
	}
	if len(out.Calls) > 0 && g.last != "user" || len(g.open) > 0 {
		return &refusal{400, "Please ensure that function call turn comes immediately after a user turn or after a function response turn."}
	}
	g.open, g.last = out.Calls, "model"
	g.req.Messages = append(g.req.Messages, out)
	return nil
}
