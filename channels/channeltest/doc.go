// Package channeltest holds what adapters are tested against: fakes of the
// platforms that behave (they listen on a real port, check what they are sent as
// the platform would, keep its limits, and fail on demand), and [Run], the suite
// that every adapter passes.
//
// A fake is started by its New function and owns its listener and goroutines
// until Close, which waits for them. Everything exported is safe for concurrent
// use, and nothing waits while it holds a lock, so that one fake serves
// thousands of conversations at once.
package channeltest
