package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// window is how many turns are measured together: the clock of a process's CPU
// counts in hundredths of a second.
const window = 20

// stretch is what a window of turns cost, each.
type stretch struct {
	toModel, cpu time.Duration
	disk, wire   int64 // bytes
}

// growth has one conversation go on for s.turns and prints what turns cost at
// its end beside what they cost around the tenth.
func growth(ctx context.Context, dir string, s settings) error {
	s.stream, s.deltas, s.quiet = 20*time.Millisecond, 10, 0
	// A conversation of a thousand turns shall be sent whole, not summed up.
	s.config += "\n[providers.load.models.scripted]\nwindow = 10000000\n"
	r, err := newRig(ctx, dir, s)
	if err != nil {
		return err
	}
	defer r.close()
	var early, late stretch
	for turn := 1; turn <= s.turns; {
		n := 1
		if turn == window/4 || turn == s.turns-window {
			n = window
		}
		cost, err := r.turns(ctx, dir, turn, n)
		if err != nil {
			return err
		}
		switch turn {
		case window / 4:
			early = cost
		case s.turns - window:
			late = cost
		}
		turn += n
	}
	for _, row := range []struct {
		name string
		stretch
	}{{"turn 10", early}, {fmt.Sprint("turn ", s.turns), late}} {
		fmt.Printf("%-10s message → model %s, CPU %s, disk %d bytes, sent to the model %d bytes\n", row.name,
			row.toModel.Round(10*time.Microsecond), row.cpu.Round(10*time.Microsecond), row.disk, row.wire)
	}
	return nil
}

// turns has chat 1 write n times and returns what each cost on average.
func (r *rig) turns(ctx context.Context, dir string, first, n int) (stretch, error) {
	before, disk, wire := r.usage(), size(dir), r.wire.Load()
	var sum stretch
	for i := first; i < first+n; i++ {
		message := fmt.Sprint("t", i)
		sent := time.Now()
		r.telegram.SendText(1, 1, "question #"+message)
		if _, err := r.final(ctx, 1, message); err != nil {
			return sum, fmt.Errorf("turn %d: %w", i, err)
		}
		r.mu.Lock()
		sum.toModel += r.asked[message].Sub(sent)
		r.mu.Unlock()
	}
	count := int64(n)
	sum.toModel /= time.Duration(n)
	sum.cpu = (r.usage().cpu - before.cpu) / time.Duration(n)
	sum.disk, sum.wire = (size(dir)-disk)/count, (r.wire.Load()-wire)/count
	return sum, nil
}

// size is how many bytes the database's file has.
func size(dir string) (n int64) {
	files, _ := filepath.Glob(filepath.Join(dir, "clawbot.db*"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			n += info.Size()
		}
	}
	return n
}
