package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"clawbot/config"
	"clawbot/gateway"
	"clawbot/store"
	"clawbot/store/sqlite"
)

func newSessionsDelete(io streams, loader func() *config.Loader) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete SESSION",
		Short: "Delete a conversation for good",
		Long: "Delete a conversation for good: its transcript, what waits in it and its dead letters. SESSION is the full name,\n" +
			"which is asked for once more unless --yes is given. Files in the workspace stay.",
		Args: one("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			session := args[0]
			err := beside(cmd.Context(), io, loader(), func(_ *config.Config, s store.Store) error {
				info, err := find(cmd.Context(), s, session)
				if err == nil && info.Session != session {
					err = fmt.Errorf("there is no session %q; the only one that begins so is %s", session, info.Session)
				}
				if err != nil || yes {
					return err
				}
				return confirm(io, info)
			})
			if err != nil {
				return err
			}
			if err := deleteSession(cmd.Context(), io, loader(), session); err != nil {
				return err
			}
			if err := forgetWire(loader(), session); err != nil {
				return err
			}
			_, err = fmt.Fprintln(io.out, "deleted "+session)
			return err
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "don't ask")
	return cmd
}

// confirm has the session's name typed.
func confirm(io streams, info store.SessionInfo) error {
	fmt.Fprintf(io.err, "%s has %d entries and can't be brought back. Type its name to delete it: ", info.Session, info.Tail)
	line, err := bufio.NewReader(io.in).ReadString('\n')
	if err != nil && line == "" {
		fmt.Fprintln(io.err)
		return errors.New("nothing was deleted: no answer; use --yes where nobody can be asked")
	}
	if strings.TrimSpace(line) != info.Session {
		return errors.New("nothing was deleted: that is not its name")
	}
	return nil
}

// deleteSession deletes it here, or has the bot do it that holds the database.
func deleteSession(ctx context.Context, io streams, loader *config.Loader, session string) error {
	cfg, err := loader.Load()
	if err != nil {
		return err
	}
	log := newLogger(io.err, cfg, slog.LevelError)
	s, err := drivers()[cfg.Store.Driver](ctx, cfg.Store, log)
	if locked, ok := errors.AsType[*sqlite.LockedError](err); ok {
		return requestDeletion(ctx, cfg, log, session, locked)
	}
	if err != nil {
		return err
	}
	err = gateway.DeleteSession(ctx, s, session)
	if held, ok := errors.AsType[*store.HeldError](err); ok {
		err = busyError(session, held.Owner)
	}
	return errors.Join(err, s.Close())
}

func busyError(session, owner string) error {
	return fmt.Errorf("%s was not deleted: %s works on it; send /stop there, or wait until it is answered", session, owner)
}

// requestDeletion leaves a request in the database and waits until the bot that
// runs on it has seen to it.
func requestDeletion(ctx context.Context, cfg *config.Config, log *slog.Logger, session string, locked *sqlite.LockedError) error {
	s, err := openBeside(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer s.Close()
	key := deleteRequest + session
	if _, err := s.State().Put(ctx, key, []byte("1"), 0); err != nil && !errors.Is(err, store.ErrConflict) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestPatience)
	defer cancel()
	for {
		_, err := s.State().Get(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			withdraw, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer stop()
			_ = s.State().Delete(withdraw, key) // then the bot deletes it later
			return busyError(session, fmt.Sprintf("the bot (process %d)", locked.PID))
		case <-time.After(requestEvery / 5):
		}
	}
}
