package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// settings are the command's flags.
type settings struct {
	binary   string
	deltas   int
	stream   time.Duration // how long one answer takes to stream
	limits   bool          // the platform's rate limits
	quiet    int           // exchanges of the one-chat latency run
	keep     string        // where the logs are kept
	idle     time.Duration
	patience time.Duration
	turns    int
	config   string // further configuration
}

func run(ctx context.Context) error {
	var s settings
	chats := flag.String("chats", "1,200,1000", "numbers of chats that write at once, a row each")
	flag.StringVar(&s.binary, "binary", "", "binary to measure; built when empty")
	flag.IntVar(&s.deltas, "deltas", 50, "deltas of an answer")
	flag.DurationVar(&s.stream, "stream", 2*time.Second, "how long an answer streams")
	flag.BoolVar(&s.limits, "limits", false, "switch the platform's rate limits on")
	flag.IntVar(&s.quiet, "exchanges", 200, "exchanges of the one-chat latency run; 0 leaves it out")
	flag.DurationVar(&s.patience, "patience", 3*time.Minute, "how long a row may take")
	flag.DurationVar(&s.idle, "idle", 3*time.Second, "how long the idle process is watched")
	flag.IntVar(&s.turns, "turns", 0, "turns of one conversation to compare with its tenth; 0 leaves it out")
	flag.StringVar(&s.keep, "keep", "", "directory in which configuration, database and logs are kept")
	flag.StringVar(&s.config, "config", "", "lines to append to the configuration")
	flag.Parse()

	dir, err := os.MkdirTemp("", "clawbot-load")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if s.keep != "" {
		dir = s.keep
	}
	if s.binary == "" {
		s.binary = filepath.Join(dir, "clawbot")
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", s.binary, "clawbot/cmd/clawbot")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building: %w\n%s", err, out)
		}
	}
	if info, err := os.Stat(s.binary); err == nil {
		fmt.Printf("binary %.1f MB\n", float64(info.Size())/1e6)
	}
	if s.quiet > 0 {
		if err := latencies(ctx, filepath.Join(dir, "one"), s); err != nil {
			return err
		}
	}
	if s.turns > 0 {
		if err := growth(ctx, filepath.Join(dir, "long"), s); err != nil {
			return err
		}
	}
	fmt.Println("chats  answered  all done   CPU a reply  memory (PSS)  writes a reply  refused")
	for field := range strings.SplitSeq(*chats, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 1 {
			return fmt.Errorf("-chats: %q is no number of chats", field)
		}
		if err := crowd(ctx, filepath.Join(dir, field), n, s); err != nil {
			return err
		}
	}
	return nil
}
