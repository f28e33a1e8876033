package main

import (
	"cmp"
	"time"
)

// schedule is what a run does to the replicas, and for how long.
type schedule struct {
	ttl      time.Duration // of leases
	mutant   string        // empty: the design
	title    string        // of the design under other faults
	control  string        // whose schedule this is, of a sound build
	duration time.Duration
	sessions int
	every    time.Duration // a fault, on average
	faults   []fault
	// deaf loses all hints between replicas, so that the sweep alone finds what
	// is due.
	deaf bool
	// timeless has replicas hold on to leases that are over, and deliver what
	// they have not been told to leave: the store alone keeps them apart.
	timeless bool
	// replicated gives Redis a replica, which the failovers need.
	replicated bool
	// promptly has nobody wait longer than a lease and 2 s.
	promptly bool
	// pace is the model's time for ten characters; 0 is 15 ms.
	pace time.Duration
	// think is how long the model takes to begin.
	think time.Duration
	// doubles is how many of 100 events are delivered twice, forgets how many
	// have the answer to their delivery lost.
	doubles, forgets int
}

func (s schedule) name() string {
	if s.control != "" {
		return "control " + s.control
	}
	if s.mutant == "" {
		return cmp.Or(s.title, "design")
	}
	return "mutant " + s.mutant
}

// fault is something that is done to a running world.
type fault struct {
	name string
	do   func(w *world)
}

func design(o options) schedule {
	return schedule{
		ttl: o.ttl, duration: o.duration, sessions: o.sessions, every: 400 * time.Millisecond, doubles: 8, forgets: 4,
		faults: []fault{kill, kill, freeze, cut, cut, silence, drop, drop, killRedis, terminate},
	}
}

// rolling is an update under load: the replicas end in order and start anew, one
// after the other.
func rolling(o options) schedule {
	s := design(o)
	s.title, s.promptly, s.every, s.faults = "rolling", true, 1500*time.Millisecond, []fault{roll}
	return s
}

// failingOver has Redis's replica take its primary's place again and again.
func failingOver(o options) schedule {
	s := design(o)
	s.title, s.replicated, s.every, s.faults = "failover", true, 2*time.Second, []fault{failOver, failOver, kill}
	return s
}

// mutants are the broken builds, each with the schedule that brings it out.
func mutants() []schedule {
	const long, many = 5 * time.Second, 24
	return []schedule{
		{ttl: time.Second, mutant: "fence", duration: long, sessions: many, every: 800 * time.Millisecond, timeless: true, pace: 150 * time.Millisecond, faults: []fault{freeze, silence}},
		{ttl: time.Second, mutant: "release", duration: long, sessions: many, every: time.Hour, deaf: true},
		{ttl: time.Second, mutant: "drain", duration: long, sessions: many, every: 200 * time.Millisecond, think: 200 * time.Millisecond, faults: []fault{kill}},
		{ttl: time.Second, mutant: "append", duration: long, sessions: many, every: 50 * time.Millisecond, faults: []fault{drop, cut}},
		{ttl: time.Second, mutant: "intent", duration: long, sessions: many, every: 200 * time.Millisecond, faults: []fault{kill}},
		{ttl: time.Second, mutant: "dedupe", duration: long, sessions: many, every: time.Hour, doubles: 20},
	}
}
