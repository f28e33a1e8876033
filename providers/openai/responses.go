package openai

import (
	"clawbot/agentcore"
	"clawbot/providers"
)

func (m *Model) encodeResponses(req *agentcore.Request) providers.Body { return nil }

func (m *Model) decodeResponses(req *agentcore.Request, out *providers.Emitter, answer *providers.Answer) {
}
