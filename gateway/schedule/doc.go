// Package schedule keeps what is to be done later: reminders and recurring
// tasks. It knows when each comes next, in its own time zone, and finds the ones
// that are due; the gateway turns them into messages.
//
// Nothing here runs: there are no goroutines and no clocks. The time now is an
// argument, so that a clock that was put forward or back is a case like any
// other.
//
// # How they are stored
//
// All schedules of a person stand in one value of the store's State, so that
// the limit on them binds on every replica. Two more keys refer to each: one
// that begins with when it comes next, which makes a range of State the index of
// what is due, and one that begins with its conversation. They are written before
// the value and removed after it; one that is left over by a process that died
// in between refers to nothing and is dropped by who finds it.
package schedule
