package gateway

import "fmt"

// config is what holds now. Whoever needs several of its values that belong
// together asks once.
func (g *Gateway) config() *Config { return g.holds.Load().cfg }

// Reconfigure replaces, for messages that come and runs that begin from now on,
// who may speak, queues, limits, agents, routes and models: Access but for its
// reactions, Agent, Agents, Routes, Loop, Queue, Schedules, Compaction,
// Compactor, Retention, Model, Models, ModelRefs and Transcriber. Everything
// else stays as [New] was given it. A configuration that New would refuse
// changes nothing. It is safe for concurrent use.
func (g *Gateway) Reconfigure(cfg Config) error {
	next := g.cfg
	next.Agent, next.Agents, next.Routes = cfg.Agent, cfg.Agents, cfg.Routes
	next.Loop, next.Queue, next.Schedules = cfg.Loop, cfg.Queue, cfg.Schedules
	next.Compaction, next.Compactor, next.Retention = cfg.Compaction, cfg.Compactor, cfg.Retention
	next.Model, next.Models, next.ModelRefs, next.Transcriber = cfg.Model, cfg.Models, cfg.ModelRefs, cfg.Transcriber
	next.Access = cfg.Access
	// What New has resolved is not a default any more.
	if next.Drain == 0 {
		next.Drain = -1
	}
	next, err := next.withDefaults()
	if err != nil {
		return fmt.Errorf("reconfigure: %w", err)
	}
	g.holds.Store(&current{&next, next.profiles()})
	return nil
}
