// Package channels is the contract between clawbot and the places people talk
// to it. A child package per platform turns platform events into [Inbound] and
// posts and edits messages; it knows nothing of models, tools or stores.
//
// The required core is [Channel]. What only some platforms can do is a
// capability: an interface of one method, found by type assertion and asserted
// at compile time by the adapters that have it.
//
// Adapters keep no spool of their own: they acknowledge an event to the
// platform only after [Host.Accept] has returned, which is when it is durable.
package channels
