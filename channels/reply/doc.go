// Package reply delivers one run's reply to one conversation: what the agent
// says so far becomes a message that is edited as it grows, at the pace the
// platform allows, and rolls over into a next message at a block boundary.
//
// [Reply.Run] is the actor: one goroutine, and one more that keeps the typing
// sign alive until the final, both ended when Run returns. Callers write to a
// buffer and never wait. At each write to the platform the latest state wins;
// drafts may be dropped, finals are tried until they are known to be there:
//
//	text ──► frozen segments ──► a message each, exactly      (reliable, in order)
//	     └─► tail ─────────────► the last message, as a draft (droppable)
//	                             until Finish freezes it, too
//
// A message goes through these outcomes:
//
//	Sending ──► Sent ──► edited until it shows its segment
//	   │ └────► Rejected ──► posted again
//	   └──────► Unknown ──► looked up by its nonce where the platform can; else
//	                        left alone as a draft, sent once more as a final
//
// Only the tail is split and rendered at each edit, so a reply costs its own
// length however long it gets. [Pacer] is shared by the replies on a channel.
package reply
