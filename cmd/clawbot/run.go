package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/channels/web"
	"clawbot/config"
	"clawbot/gateway"
	"clawbot/internal/logring"
	"clawbot/internal/metrics"
	"clawbot/internal/redact"
	"clawbot/internal/version"
	"clawbot/server"
	"clawbot/server/admin"
	"clawbot/store"
)

func newRun(io streams, loader func() *config.Loader) *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Run the bot",
		Long: "Run the bot until SIGINT or SIGTERM; then runs have server.drain to finish, and a second signal ends at once.\n" +
			"Without a configuration: the chat page on http://127.0.0.1:8080/, SQLite, the first model whose key is in the\n" +
			"environment, and every channel whose token is.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilSignal(cmd.Context(), func(s os.Signal) {
				fmt.Fprintf(io.err, "clawbot: %s again: leaving at once; what is unfinished is taken up at the next start\n", s)
				os.Exit(1)
			})
			defer stop()
			return run(ctx, io, loader())
		},
	}
}

// bot is a running bot's parts.
type bot struct {
	cfg     *config.Config
	log     *slog.Logger
	store   store.Store
	model   agentcore.Model
	box     *toolbox
	gateway *gateway.Gateway
	server  *server.Server
	admin   *admin.Admin
	metrics *metrics.Metrics
	meters  meters
	audit   *auditLog
	// recent is the end of the log.
	recent logring.Ring
	// now is the configuration that holds, cfg the one that the bot began with.
	now     atomic.Pointer[config.Config]
	level   slog.LevelVar
	secrets *redact.Redactor
	loader  *config.Loader
	hup     <-chan os.Signal
	// found says how the model was chosen, where none is configured.
	found config.Detected
}

func run(ctx context.Context, io streams, loader *config.Loader) error {
	cfg, err := loader.Load()
	if err != nil {
		return err
	}
	printWarnings(io, cfg)
	hup, stop := hangUps()
	defer stop()
	b := &bot{cfg: cfg, loader: loader, hup: hup, secrets: redact.New(cfg.Secrets()...)}
	b.level.Set(levelOf(cfg))
	b.log = newLoggerAt(tee{&b.recent, io.err}, cfg, &b.level, b.secrets)
	b.metrics = metrics.New(metrics.Config{Logger: b.log})
	limitMemory(b.log)
	b.found = cfg.Detect(ctx)
	b.now.Store(cfg)
	if err := b.open(ctx); err != nil {
		return err
	}
	defer b.close()
	if err := b.server.Listen(); err != nil {
		return err
	}
	b.announce(io.out)
	return b.serve(ctx)
}

// open makes the parts. Nothing is on the network yet.
func (b *bot) open(ctx context.Context) (err error) {
	if err = makeWorkspace(b.cfg.Tools.Workspace); err != nil {
		return err
	}
	if b.store, err = drivers()[b.cfg.Store.Driver](ctx, b.cfg.Store, b.log); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.meters, err = newMeters(b.cfg, b.store, b.metrics, b.log); err != nil {
		return err
	}
	if b.meters.traces, err = openTraces(ctx, b.log); err != nil {
		return err
	}
	if b.model, err = newModel(b.cfg, b.meters, b.log); err != nil {
		return err
	}
	if err := wireLog(b.cfg, b.log).Sweep(); err != nil {
		b.log.Warn("recorded model calls that are too old could not be removed (log.wire)", "err", err)
	}
	if b.audit, err = openAudit(b.cfg.Log.Audit, b.secrets); err != nil {
		return err
	}
	if err = b.audit.started(b.cfg.Origin.File); err != nil {
		return fmt.Errorf("log.audit: %w", err)
	}
	if err = claim(ctx, b.store, &b.cfg.Channels); err != nil {
		return err
	}
	list, err := b.channels()
	if err != nil {
		return err
	}
	if b.box, err = newToolbox(b.cfg, b.log); err != nil {
		return err
	}
	if b.gateway, err = newGateway(b.cfg, onlySessions{b.store, notOfTerminal}, b.model, list, b.box, b.meters, b.audit, b.log); err != nil {
		return err
	}
	b.metrics.Watch(b.gateway)
	if b.admin, err = b.newAdmin(); err != nil {
		return err
	}
	b.server, err = b.newServer(ctx, list)
	return err
}

