package mistral

import (
	"context"
	"iter"

	"clawbot/agentcore"
	"clawbot/providers"
)

// Model is one model behind a Mistral endpoint.
type Model struct {
	client   *providers.Client
	traits   providers.Traits
	info     agentcore.ModelInfo
	name     string
	words    words
	segments providers.Segments
	tools    providers.ToolCache
}

var (
	_ agentcore.Model     = (*Model)(nil)
	_ agentcore.Describer = (*Model)(nil)
)

// New returns the model of that name as cfg describes it. It makes no request;
// its error is an *[agentcore.Error] that names the setting to change.
func New(cfg providers.Config, model string) (agentcore.Model, error) {
	return build(cfg, model)
}

func build(cfg providers.Config, model string) (*Model, error) {
	client, err := providers.NewClient(cfg, providers.FormatMistral, model)
	if err != nil {
		return nil, err
	}
	m := &Model{client: client, traits: client.Traits, info: client.Info(), name: model, words: snake}
	if m.traits.CamelCase {
		m.words = camel
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
		out.NewID = newID
		answer, err := m.client.Post(ctx, m.encode(req), nil)
		if err != nil {
			out.Fail(err)
			return
		}
		defer answer.Close()
		d := decoder{model: m, out: out, calls: providers.CallTable{Out: out, Tools: req.Tools}}
		d.run(answer)
	}
}

// newID returns an id that can be sent back as it is.
func newID() string { return providers.ShortID(providers.NewCallID()) }
