// Package sqlite is the store of a single process: one database file, nothing
// to set up.
//
// # Who writes
//
// One goroutine writes. Calls that come while it works are taken together into
// its next transaction, so a busy bot pays for few commits. Reads have
// connections of their own and see every write that has returned.
//
//	Accept ─┐                                       ┌─► Append, Drain, … return
//	Append ─┼─► writer: BEGIN, all of them, COMMIT ─┤
//	Drain  ─┘       (WAL, synchronous=NORMAL)       └─► syncer: fdatasync(WAL) ─► Accept, … return
//
//	writer ─ after about 1,000 pages ─► checkpointer: WAL into the database file
//
// # What survives
//
// A commit has been handed to the kernel in full, so whatever has returned
// survives kill -9 of the process. What must also survive a power cut waits
// for the syncer's barrier on the write-ahead log: Accept (the platform is told
// next), Intent (the world is changed next), State (people rely on it), Blobs
// and Purge. Everything else is in the log in the order of its commit, and
// recovery keeps a prefix of the log: when Append is lost in a power cut, so is
// all that came after it, and the session is as it was a moment earlier, with
// its messages in the inbox and no call unrecorded. That is also why Term.Put (a
// poll offset: the platform delivers again and Accept knows the event) and
// Counters (the last few reservations before the cut) do not wait.
//
// A failed barrier is not tried again, since the kernel may have dropped the
// pages that it could not write: the store refuses all further writes until the
// process is started anew, which then reads what really is on the disk.
//
// # Who owns the file
//
// Open takes an OS lock on the file beside the database named like it with
// ".lock", and a second process is told the first one's pid. The lock dies with
// its process, so whoever has it knows that every lease and term in the
// database belongs to the dead: Open lets them expire, and sessions that were
// held count as crashed. A guest ([Config].Guest) opens without the lock, reads
// everything and writes nothing but State.
//
// # Goroutines
//
// Open starts three (writer, syncer, checkpointer); Close stops them. Idle,
// they wait on channels.
package sqlite
