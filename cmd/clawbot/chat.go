package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"clawbot/channels"
	"clawbot/channels/terminal"
	"clawbot/config"
	"clawbot/internal/redact"
	"clawbot/store"
	"clawbot/store/memory"
	"clawbot/store/sqlite"
)

// chatDrain is how long a run may go on when the conversation is over. It has
// ended, or was told to stop.
const chatDrain = 2 * time.Second

func newChat(io streams, loader func() *config.Loader) *cobra.Command {
	var message string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk to the bot in this terminal",
		Long: "Talk to the bot in this terminal, line by line; a line that ends in \\ goes on in the next. Ctrl-C stops the\n" +
			"run, twice leaves. With -m, one answer is written to stdout and nothing else, and the exit code says whether\n" +
			"it is whole; -m - takes the message from stdin. Beside a running bot the conversation is kept in memory only.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			term := terminal.Config{Verbose: verbose}
			if cmd.Flags().Changed("message") {
				var err error
				if term.Once, err = onceMessage(message, io.in); err != nil {
					return err
				}
				// Nobody wants to find yesterday's question in the answer to today's.
				term.Session = "once-" + strings.ToLower(rand.Text())
			}
			return chat(cmd.Context(), io, loader(), term)
		},
	}
	cmd.Flags().StringVarP(&message, "message", "m", "", "send `TEXT`, write the answer to stdout and exit")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "a line per turn on stderr")
	return cmd
}

func onceMessage(message string, in io.Reader) (string, error) {
	if message == "-" {
		data, err := io.ReadAll(in)
		if err != nil {
			return "", fmt.Errorf("read the message from stdin: %w", err)
		}
		message = string(data)
	}
	if strings.TrimSpace(message) == "" {
		return "", errors.New("the message is empty; write one after -m")
	}
	return message, nil
}

func chat(ctx context.Context, io streams, loader *config.Loader, term terminal.Config) error {
	cfg, err := loader.Load()
	if err != nil {
		return err
	}
	log := newLogger(io.err, cfg, slog.LevelError)
	limitMemory(log)
	if found := cfg.Detect(ctx); found.Model == "demo/demo" && term.Once == "" {
		fmt.Fprintf(io.err, "The demo model answers: %s.\n", found.Why)
	}
	cfg.Server.Drain = chatDrain
	if err := makeWorkspace(cfg.Tools.Workspace); err != nil {
		return err
	}
	s, err := chatStore(ctx, cfg, io.err, log)
	if err != nil {
		return err
	}
	defer s.Close()
	m, err := newMeters(cfg, s, nil, log)
	if err != nil {
		return err
	}
	model, err := newModel(cfg, m, log)
	if err != nil {
		return err
	}
	audit, err := openAudit(cfg.Log.Audit, redact.New(cfg.Secrets()...))
	if err != nil {
		return err
	}
	defer audit.close()
	interrupts, stop := ctrlC()
	defer stop()
	term.In, term.Out, term.Err, term.Name, term.Interrupts = io.in, io.out, io.err, cfg.Agent.Name, interrupts
	term.InTTY, term.OutTTY, term.ErrTTY = isTTY(io.in), isTTY(io.out), isTTY(io.err)
	term.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	channel := terminal.New(term)
	box, err := newToolbox(cfg, log)
	if err != nil {
		return err
	}
	defer box.close()
	stopServers := box.start(ctx)
	defer stopServers()
	g, err := newGateway(cfg, onlySessions{s, func(session string) bool { return session == channel.Conversation() }},
		model, []channels.Channel{channel}, box, m, audit, log)
	if err != nil {
		return err
	}
	return converse(ctx, g.Run, channel)
}

// converse runs the bot until the conversation is over.
func converse(ctx context.Context, run func(context.Context) error, channel *terminal.Channel) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ran := make(chan error, 1)
	go func() { ran <- run(ctx) }()
	select {
	case err := <-ran: // it could not begin
		return err
	case <-channel.Done():
	}
	cancel()
	err := <-ran
	switch result := channel.Result(); {
	case errors.Is(result, terminal.ErrInterrupted):
		return &exitError{code: 130}
	case result != nil:
		return result
	}
	return err
}

// chatStore opens the configured store, or one in memory where a running bot
// has it.
func chatStore(ctx context.Context, cfg *config.Config, errs io.Writer, log *slog.Logger) (store.Store, error) {
	s, err := drivers()[cfg.Store.Driver](ctx, cfg.Store, log)
	locked, ok := errors.AsType[*sqlite.LockedError](err)
	if !ok {
		return s, err
	}
	who := "another process"
	if locked.PID != 0 {
		who = fmt.Sprintf("process %d", locked.PID)
	}
	fmt.Fprintf(errs, "A bot is running (%s has %s), so this conversation uses the memory store and is forgotten at the end.\n", who, locked.Path)
	return memory.New(), nil
}

// ctrlC turns SIGINT into interrupts of the conversation. SIGTERM ends the
// program as it does any other.
func ctrlC() (interrupts <-chan struct{}, stop func()) {
	signals := make(chan os.Signal, 1)
	out := make(chan struct{})
	ended := make(chan struct{})
	signal.Notify(signals, syscall.SIGINT)
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-signals:
			}
			select {
			case <-ended:
				return
			case out <- struct{}{}:
			}
		}
	}()
	return out, func() {
		signal.Stop(signals)
		close(ended)
	}
}

func isTTY(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
