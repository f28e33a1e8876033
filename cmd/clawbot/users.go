package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"clawbot/config"
	"clawbot/gateway"
	"clawbot/store"
	"clawbot/store/sqlite"
)

func newUsers(io streams, loader func() *config.Loader) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "users",
		Short: "Delete what is kept about a person",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var yes bool
	del := &cobra.Command{
		Use:   "delete CHANNEL:ID",
		Short: "Delete all that is kept about a person",
		Long: "Delete what is kept about a person on a channel (telegram:12345): memory, reminders, direct conversations with their\n" +
			"files, dead letters and recorded model calls, their name in what was spent, and that they were let in. A running bot\n" +
			"does it, and stops what it does for them in private. The id is asked for once more unless --yes is given.\n" +
			"The person themselves can send /forgetme.",
		Args: one("CHANNEL:ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			channel, sender, ok := strings.Cut(args[0], ":")
			if !ok || channel == "" || sender == "" {
				return fmt.Errorf("%q names nobody: write the channel and the person's id, as telegram:12345; clawbot pairing list and clawbot sessions show have them", args[0])
			}
			if !yes {
				if err := confirmUser(io, args[0]); err != nil {
					return err
				}
			}
			erased, err := eraseUser(cmd.Context(), io, loader(), channel, sender)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(io.out, "deleted of %s:\n%s\n\n%s\n", args[0], erased, gateway.Kept)
			return err
		},
	}
	del.Flags().BoolVar(&yes, "yes", false, "don't ask")
	cmd.AddCommand(del)
	return cmd
}

// confirmUser has the person's id typed.
func confirmUser(io streams, who string) error {
	fmt.Fprintf(io.err, "What is kept about %s can't be brought back. Type the id to delete it: ", who)
	line, err := bufio.NewReader(io.in).ReadString('\n')
	if err != nil && line == "" {
		fmt.Fprintln(io.err)
		return errors.New("nothing was deleted: no answer; use --yes where nobody can be asked")
	}
	if strings.TrimSpace(line) != who {
		return errors.New("nothing was deleted: that is not the id")
	}
	return nil
}

// eraseUser deletes here, or has the bot do it that holds the database.
func eraseUser(ctx context.Context, io streams, loader *config.Loader, channel, sender string) (gateway.Erased, error) {
	cfg, err := loader.Load()
	if err != nil {
		return gateway.Erased{}, err
	}
	log := newLogger(io.err, cfg, slog.LevelError)
	open := drivers()[cfg.Store.Driver]
	if cfg.Store.Driver == "memory" {
		open = func(ctx context.Context, _ config.Store, log *slog.Logger) (store.Store, error) {
			return openBeside(ctx, cfg, log)
		}
	}
	s, err := open(ctx, cfg.Store, log)
	if _, locked := errors.AsType[*sqlite.LockedError](err); locked {
		s, err = openBeside(ctx, cfg, log)
		if err != nil {
			return gateway.Erased{}, err
		}
		erased, err := requestErasure(ctx, s, channel, sender)
		return erased, errors.Join(err, s.Close())
	}
	if err != nil {
		return gateway.Erased{}, err
	}
	// With a store that replicas share, each forgets its recorded model calls
	// when it hears of a deletion; what was recorded on this machine goes here.
	wire := wireLog(cfg, log)
	erased, err := gateway.ErasePerson(ctx, s, channel, sender, func(session string) {
		if err := wire.Forget(session); err != nil {
			log.Error("recorded model calls were not removed", "session", session, "err", err)
		}
	})
	if held, ok := errors.AsType[*store.HeldError](err); ok {
		err = fmt.Errorf("not all was deleted: %s works on a conversation of theirs and does not end; run this once more", held.Owner)
	}
	return erased, errors.Join(err, s.Close())
}

// erasePatience is how long a command waits for a bot to delete.
const erasePatience = 2 * time.Minute

// requestErasure has the running bot delete and waits for what it says.
func requestErasure(ctx context.Context, s store.Store, channel, sender string) (gateway.Erased, error) {
	by := "cli"
	if user := os.Getenv("USER"); user != "" {
		by += ":" + user
	}
	if err := gateway.RequestErasure(ctx, s, gateway.Erasure{Channel: channel, Sender: sender, By: by}); err != nil {
		return gateway.Erased{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, erasePatience)
	defer cancel()
	for {
		e, err := gateway.ErasureOf(ctx, s, channel, sender)
		switch {
		case err != nil && ctx.Err() == nil:
			return gateway.Erased{}, err
		case e.Done:
			return e.Erased, nil
		}
		select {
		case <-ctx.Done():
			if e.Failed == "" {
				e.Failed = "it is at work"
			}
			return e.Erased, fmt.Errorf("the running bot has not deleted all yet and goes on: %s", e.Failed)
		case <-time.After(requestEvery / 5):
		}
	}
}
