// Package memory keeps what the bot remembers about single people: a bounded
// list of facts for each, in the store's State, and how a model is shown them.
// Who may add to whose, and in which conversations they are shown, is the
// gateway's to decide.
package memory
