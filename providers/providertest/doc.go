// Package providertest holds the suite that every wire format passes. A format
// brings a [Format]: how to build its model, and how its vendor would stream a
// given [Answer]. [Run] then plays whole conversations and everything that can
// go wrong over real HTTP connections; [Stream] and [Convert] are the common
// benchmarks.
package providertest
