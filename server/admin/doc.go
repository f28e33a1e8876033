// Package admin is the page of whoever looks after the bot: sessions, approvals
// that wait, tools, channels and replicas, spend, the configuration and the log.
//
//	browser ── GET /admin/… ──► one document, its modules from here and from the
//	                            chat page
//	        ── /admin/api/… ──► JSON (see docs/page.md)
//	        ◄─ events ────────  a session's tail, the log's tail: server-sent events
//
// Everything is read from the store, so that any replica shows all sessions; the
// bus is only told that somebody looks, and hints at what to read. While no
// page is open, nothing runs but a subscription that answers other replicas.
//
// Whoever the server lets in may look. What changes something (a decision,
// /stop, a deletion) follows the rules of access: see [gateway.Operator].
//
// # Goroutines
//
// [Admin.Run] answers other replicas until its context ends. Requests run on the
// server's goroutines, and their streams end with them.
package admin
