// Package metrics counts what the bot does, for Prometheus.
//
// [Metrics] is told by the gateway (it is a gateway.Observer) and by
// [Metrics.Model], a decorator around single attempts at a model; how much there
// is to do is asked of the gateway when somebody scrapes. Nothing here starts a
// goroutine or touches a global registry.
//
// Labels are bounded: channels and models come from the configuration, outcomes
// and classes from the program, and of tools only those that ran are named, up to
// [maxNames]; the others share the name "other".
package metrics
