package gateway

import (
	"errors"
	"strings"

	"clawbot/agentcore"
	"clawbot/store"
)

// What stands for records that can't be read any more, so that a damaged one
// costs itself and not its session.
const (
	lostMessage = "A message of this conversation can't be read any more and was given up. If it was yours, please send it again."
	lostEntry   = "(This part of the conversation is damaged and can't be read any more.)"
)

// readPayload reads an entry that is no person's message. Of a damaged one it
// returns what keeps the transcript whole; only what a newer program wrote is
// an error.
func readPayload(e store.Entry) (*payload, error) {
	p, err := decodePayload(e.Data)
	if _, newer := errors.AsType[newerError](err); err == nil || newer {
		return p, err
	}
	p = &payload{damaged: true}
	switch e.Kind {
	case store.KindSummary:
		p.Summary = lostEntry
	case store.KindAssistant:
		m := &agentcore.Message{ID: e.ID, Role: agentcore.RoleAssistant, Stop: agentcore.StopEnd, Time: e.At,
			Content: []agentcore.Block{agentcore.Text{Text: lostEntry}}}
		for _, key := range e.Opens {
			m.Stop = agentcore.StopToolUse
			m.Content = append(m.Content, agentcore.ToolCall{ID: callOf(m.ID, key), Name: "unknown", Arguments: []byte("{}")})
		}
		p.Message = m
	case store.KindToolResult:
		p.Message = &agentcore.Message{ID: e.ID, Role: agentcore.RoleToolResult, Time: e.At, IsError: true,
			ToolCallID: e.Closes[strings.IndexByte(e.Closes, '/')+1:], ToolName: "unknown",
			Content: []agentcore.Block{agentcore.Text{Text: lostEntry}}}
	}
	return p, nil
}

// callOf is the call that a key names, see callKey.
func callOf(message, key string) string { return strings.TrimPrefix(key, message+"/") }

// lost is a person's message that can't be read.
func lost(e store.Entry) *inbound {
	return &inbound{V: recordVersion, ID: e.ID, Event: e.ID, Kind: kindLost, Text: lostEntry, At: e.At, position: e.Position}
}

// tellLost tells of messages that turned out to be damaged, and covers them if
// nothing else is to be answered.
func (t *tenure) tellLost() error {
	if !t.lost {
		return nil
	}
	t.lost = false
	if last := t.tr.last; last != nil {
		t.tell(last.Channel, last.Target, last.Sender, "⚠️ "+lostMessage)
	}
	if t.tr.unfinished {
		return nil
	}
	return t.note("", newID(), note{Kind: noteFailed, Text: lostMessage, Final: true})
}
