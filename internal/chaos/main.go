package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"
)

func main() {
	logging.Disable() // what breaks is broken on purpose
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		os.Exit(work())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx))
}

// options of the program.
type options struct {
	duration time.Duration
	ttl      time.Duration
	replicas int
	sessions int
	seed     uint64
	only     string
	keep     bool
	controls bool
	mutants  string
}

func run(ctx context.Context) int {
	var o options
	flag.DurationVar(&o.duration, "duration", 20*time.Second, "how long the design is loaded and hindered")
	flag.DurationVar(&o.ttl, "ttl", time.Second, "of leases; more where the machine is slow for so many sessions")
	flag.IntVar(&o.replicas, "replicas", 4, "processes that share the Redis")
	flag.IntVar(&o.sessions, "sessions", 40, "chats that talk at once")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "of the faults and the load")
	flag.BoolVar(&o.controls, "controls", true, "run each mutant's schedule with a sound build, too, which must pass it")
	flag.StringVar(&o.mutants, "mutants", "", "a short run: the design, and these mutants only, parted by commas")
	flag.StringVar(&o.only, "only", "", "run this one: design, rolling, failover, or a mutant's name")
	flag.BoolVar(&o.keep, "keep", false, "keep logs and data")
	flag.Parse()
	fmt.Printf("seed %d\n", o.seed)

	events, violations := 0, 0
	for _, s := range []schedule{design(o), rolling(o), failingOver(o)} {
		if o.only != "" && o.only != s.name() || o.mutants != "" && s.title != "" {
			continue
		}
		r, err := play(ctx, o, s)
		if err != nil {
			fmt.Fprintln(os.Stderr, "chaos:", err)
			return 1
		}
		events, violations = events+r.events, violations+len(r.violations)
	}
	caught, all, more, err := tryMutants(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		return 1
	}
	violations += more
	fmt.Printf("chaos: events=%d violations=%d mutants=%d/%d\n", events, violations, caught, all)
	if violations > 0 || caught < all || ctx.Err() != nil {
		return 1
	}
	return 0
}

// tryMutants gives each broken build up to three chances to be noticed.
func tryMutants(ctx context.Context, o options) (caught, all, violations int, err error) {
	if !mutable {
		fmt.Println("the checker is not checked: that needs a program built with -tags chaos")
	}
	for _, m := range mutants() {
		if o.only != "" && o.only != m.mutant || o.mutants != "" && !slices.Contains(strings.Split(o.mutants, ","), m.mutant) {
			continue
		}
		if o.controls {
			sound := m
			sound.mutant, sound.control = "", m.mutant
			r, err := play(ctx, o, sound)
			if err != nil {
				return caught, all, violations, err
			}
			violations += len(r.violations)
		}
		all++
		if !mutable {
			continue
		}
		for try := range 3 {
			if try > 0 {
				o.seed++
			}
			r, err := play(ctx, o, m)
			if err != nil {
				return caught, all, violations, err
			}
			if len(r.violations) > 0 {
				caught++
				break
			}
		}
	}
	return caught, all, violations, nil
}

// play makes one run: load and faults, rest, check.
func play(ctx context.Context, o options, s schedule) (*result, error) {
	w, err := newWorld(ctx, o, s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name(), err)
	}
	defer w.close()
	began := time.Now()
	w.random = rand.New(rand.NewPCG(o.seed, 1))
	w.loadAndHinder(ctx, s)
	r := &result{events: int(w.sent.Load())}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	stuck := w.rest(ctx)
	r.violations = append(stuck, w.check(ctx)...)
	if most := w.waits.most(); s.promptly && most > s.ttl+2*time.Second && w.stalls.Load() == 0 {
		r.violations = append(r.violations, fmt.Sprintf("somebody waited %v, longer than a lease and 2 s", most))
	}
	fmt.Printf("%-16s %5.1fs events=%d %s\n", s.name(), time.Since(began).Seconds(), r.events, w.summary())
	for i, v := range r.violations {
		if i == 5 && s.mutant != "" || i == 40 {
			fmt.Printf("    … and %d more\n", len(r.violations)-i)
			break
		}
		fmt.Println("    " + strings.ReplaceAll(v, "\n", "\n      "))
	}
	if len(r.violations) > 0 && s.mutant == "" {
		w.kept = true
		fmt.Println("    logs and data are in " + w.dir)
	}
	return r, nil
}

type result struct {
	events     int
	violations []string
}
