package slack

import "clawbot/channels"

// target is where an answer to the message ts goes. thread is the root of the
// thread that it is in, if it is; a root that has replies names itself.
//
// A conversation in a channel is a thread, named by its root: a mention at the
// top is the root of the thread that answers it. Direct messages are one
// conversation, and each thread in them another; with direct_threads, a message
// at the top of them is the root of one.
func (c *Channel) target(channel, ts, thread string, direct bool) channels.Target {
	to := channels.Target{Chat: channel, Direct: direct}
	if !direct {
		to.ReplyTo = ts
	}
	switch {
	case thread != "" && thread != ts:
		to.Thread = thread
	case direct && !c.cfg.DirectThreads || !direct && c.replyIn(channel) == ReplyInChannel:
	default:
		to.Thread = ts
	}
	to.Conversation = conversationOf(c.me.Load().team, channel, to.Thread)
	return to
}

// replyIn says where a mention in a channel is answered.
func (c *Channel) replyIn(channel string) string {
	if own := c.cfg.ReplyInRooms[channel]; own != "" {
		return own
	}
	return c.cfg.ReplyIn
}

// conversationOf names a thread's conversation, or a channel's own.
func conversationOf(team, channel, thread string) string {
	name := "slack:" + team + ":" + channel
	if thread != "" {
		name += ":" + thread
	}
	return name
}
