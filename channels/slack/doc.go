// Package slack is the Slack channel: one app in one workspace, over Socket Mode
// or over HTTP.
//
// In Socket Mode two connections are kept, so that none of Slack's regular
// disconnects leaves a gap; each event comes over one of them. An envelope is
// acknowledged after the host has accepted what is in it, and at once if it
// holds nothing of use, whatever its type. Between the two lie lanes, one for
// each channel that something is under way in:
//
//	socket 1 ─┐                   ┌─ lane C1: in the order of event_ts ─► Host.Accept ─► ack
//	socket 2 ─┼─► read, normalise ┤
//	HTTP     ─┘                   └─ lane D7: …
//
// A mention comes twice, as an app_mention and as a message, in either order.
// Both give the same event id, and whichever comes second is only acknowledged.
//
// The sockets are dialled here and not by slack-go's client for them, which
// closes a connection before it opens the next, reconnects without a pause and
// leaves envelopes of unknown kinds unacknowledged. Everything else goes through
// slack-go as a typed client that never retries.
//
// [Channel.Receive] starts and awaits all goroutines of the package.
package slack
