// Package redis is the store of several processes: replicas that share a Redis
// of version 7 or later (or a Valkey), single, behind Sentinel, or a cluster.
//
// # Who decides
//
// The lock and the data are in the same Redis, so every script that writes a
// session compares the lease's whole token first, in the same atomic step. Time
// is Redis's alone; clocks of replicas are never compared. A lease is a field,
// not an expiring key: its holder, what was open and when it ended stay visible
// to the successor.
//
//	<prefix>:{pNN}:s:<session>         HASH  ep tok own exp run giv cra att gen sum keep nm ns q
//	<prefix>:{pNN}:s:<session>/in      LIST  waiting messages
//	<prefix>:{pNN}:s:<session>/sig     LIST  waiting signals
//	<prefix>:{pNN}:s:<session>/log     LIST  the transcript; an index is a position
//	<prefix>:{pNN}:s:<session>/open    STRING open calls and who began them
//	<prefix>:{pNN}:s:<session>/reply   STRING the reply's state
//	<prefix>:{pNN}:dd:<session>/<id>   STRING an event id that was seen; 72 hours
//	<prefix>:{pNN}:due                 ZSET  session -> when somebody must look
//	<prefix>:{pNN}:act                 ZSET  session -> when it was active
//	<prefix>:{pNN}:dead                LIST  dead letters
//	<prefix>:{pNN}:term:<name>[/v]     HASH  a term, its values
//	<prefix>:{pNN}:blob:<nonce>        HASH  chunks; :ref:<ref> says where they are
//	<prefix>:{state}:*, {count}:*      State and Counters
//	<prefix>:meta                      HASH  format, identity, whose bot
//	<prefix>:bus:<topic>               pub/sub: hints, never state
//
// NN is a hash of the session: a partition. All keys of one call have one tag,
// so that they share a slot of a cluster and change together. Partitions, not
// sessions, are tags, so that a sweep for what is due costs one call.
//
// # Calls
//
// Each call is one script and one round trip. The client library retries
// nothing; this package calls again with the same arguments when an answer was
// lost, for as long as [Config].Patience says, and every script is built to
// take that: appends carry their position, acceptances their event's id,
// acquisitions a nonce, reply states a sequence number. A script that Redis has
// forgotten is sent again.
//
// # What survives
//
// What has been answered survives as far as Redis is configured for it: with
// appendonly yes and appendfsync always, a kill or power cut of the server.
// [Store.Warnings] says what is configured less than that.
//
// # Goroutines
//
// The first subscription starts those of one pub/sub connection; Close stops
// them. Nothing else runs between calls.
package redis
