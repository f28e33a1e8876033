// Package budget keeps what models cost within bounds, and remembers it.
//
//	failover( retry( budget( repair( provider )))) for each provider
//
// [Budget.Model] stands around single attempts at a model. Before an attempt it
// reserves the most that it can cost, against the caps of the day, of the
// conversation and of the person, in one step over all replicas
// ([store.Counters]); what the attempt really took replaces that when it has
// ended. A reservation that nobody settles, because the call was cut or the
// process died, counts in full. So no cap is ever passed by more than what one
// call took beyond its estimate.
//
// Whom a call is for comes with its context: [With]. What was spent is kept per
// day, model, conversation and person: [Budget.Spend]. Amounts are whole
// billionths of a US dollar.
//
// [Budget.Run], which the gateway starts and awaits, writes that down a little
// later than it happens; nothing else here has a goroutine.
package budget
