package budget

import (
	"slices"

	"clawbot/agentcore"
	"clawbot/providers"
)

const (
	// defaultOutput is what an answer may take where nobody says.
	defaultOutput = 8192
	// bytesPerToken is low, so that hardly any text has more tokens than its
	// length divided by it.
	bytesPerToken = 2
	// imageTokens and documentTokens are the most that vendors count for a
	// picture, and for 50 kB of a document.
	imageTokens, documentTokens = 5000, 3000
	perMessage                  = 12
	// recount is the part by which another model may count more than the one
	// that made the latest call: a fourth.
	recount = 4
	// unasked is what Gemini may think although nobody asked for it.
	unasked = 2048
)

// bounds returns the most tokens that a request and its answer may take.
func bounds(info *agentcore.ModelInfo, req *agentcore.Request) (in, out int64) {
	out = req.MaxTokens
	if out <= 0 {
		out = max(info.MaxOutput, 0)
	}
	if out == 0 {
		out = defaultOutput
	}
	out += thinking(info, req)
	if info.MaxOutput > 0 {
		out = min(out, info.MaxOutput)
	}
	in = input(info, req)
	if info.Window > 0 {
		in = min(in, info.Window)
	}
	return in, out
}

// thinking is what a model may think beyond the answer's limit: with some
// formats it is a limit of its own.
func thinking(info *agentcore.ModelInfo, req *agentcore.Request) int64 {
	if info.Ref.Format != providers.FormatAnthropic && info.Ref.Format != providers.FormatGoogle {
		return 0
	}
	switch req.Thinking {
	case agentcore.ThinkingLow:
		return 2048
	case agentcore.ThinkingMedium:
		return 8192
	case agentcore.ThinkingHigh:
		return 24576
	}
	if info.Ref.Format == providers.FormatGoogle {
		return unasked
	}
	return 0
}

// input goes by what the latest call in the conversation counted, and estimates
// what came after it.
func input(info *agentcore.ModelInfo, req *agentcore.Request) int64 {
	tokens := int64(0)
	for _, m := range slices.Backward(req.Messages) {
		if m.Role == agentcore.RoleAssistant && m.Usage.Total() > 0 && m.Stop != agentcore.StopAborted {
			tokens += m.Usage.Total()
			if m.Model != info.Ref {
				tokens += m.Usage.Total() / recount
			}
			return tokens
		}
		tokens += size(m)
	}
	tokens += int64(len(req.System)/bytesPerToken + perMessage)
	for i := range req.Tools {
		t := &req.Tools[i]
		tokens += int64((len(t.Name)+len(t.Description)+len(t.Schema))/bytesPerToken + perMessage)
	}
	return tokens
}

func size(m *agentcore.Message) int64 {
	tokens, bytes := int64(perMessage), 0
	for _, b := range m.Content {
		switch b := b.(type) {
		case agentcore.Text:
			bytes += len(b.Text)
		case agentcore.Thinking:
			bytes += len(b.Text)
		case agentcore.ToolCall:
			bytes += len(b.Name) + len(b.Arguments)
			tokens += perMessage
		case agentcore.Image:
			tokens += imageTokens
		case agentcore.Document:
			tokens += documentTokens * int64(1+len(b.Data)/50_000)
		}
	}
	return tokens + int64((bytes+bytesPerToken-1)/bytesPerToken)
}
