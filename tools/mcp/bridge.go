package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"clawbot/agentcore"
	"clawbot/tools"
)

var (
	// A name with two underscores, or one at its end, could make a tool's name
	// that is another server's.
	validServer = regexp.MustCompile(`^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*$`)
	notInNames  = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
)

const (
	maxServer      = 30
	maxName        = 64
	maxDescription = 4 << 10
)

// toolName is what the model calls a server's tool. A name that is too long ends
// in a hash of the whole.
func toolName(server, tool string) string {
	name := server + "__" + notInNames.ReplaceAllString(tool, "_")
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(tool))
	return name[:maxName-9] + "_" + hex.EncodeToString(sum[:4])
}

// bridge makes a tool of a server's. An error says what is wrong with it.
func (s *Server) bridge(t *sdk.Tool) (tools.Tool, error) {
	if strings.TrimSpace(t.Name) == "" {
		return tools.Tool{}, errors.New("it has no name")
	}
	schema, err := json.Marshal(t.InputSchema)
	if err != nil {
		return tools.Tool{}, fmt.Errorf("its schema can't be read: %w", err)
	}
	if t.InputSchema == nil {
		schema = []byte(`{"type":"object"}`)
	}
	name := toolName(s.cfg.Name, t.Name)
	if err := usable(schema); err != nil {
		return tools.Tool{}, err
	}
	title := t.Title
	if title == "" && t.Annotations != nil {
		title = t.Annotations.Title
	}
	description := tools.Defuse(strings.ToValidUTF8(t.Description, "\uFFFD"))
	if len(description) > maxDescription {
		description = strings.ToValidUTF8(description[:maxDescription], "") + " …"
	}
	if strings.TrimSpace(description) == "" {
		description = fmt.Sprintf("The tool %q of the server %s.", t.Name, s.cfg.Name)
	}
	out := tools.Tool{
		Descriptor: tools.Descriptor{
			Name: name, Title: oneLine(title), Description: description, InputSchema: schema,
			Owner:    tools.Owner{Kind: tools.MCP, ID: s.cfg.Name},
			Executor: &tools.Executor{Kind: tools.MCP, ID: s.cfg.Name, Name: t.Name},
		},
		Label:      oneLine(s.cfg.Name + ": " + t.Name),
		Mode:       agentcore.Sequential,
		Idempotent: slices.Contains(s.cfg.Idempotent, t.Name),
		Execute:    s.execute(t.Name),
	}
	if s.cfg.Parallel {
		out.Mode = agentcore.Parallel
	}
	return out, nil
}

// usable returns an error for a schema that no call could pass or be checked
// by.
func usable(schema json.RawMessage) error {
	var shape struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(schema, &shape) != nil || shape.Type != "object" {
		return errors.New("its schema is not one of an object")
	}
	if err := agentcore.CheckSchema(schema); err != nil {
		return fmt.Errorf("its schema is none: %w", err)
	}
	return nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// execute returns what calls the server's tool.
func (s *Server) execute(name string) tools.ExecuteFunc {
	return func(ctx context.Context, call agentcore.Call, update func(agentcore.Update)) (agentcore.Result, error) {
		s.mu.Lock()
		session := s.session
		s.mu.Unlock()
		if session == nil {
			return agentcore.Result{}, s.Err()
		}
		params := &sdk.CallToolParams{Name: name, Arguments: call.Arguments}
		token := tools.ScopeOf(ctx).Session + "/" + call.ID
		params.SetProgressToken(token)
		defer s.follow(token, update)()
		bounded, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
		defer cancel()
		result, err := session.CallTool(bounded, params)
		switch {
		case ctx.Err() != nil:
			return agentcore.Result{}, context.Cause(ctx)
		case bounded.Err() != nil:
			return agentcore.Result{}, fmt.Errorf("%s did not answer within %s; whether it did what was asked is unknown", s.cfg.Name, s.cfg.Timeout)
		case err != nil:
			return agentcore.Result{}, s.refusal(err)
		}
		return s.result(result), nil
	}
}

// refusal is a server's error for the model: what the server says in it is text
// from outside.
func (s *Server) refusal(err error) error {
	if said, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return fmt.Errorf("%s refused the call (%d): %s", s.cfg.Name, said.Code, tools.Untrusted("the server "+s.cfg.Name, said.Message))
	}
	return fmt.Errorf("%s: %w", s.cfg.Name, err)
}

// follow passes the progress of one call on until done is called.
func (s *Server) follow(token string, update func(agentcore.Update)) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress[token] = update
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.progress, token)
	}
}

func (s *Server) progressed(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
	p := req.Params
	token, _ := p.ProgressToken.(string)
	s.mu.Lock()
	update := s.progress[token]
	s.mu.Unlock()
	if update == nil {
		return
	}
	text := oneLine(p.Message)
	if p.Total > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%s %.0f%%", text, min(100*p.Progress/p.Total, 100)))
	}
	if text == "" {
		text = fmt.Sprintf("%g", p.Progress)
	}
	update(agentcore.Update{Content: []agentcore.Block{agentcore.Text{Text: text}}})
}

// result is what the model sees of a server's answer.
func (s *Server) result(r *sdk.CallToolResult) agentcore.Result {
	var out agentcore.Result
	out.IsError = r.IsError
	for _, c := range r.Content {
		out.Content = append(out.Content, s.block(c))
	}
	if r.StructuredContent != nil {
		if data, err := json.Marshal(r.StructuredContent); err == nil {
			out.Details = data
			if len(out.Content) == 0 {
				out.Content = append(out.Content, s.text(string(data)))
			}
		}
	}
	if len(out.Content) == 0 {
		out.Content = append(out.Content, agentcore.Text{Text: "(no output)"})
	}
	return out
}

func (s *Server) text(text string) agentcore.Block {
	return agentcore.Text{Text: tools.Untrusted("the server "+s.cfg.Name, text)}
}

func (s *Server) block(c sdk.Content) agentcore.Block {
	switch c := c.(type) {
	case *sdk.TextContent:
		return s.text(c.Text)
	case *sdk.ImageContent:
		return image(c.MIMEType, c.Data)
	case *sdk.AudioContent:
		return note("a sound (%s, %d bytes)", c.MIMEType, len(c.Data))
	case *sdk.ResourceLink:
		return s.text(strings.TrimSpace(fmt.Sprintf("%s: %s\n%s", c.Name, c.URI, c.Description)))
	case *sdk.EmbeddedResource:
		if c.Resource == nil {
			return note("an empty resource")
		}
		if c.Resource.Text != "" {
			return s.text(c.Resource.URI + "\n" + c.Resource.Text)
		}
		return image(c.Resource.MIMEType, c.Resource.Blob)
	}
	return note("content of a kind that is not known here")
}

// image shows pictures that models take, and announces all else.
func image(mimeType string, data []byte) agentcore.Block {
	switch mimeType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return agentcore.Image{MIMEType: mimeType, Data: data}
	}
	return note("data (%s, %d bytes)", mimeType, len(data))
}

func note(format string, args ...any) agentcore.Block {
	return agentcore.Text{Text: oneLine("[" + fmt.Sprintf(format, args...) + "]")}
}
