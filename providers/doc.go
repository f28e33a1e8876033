// Package providers holds what every wire format to a model shares: the HTTP
// client and its limits, the SSE and JSON readers, the classification of
// vendor errors, the transformation of a transcript into what a vendor
// accepts, the cache of encoded messages, the table of vendors' quirks, the
// table of prices, and the decorators [Retry] and [Failover].
//
// The formats themselves are its children: anthropic (Messages), openai (Chat
// Completions and Responses), google, mistral, and demo, which needs no
// network. Each has
//
//	New(cfg providers.Config, model string) (agentcore.Model, error)
//
// and the result also implements [agentcore.Describer]. A model is used as a
// stack of decorators, failover outermost; nothing here is retried by itself.
//
// No goroutine outlives a stream: a stream is read on the goroutine that ranges
// over it, and the one timer it holds is stopped when the range ends.
package providers
