// Package terminal is the channel of the terminal that the bot was started in:
// `clawbot chat`. It draws the run's live events itself.
//
// It has two manners. In conversation it reads messages line by line and writes
// answers as they grow. With [Config.Once] it sends one message, writes the
// answer alone, once it is whole, and is done.
//
// [Channel.Receive] is the one goroutine that writes. Beside it runs one that
// reads lines; it ends with the input, which may be later than Receive, for a
// read from a terminal can't be broken off.
package terminal
