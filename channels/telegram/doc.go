// Package telegram is the Telegram channel: one bot over the Bot API.
//
// Updates are fetched by a poller of our own, or taken from a webhook. Each is
// decoded by itself into the few fields that matter here, so an update of a kind
// that nobody knew yet is skipped and stalls nothing; it is confirmed to
// Telegram only after the host has accepted it. Everything else goes through
// go-telegram/bot as a typed client.
//
// [Channel.Receive] starts and awaits all goroutines of the package.
package telegram
