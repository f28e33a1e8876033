// Package discord is the Discord channel: one bot over the gateway and the REST
// API.
//
// The gateway is read by a client of our own. Each event is decoded by itself
// into the few fields that matter here, so one of a kind that nobody knew yet is
// skipped and stalls nothing. The session and the last event that the host has
// accepted are kept in the host's state: a connection that broke, a process that
// was killed and a replica that takes over all resume where the host got to, and
// Discord sends the rest again. Where it no longer can, what was missed is read
// from the history of the channels. REST calls go through bwmarrin/discordgo as a
// typed client, with limits of our own.
//
// [Channel.Receive] starts and awaits all goroutines of the package.
package discord
