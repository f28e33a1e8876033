// Package storetest is the suite that every store.Store passes. Each sentence
// of the contract's documentation is a test here, named after it.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Harness{Open: func(t *testing.T) store.Store { … }})
//	}
//
// Beside it, Equivalence drives a store and the memory store with the same
// random operations and compares every answer.
package storetest
