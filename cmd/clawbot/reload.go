package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"clawbot/config"
)

// reloadEvery is how often the files of the configuration are looked at. What
// has changed is read when it is the same twice, for an editor may be writing.
const reloadEvery = 2 * time.Second

// reloader has a running bot take a changed configuration.
type reloader struct {
	b      *bot
	loader *config.Loader
	hup    <-chan os.Signal // see [hangUps]
	seen   [32]byte         // what the files held when they were last read
	news   [32]byte         // what they held at the last look
	// prompts is what the files of system prompts held when they were last read.
	prompts [32]byte
}

// hangUps gives the process's SIGHUPs, which don't end it any more, until stop
// is called.
func hangUps() (hup <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals, func() { signal.Stop(signals) }
}

// errHangUp: the terminal that the bot was started in is gone.
var errHangUp = errors.New("the terminal is gone")

// run reads the configuration anew at SIGHUP and when its files have changed,
// until ctx ends.
func (r *reloader) run(ctx context.Context) error {
	terminal := hasTerminal()
	r.seen = fingerprint(r.b.now.Load().Files())
	r.news = r.seen
	r.prompts = prompts(r.b.now.Load())
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.hup:
			if terminal && !hasTerminal() {
				return errHangUp
			}
			r.seen = fingerprint(r.b.now.Load().Files())
			r.news = r.seen
			r.reload(ctx, "SIGHUP")
		case <-tick.C:
			now := fingerprint(r.b.now.Load().Files())
			settled := now == r.news
			r.news = now
			if settled && now != r.seen {
				r.seen = now
				r.reload(ctx, "a file has changed")
			}
		}
	}
}

// hasTerminal reports whether the process belongs to a terminal that is there.
func hasTerminal() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY, 0)
	if err == nil {
		_ = tty.Close()
	}
	return err == nil
}

// fingerprint is what files hold, and which of them are not there. Contents are
// compared and not times: a secret that Kubernetes mounts is a link whose target
// changes.
func fingerprint(files []string) (sum [32]byte) {
	h := sha256.New()
	for _, path := range files {
		_, _ = fmt.Fprintf(h, "%s\x00", path)
		f, err := os.Open(path)
		if err != nil {
			_, _ = fmt.Fprint(h, "not there\x00")
			continue
		}
		const most = 8 << 20 // no configuration is larger
		n, _ := io.Copy(h, io.LimitReader(f, most))
		_ = f.Close()
		_, _ = fmt.Fprintf(h, "\x00%d\x00", n)
	}
	h.Sum(sum[:0])
	return sum
}

// reload takes the configuration as it is now. One that is wrong changes
// nothing.
func (r *reloader) reload(ctx context.Context, why string) {
	b := r.b
	applied, waiting, err := r.take(ctx)
	file := b.cfg.Origin.File
	if err != nil {
		b.log.Error("the new configuration is refused whole, and the one before holds", "why_read", why, "problem", err.Error())
		r.note(file, "refused", strings.Split(err.Error(), "\n"))
		return
	}
	lines := func(list []config.Change) (out []string) {
		for _, c := range list {
			out = append(out, c.String())
		}
		return out
	}
	if len(waiting) > 0 {
		b.log.Warn("the configuration has changes that need a restart", "changes", lines(waiting))
	}
	if len(applied) == 0 {
		b.log.Info("the configuration was read anew, and nothing that holds now is different", "why_read", why)
		return
	}
	b.log.Info("the configuration was changed", "why_read", why, "changes", lines(applied))
	r.note(file, "changed", lines(applied))
}

func (r *reloader) note(file, outcome string, changes []string) {
	if err := r.b.audit.reconfigured(file, outcome, changes); err != nil {
		r.b.log.Error("a change of the configuration was not written to the audit log", "err", err)
	}
}

// take loads the configuration and has the bot go by it, as far as it can. It
// returns what was changed, and what a restart would change.
func (r *reloader) take(ctx context.Context) (applied, waiting []config.Change, err error) {
	b, before := r.b, r.b.now.Load()
	loaded, err := r.loader.Load()
	if err != nil {
		return nil, nil, err
	}
	b.secrets.Add(loaded.Secrets()...)
	loaded.Detect(ctx)
	next := changeable(before, loaded)
	applied, waiting = config.Diff(before, next), config.Diff(next, loaded)
	said := prompts(next)
	if len(applied) == 0 && said == r.prompts {
		b.now.Store(next)
		return nil, waiting, nil
	}
	model, err := newModel(next, b.meters, b.log)
	if err != nil {
		return nil, nil, err
	}
	gw, err := gatewayConfig(next, model, b.meters, b.log)
	if err != nil {
		return nil, nil, err
	}
	if err := b.gateway.Reconfigure(gw); err != nil {
		return nil, nil, err
	}
	if err := b.meters.budget.SetLimits(limits(next.Budget)); err != nil {
		return nil, nil, err // config has checked them
	}
	b.box.setRules(next)
	b.level.Set(levelOf(next))
	b.now.Store(next)
	for _, w := range next.Origin.Warnings {
		b.log.Warn("the new configuration has a doubt", "what", w.String())
	}
	for _, problem := range unpriced(next, b.log) {
		b.log.Error(problem)
	}
	if said != r.prompts {
		r.prompts = said
		applied = append(applied, config.Change{Key: "the text of system_prompt_file"})
	}
	return applied, waiting, nil
}

// prompts is what the files of system prompts hold.
func prompts(cfg *config.Config) [32]byte {
	list := []string{cfg.Agent.SystemPromptFile}
	for name := range cfg.Agents {
		list = append(list, cfg.As(name).SystemPromptFile)
	}
	return fingerprint(list)
}
