// Package web is the built-in chat page as a channel: its HTTP interface, its
// event streams and its static files.
//
// # The way of a message
//
//	page ── POST messages ──► Host.Accept        receive.go: answered when durable
//	page ◄── GET events ───── hub ◄── the bus    stream.go, hub.go: server-sent events
//	page ◄── GET messages ─── Transcripts        transcript.go: what is certain
//
// Live events are hints. The page draws them, and reads the transcript again
// wherever they have a gap, so that what stands after a run is the transcript.
// A hub per watched session remembers the open run: a page that is opened in
// the middle of an answer shows what was said before.
//
// The session of conversation C is "web:C". A person on this machine is the
// sender "web:local", one who signed in from elsewhere "web:remote".
//
// # Goroutines
//
// [Channel.Receive] owns the hubs and closes them when it ends; requests run on
// the server's goroutines. Authentication, Host and Origin checks are the
// server's, not of this package.
package web
