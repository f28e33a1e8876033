package providertest

import (
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/providers"
)

// Format is one wire format as the suite sees it.
type Format struct {
	// Name is the format's name in the configuration.
	Name string
	New  func(cfg providers.Config, model string) (agentcore.Model, error)
	// Model is a model id that is passed to New; "m1" if empty.
	Model string
	// Stream renders an answer as the vendor's event stream, one event after
	// each element.
	Stream func(Answer) []string
	// Error renders an error body as the vendor sends it with an HTTP status.
	Error func(message string) string
	// NoThinking says that the format has no thinking, NoRefusal that it has no
	// word for a refusal.
	NoThinking, NoRefusal bool
}

// Answer is what a vendor's model says.
type Answer struct {
	Thinking  string
	Signature string // of the thinking
	Text      []string
	Calls     []Call
	Stop      agentcore.StopReason // StopEnd, StopToolUse, StopLength or StopRefusal
	Usage     agentcore.Usage
	// Fail, if set, is an error that is sent in the stream instead of its end.
	Fail string
	// Cut leaves the end of the stream out.
	Cut bool
}

// Call is a tool call; its arguments are sent in the given fragments.
type Call struct {
	ID, Name  string
	Arguments []string
}

// config is a provider that talks to url.
func (f Format) config(url string) providers.Config {
	yes := true
	return providers.Config{
		Name: "acme", Format: f.Name, BaseURL: url, APIKeys: []string{testKey}, IdleTimeout: 20 * time.Second,
		Models: map[string]providers.ModelSettings{f.model(): {Window: 100_000, Images: &yes}},
	}
}

// testKey is found in no error and no log.
const testKey = "sk-test-0123456789abcdef"

func (f Format) model() string {
	if f.Model == "" {
		return "m1"
	}
	return f.Model
}

func (f Format) build(t testing.TB, cfg providers.Config) agentcore.Model {
	t.Helper()
	m, err := f.New(cfg, f.model())
	if err != nil {
		t.Fatal(err)
	}
	return m
}
