// Package store is the contract of everything clawbot keeps: inboxes, leases
// and transcripts, leadership terms, small state, counters, blobs and the bus.
// memory, sqlite and redis implement it; storetest is the suite they pass.
//
// # One session
//
// A session has an inbox of two lanes and a transcript. Anybody may accept an
// event into the inbox; only the holder of the session's lease moves messages
// from the inbox to the transcript and writes to the transcript.
//
//	            Accept                        Drain
//	platform ──────────► inbox: messages ──────────────► transcript
//	                     inbox: signals  ── Peek ──►      ▲
//	                                      (lease holder)  │ Append, Compact
//
//	         Accept (someone must look: Due)
//	  ┌──────────────────────────────┐
//	  │                              ▼
//	idle ◄── ReleaseIfEmpty ──── held by a lease ──► expired: Acquire takes over,
//	                                 │    ▲           Crashed is set
//	                                 └────┘ Renew
//
// Accept and ReleaseIfEmpty are each atomic, so a message that arrives while a
// holder lets go is seen by one or makes the session due: it is never stranded.
//
// # Fencing and idempotence
//
// Every write of a [Lease] carries its token, whole, and fails with [ErrFenced]
// once somebody else holds the session. Every call is idempotent: made twice
// with the same arguments, because a reply was lost, it leaves the same state
// and returns the same answer.
//
// # Positions
//
// Positions in a transcript are absolute, start at 0 and are never reused.
// Compaction adds a summary entry and raises the generation; it rewrites
// nothing. Inbox positions are absolute per session and lane.
package store
