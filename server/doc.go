// Package server is the one HTTP listener: it guards and serves the page, the
// metrics and the health probes, and mounts the webhooks of channels.
//
// # Who may do what
//
//	/healthz, /readyz   anybody
//	webhooks            anybody; each checks its platform's signature itself
//	/login              anybody, at a limited rate
//	the rest            whoever has the token; without a token, whoever is on
//	                    this machine and asks for it by a loopback name
//
// [Server.Run] starts the listeners' goroutines and waits for them; nothing
// outlives it. What the page shows is not here but in channels/web.
package server
