// Package sandbox runs programs so that they touch one directory and nothing
// else, have no network unless it is given to them, and end with the call that
// started them.
//
// # How
//
// With bubblewrap, where it works, every command gets namespaces of its own: a
// read-only view of the system's programs, the workspace, an empty /tmp, a
// private /proc. Without it, Landlock and seccomp confine a child of our own
// binary (see [Main]); that needs Linux 6.12 or later, because before that a
// child could send signals to whatever else its user runs. Where neither works,
// [Sandbox.Start] refuses: nothing is ever run with less than was promised.
// [Off] runs programs unconfined, but with the same limits and the same end.
//
// # Processes
//
//	bubblewrap       bot ─► bwrap ─► pid 1 of the namespace ─► command
//	Landlock, off    bot ─► supervisor (our binary) ─► command
//
// Killing pid 1 of a namespace kills all in it; it dies when its parent does.
// The supervisor adopts orphans (PR_SET_CHILD_SUBREAPER), so that a double fork
// or setsid does not escape it, and kills all below it when the command ends or
// the pipe to the bot closes, which happens however the bot dies.
//
// # Goroutines
//
// [Sandbox.Start] starts three for each command: one that waits (on an OS
// thread of its own, since a death signal is tied to a thread), one that copies
// output, one that watches how many processes there are and how much memory
// they use. [Process.Wait] returns when all have ended.
package sandbox
