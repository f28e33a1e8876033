// Package gateway is the heart of the bot: it decides who may speak, keeps
// every accepted message until it is answered, and owns the runs that answer.
//
// # The way of a message
//
//	channel ─► Host.Accept   access, commands, session          accept.go
//	             │ store.Accept: dedupe and durable inbox; only now the ack
//	             ▼
//	           dispatcher    who runs next; cap; sweep          dispatch.go
//	             ▼
//	           tenure        acquire the lease, fenced          tenure.go
//	             │  watch: renew, see signals                   watch.go
//	             ▼
//	           run           drain, loop, record, deliver       run.go
//	             ▼
//	           ReleaseIfEmpty, the only way to stop owning a session
//
// # Goroutines
//
// [Gateway.Run] starts and awaits all of them: one per channel (Receive), the
// sweeper, and for each session being worked on the tenure, its watch, and the
// reply's actor. An idle session costs none. When Run's context ends, runs have
// Config.Drain to finish; then they are cut and handed off to whoever starts
// next. Calls into the store that must not be torn by that are made with a
// context of their own.
//
// # What waits
//
// A message to an idle session starts its run at once. Debounce never delays
// it: it gathers what follows. A message that arrives while the model has been
// asked but has shown nothing, within the debounce window of the first, makes
// the run ask again with both (modes steer and interrupt). In collect mode the
// messages that queued behind a run wait for the rest of the window, so that a
// burst becomes one turn. Steering is taken in between turns without any delay.
//
// # After a crash
//
// Whoever takes a session up finds in its transcript what is owed. Calls
// without a result run if they never began or are idempotent, and are answered
// as interrupted otherwise; the reply goes on in the messages that are there; a
// final that may not have arrived is delivered again. Work that has killed three
// processes is given up, and its sender told.
package gateway