func (b *bot) channels() ([]channels.Channel, error) {
	var list []channels.Channel
	if b.cfg.Channels.Web.Enabled {
		page, err := web.New(web.Config{Transcripts: transcripts{b.store}, Info: b.info, Logger: b.log})
		if err != nil {
			return nil, err
		}
		list = append(list, page)
	}
	for _, p := range platforms() {
		bots, err := p.make(&b.cfg.Channels, b.log)
		if err != nil {
			return nil, err
		}
		list = append(list, bots...)
	}
	return list, nil
}

// info is what the page tells of the bot.
func (b *bot) info() web.Info {
	cfg := b.now.Load()
	return web.Info{
		Name: cfg.Agent.Name, Model: cfg.Agent.Model, Store: cfg.Store.Driver, Version: version.Get().Version,
		Demo:     cfg.Providers[providerOf(cfg.Agent.Model)].Format == "demo",
		SignedIn: len(cfg.Server.Token) > 0,
	}
}

func providerOf(ref string) string {
	name, _, err := config.ModelRef(ref)
	if err != nil {
		return ""
	}
	return name
}

func (b *bot) newServer(ctx context.Context, list []channels.Channel) (*server.Server, error) {
	cfg := server.Config{
		Listen: b.cfg.Server.Listen, MetricsListen: b.cfg.Server.MetricsListen, Tokens: b.cfg.Server.Token.Reveal(),
		Name: b.cfg.Agent.Name, Logger: b.log, Metrics: b.metrics.Handler(),
		Checks: []server.Check{
			{Name: "store", Check: b.store.Check},
			{Name: "channels", Check: b.channelsCheck},
			{Name: "running", Check: func(context.Context) error {
				if ctx.Err() != nil {
					return errors.New("the bot is shutting down")
				}
				return nil
			}},
		},
	}
	if _, shared := b.store.(claimer); shared && b.cfg.Tools.Workspace != "" {
		workspace := sharedWorkspace{b.store.State(), b.cfg.Tools.Workspace}
		cfg.Checks = append(cfg.Checks, server.Check{Name: "workspace", Check: workspace.check})
	}
	for _, ch := range list {
		h, ok := ch.(channels.Handler)
		if !ok {
			continue
		}
		if ch.Name() == web.Name {
			cfg.Pages = append(cfg.Pages, h, b.admin)
		} else if pattern, _ := h.Handler(); pattern != "" {
			cfg.Webhooks = append(cfg.Webhooks, h)
		}
	}
	return server.New(cfg)
}

// channelsCheck reports the channels that gave up.
func (b *bot) channelsCheck(context.Context) error {
	var failed []error
	for _, ch := range b.gateway.Channels() {
		if ch.Err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", ch.Name, ch.Err))
		}
	}
	return errors.Join(failed...)
}

// serve runs until ctx ends. The page stays until the runs have ended, so that
// whoever watches one sees its end.
func (b *bot) serve(ctx context.Context) error {
	// What starting up needed once goes back to the system.
	settled := time.AfterFunc(time.Second, func() { debug.FreeOSMemory(); releaseText() })
	defer settled.Stop()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	running, fail := context.WithCancel(ctx)
	defer fail()
	var group errgroup.Group
	group.Go(func() error {
		defer stop()
		b.box.settle(running) // a call that waited for its approval may need a server
		return b.gateway.Run(running)
	})
	group.Go(func() error {
		defer fail()
		return b.server.Run(serving)
	})
	group.Go(func() error { return b.box.run(serving) })
	group.Go(func() error {
		watchDisk(running, growing(b.cfg), volumeOf, b.meters.alerts)
		return nil
	})
	group.Go(func() error {
		defer fail()
		return b.admin.Run(serving)
	})
	group.Go(func() error {
		if err := (&reloader{b: b, loader: b.loader, hup: b.hup}).run(running); err != nil {
			b.log.Info("shutting down", "why", err)
			fail()
		}
		return nil
	})
	if _, single := b.store.(backuper); single { // its commands can't write beside it
		group.Go(func() error {
			serveRequests(running, b.store, b.log)
			return nil
		})
	}
	err := group.Wait()
	b.log.Info("stopped")
	return err
}

func (b *bot) close() {
	if b.server != nil {
		_ = b.server.Close() // it has ended already unless start-up failed
	}
	if b.box != nil {
		b.box.close()
	}
	if b.meters.traces != nil {
		b.meters.traces.Close()
	}
	if err := b.audit.close(); err != nil {
		b.log.Error("the audit log was not closed well", "err", err)
	}
	if err := b.store.Close(); err != nil {
		b.log.Error("the store was not closed well", "err", err)
	}
}
