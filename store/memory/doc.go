// Package memory is a store that lives and dies with its process: for tests,
// for trying things out, and for `clawbot chat` beside a running bot. Several
// replicas in one process may share one Store under different owner names.
//
// It starts no goroutine of its own (a bus subscription has one while it
// delivers) and reads the time from package time alone, so that it works in a
// synctest bubble.
package memory
