package agentcore

// EventType tells the events of a run apart.
type EventType uint8

// The events, in the order of their first appearance in a run.
const (
	AgentStart    EventType = iota + 1
	TurnStart               // a model call and its tools
	MessageStart            // Message: a user message; nil Content for an assistant message still to be streamed
	MessageUpdate           // Delta: one stream event of the open assistant message
	MessageEnd              // Message: finished and immutable
	ToolStart               // Call, with the model's original arguments
	ToolUpdate              // Call, Update
	ToolEnd                 // Call, Result, Executed
	TurnEnd                 // Message, Results
	AgentEnd                // Messages, Err
)

// Event is one step of a run. The order is part of the contract:
//
//	agent_start
//	  turn_start
//	    message_start message_end            each prompt or injected message
//	    message_start message_update* message_end     the assistant
//	    tool_start tool_update* tool_end     sequential: each followed by its
//	    message_start message_end            result; parallel: all starts in
//	                                         source order, ends as they finish,
//	                                         then the results in source order
//	  turn_end
//	agent_end
//
// An event is passed by value; what it points to is shared and immutable.
type Event struct {
	Type    EventType
	Message *Message
	Delta   StreamEvent
	Call    *ToolCall
	Update  *Update
	Result  *Result
	// Executed is false for a call that failed before its tool ran.
	Executed bool
	// Results are the turn's tool result messages (TurnEnd).
	Results []*Message
	// Messages is everything the run added to the transcript (AgentEnd).
	Messages []*Message
	// Err is why the run ended, nil if it ended well (AgentEnd).
	Err *Error
}

// String returns the event's name as the order above spells it.
func (t EventType) String() string {
	switch t {
	case AgentStart:
		return "agent_start"
	case TurnStart:
		return "turn_start"
	case MessageStart:
		return "message_start"
	case MessageUpdate:
		return "message_update"
	case MessageEnd:
		return "message_end"
	case ToolStart:
		return "tool_start"
	case ToolUpdate:
		return "tool_update"
	case ToolEnd:
		return "tool_end"
	case TurnEnd:
		return "turn_end"
	case AgentEnd:
		return "agent_end"
	}
	return "unknown"
}
