// Package agentcore is the function-calling agent loop: messages, the events a
// run emits, the double loop with steering and follow-ups, tool execution and
// argument validation.
//
// It knows no channel, no store and no vendor. A program that wants an agent
// brings a [Model] and some [Tool] values and ranges over [Loop.Run]:
//
//	for event, err := range loop.Run(ctx, prompts) {
//		...
//	}
//
// The body of that range statement runs before the loop goes on, so whatever it
// persists is durable before the next step. Only the goroutine that ranges
// ever yields; tools run on goroutines that the loop starts and has always
// awaited by the time the iteration ends. [Agent] is the stateful form for
// programs that would rather subscribe.
//
// Whatever happens, a transcript that a finished run leaves is valid: an
// assistant message holds tool calls only if it ended to use tools, and each of
// them has exactly one result before the next message. The examples show a tool
// of one's own, steering, deferred tools and a hook that blocks.
package agentcore
