package openai

import (
	"context"
	"iter"

	"clawbot/agentcore"
	"clawbot/providers"
)

// Model is one model behind a Chat Completions or a Responses endpoint.
type Model struct {
	client   *providers.Client
	traits   providers.Traits
	info     agentcore.ModelInfo
	name     string
	segments providers.Segments
	tools    providers.ToolCache
	encode   func(*agentcore.Request) providers.Body
	decode   func(*agentcore.Request, *providers.Emitter, *providers.Answer)
}

var (
	_ agentcore.Model     = (*Model)(nil)
	_ agentcore.Describer = (*Model)(nil)
)

// New returns the model of that name as cfg describes it: through Responses if
// cfg.Format says so, else through Chat Completions. It makes no request; its
// error is an *[agentcore.Error] that names the setting to change.
func New(cfg providers.Config, model string) (agentcore.Model, error) {
	return build(cfg, model)
}

func build(cfg providers.Config, model string) (*Model, error) {
	format := providers.FormatOpenAI
	if cfg.Format == providers.FormatResponses {
		format = providers.FormatResponses
	}
	client, err := providers.NewClient(cfg, format, model)
	if err != nil {
		return nil, err
	}
	m := &Model{client: client, traits: client.Traits, info: client.Info(), name: model}
	if format == providers.FormatResponses {
		m.encode, m.decode = m.encodeResponses, m.decodeResponses
	} else {
		m.encode, m.decode = m.encodeChat, m.decodeChat
	}
	return m, nil
}

// Info describes the model.
func (m *Model) Info() agentcore.ModelInfo { return m.info }

// Request returns the body that req is sent as.
func (m *Model) Request(req *agentcore.Request) providers.Body { return m.encode(req) }

// Stream implements [agentcore.Model].
func (m *Model) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		out := providers.NewEmitter(m.client, req, yield)
		answer, err := m.client.Post(ctx, m.encode(req), nil)
		if err != nil {
			out.Fail(err)
			return
		}
		defer answer.Close()
		m.decode(req, out, answer)
	}
}
