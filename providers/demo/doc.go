// Package demo is the built-in demo model: a small, deterministic program that
// needs no network and no key. It says that it is one, streams word by word,
// calls the tools it is given for the few things it understands, answers from
// their results, and takes up what it is told in between, so that streaming,
// tools, steering and /stop can be seen before a key is at hand.
//
// It keeps no state: where it stands follows from the transcript.
package demo
