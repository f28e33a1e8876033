package compact

import (
	"slices"
	"time"

	"clawbot/agentcore"
)

// What content costs when nobody has counted: four characters of text are
// about a token, an image about as much as 4,800 characters, a document page
// about as much as 3,000 bytes of its file.
const (
	charsPerToken   = 4
	imageTokens     = 1200
	documentPerByte = 3000
	documentTokens  = 1500
	messageTokens   = 4
)

// Tokens returns how many tokens messages fill: what the last model call
// counted, and an estimate of what came after. Counts of calls made before
// since (a compaction changed the context then) are not used. The cost is that
// of the messages after the last count.
func Tokens(messages []*agentcore.Message, since time.Time) int64 {
	var after int64
	for _, m := range slices.Backward(messages) {
		if counted(m) && !m.Time.Before(since) {
			return m.Usage.Total() + after
		}
		after += Estimate(m)
	}
	return after
}

func counted(m *agentcore.Message) bool {
	return m.Role == agentcore.RoleAssistant && m.Usage.Total() > 0 &&
		m.Stop != agentcore.StopError && m.Stop != agentcore.StopAborted
}

// Estimate returns about how many tokens one message fills.
func Estimate(m *agentcore.Message) int64 {
	chars, tokens := 0, int64(messageTokens)
	for _, b := range m.Content {
		switch b := b.(type) {
		case agentcore.Text:
			chars += len(b.Text)
		case agentcore.Thinking:
			chars += len(b.Text)
		case agentcore.ToolCall:
			chars += len(b.Name) + len(b.Arguments)
		case agentcore.Image:
			tokens += imageTokens
		case agentcore.Document:
			tokens += max(documentTokens*int64(1+len(b.Data)/documentPerByte/10), int64(len(b.Text)/charsPerToken))
		}
	}
	return tokens + int64((chars+charsPerToken-1)/charsPerToken)
}

// Config bounds a context. The zero value takes a window of 128,000 tokens.
type Config struct {
	// Window is the model's context window in tokens; default 128,000.
	Window int64
	// Reserve is what must stay free for the answer; default 16,384, at most
	// half the window.
	Reserve int64
	// KeepRecent is how many tokens of the latest messages a compaction keeps;
	// default 20,000, at most half of what the reserve leaves.
	KeepRecent int64
}

func (c Config) withDefaults() Config {
	if c.Window <= 0 {
		c.Window = 128_000
	}
	if c.Reserve <= 0 {
		c.Reserve = 16_384
	}
	c.Reserve = min(c.Reserve, c.Window/2)
	if c.KeepRecent <= 0 {
		c.KeepRecent = 20_000
	}
	c.KeepRecent = min(c.KeepRecent, (c.Window-c.Reserve)/2)
	return c
}

// Due reports whether a context of that many tokens leaves too little room.
func (c Config) Due(tokens int64) bool {
	c = c.withDefaults()
	return tokens > c.Window-c.Reserve
}

// Cut returns the index of the first message to keep: the messages from there
// on are about KeepRecent tokens. A cut never parts a tool call from its
// result. It is 0 when there is nothing to summarise.
func (c Config) Cut(messages []*agentcore.Message) int {
	c = c.withDefaults()
	var kept int64
	i := len(messages)
	for i > 0 && kept < c.KeepRecent {
		i--
		kept += Estimate(messages[i])
	}
	if kept < c.KeepRecent {
		return 0
	}
	for j := i; j < len(messages); j++ {
		if messages[j].Role != agentcore.RoleToolResult {
			return j
		}
	}
	// The whole tail is results of one call: keep the call with them.
	for i > 0 && messages[i].Role == agentcore.RoleToolResult {
		i--
	}
	return i
}
