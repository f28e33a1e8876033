package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"time"

	"clawbot/agentcore"
	"clawbot/config"
	"clawbot/gateway"
)

// watchKey notices when a provider refuses its key, or has no credit left, and
// when it answers again.
func watchKey(inner agentcore.Model, provider string, alerts *gateway.Alerts) agentcore.Model {
	if alerts == nil {
		return inner
	}
	return &keyWatch{inner, provider, alerts}
}

type keyWatch struct {
	agentcore.Model
	provider string
	alerts   *gateway.Alerts
}

// Info implements [agentcore.Describer].
func (w *keyWatch) Info() agentcore.ModelInfo {
	if d, ok := w.Model.(agentcore.Describer); ok {
		return d.Info()
	}
	return agentcore.ModelInfo{}
}

// Stream implements [agentcore.Model].
func (w *keyWatch) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		for ev, err := range w.Model.Stream(ctx, req) {
			if err != nil {
				w.failed(err)
			} else if ev.Type == agentcore.StreamDone {
				w.alerts.Clear(w.alert())
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

func (w *keyWatch) alert() gateway.Alert {
	return gateway.Alert{Key: "model/" + w.provider, Over: fmt.Sprintf("✅ The provider `%s` answers again.", w.provider)}
}

func (w *keyWatch) failed(err error) {
	e, ok := errors.AsType[*agentcore.Error](err)
	if !ok || e.Class != agentcore.ErrAuth && e.Class != agentcore.ErrQuota {
		return
	}
	a := w.alert()
	what := "refuses its key"
	if e.Class == agentcore.ErrQuota {
		what = "has no credit left"
	}
	a.Text = fmt.Sprintf("🔑 The provider `%s` %s, so its models don't answer. Whoever runs me can set `providers.%s.api_key`, or its account right.\n\n> %s",
		w.provider, what, w.provider, e.Error())
	w.alerts.Raise(a)
}

// diskEvery is how often it is looked how much space is left. What is low is
// told; what is well again has a quarter more, so that it stays told once.
const diskEvery = time.Minute

// growing are the places that the bot fills, by what they hold.
func growing(cfg *config.Config) map[string]string {
	places := map[string]string{}
	if cfg.Tools.Workspace != "" {
		places["workspace"] = cfg.Tools.Workspace
	}
	if cfg.Store.Driver == "sqlite" {
		places["database"] = cfg.Store.Path
	}
	return places
}

// watchDisk notices when a disk is nearly full, until ctx ends.
func watchDisk(ctx context.Context, places map[string]string, look func(dir string) (volume, error), alerts *gateway.Alerts) {
	host, _ := os.Hostname() // unknown is one name, too
	sum := sha256.Sum256([]byte(host))
	key := "disk/" + hex.EncodeToString(sum[:6])
	low := false
	tick := time.NewTicker(diskEvery)
	defer tick.Stop()
	for {
		var full string
		known := false
		for _, what := range slices.Sorted(maps.Keys(places)) {
			v, err := look(existing(places[what]))
			if err != nil {
				continue
			}
			known = true
			if v.free < diskLow || low && v.free < diskLow+diskLow/4 {
				full = fmt.Sprintf("%s free for the %s", megabytes(v.free), what)
				break
			}
		}
		a := gateway.Alert{Key: key, Local: true, Over: fmt.Sprintf("✅ The disk of `%s` has room again.", host)}
		switch {
		case full != "":
			low = true
			a.Text = fmt.Sprintf("💾 The disk of `%s` is nearly full: %s. When it is full I can take no message any more. Free space, or move it; "+
				"`clawbot doctor` shows where it is, `[retention]` deletes what is old.", host, full)
			alerts.Raise(a)
		case known:
			low = false
			alerts.Clear(a)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
