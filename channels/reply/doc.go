// Package reply delivers one run's reply to one conversation: what the agent
// says so far becomes a message that is edited as it grows, at the pace the
// platform allows, and rolls over into a next message at a block boundary.
package reply
