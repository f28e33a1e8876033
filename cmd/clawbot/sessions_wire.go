package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"clawbot/config"
	"clawbot/gateway"
	"clawbot/internal/redact"
	"clawbot/internal/wirelog"
	"clawbot/store"
)

// wireLog is where log.wire keeps model calls.
func wireLog(cfg *config.Config, log *slog.Logger) *wirelog.Log {
	return &wirelog.Log{Dir: cfg.Log.WireDir, Redact: redact.New(cfg.Secrets()...), Logger: log}
}

// showWire prints the requests and raw answers of one turn: of the model's
// message at a position as "sessions show" numbers them, or of the "last".
func showWire(ctx context.Context, w *writeAll, cfg *config.Config, s store.Store, session, turn string) error {
	h, err := turnAt(ctx, s, session, turn)
	if err != nil {
		return err
	}
	// A message's own time is when its call began; an entry's, when it was kept.
	calls, err := wireLog(cfg, slog.New(slog.DiscardHandler)).Calls(session, h.Message.Time, h.At)
	if err != nil {
		return err
	}
	if len(calls) == 0 {
		return fmt.Errorf("no request of #%d is recorded on this machine: they are kept for a week, while log.wire is true, where the bot ran", h.Position)
	}
	for i, call := range calls {
		if i > 0 {
			w.printf("\n")
		}
		for line := range strings.Lines(strings.TrimRight(call, "\n") + "\n") {
			w.printf("%s", printable(line))
		}
	}
	return w.err
}

func turnAt(ctx context.Context, s store.Store, session, turn string) (found gateway.History, err error) {
	position := int64(-1)
	if turn != "last" {
		position, err = strconv.ParseInt(strings.TrimPrefix(turn, "#"), 10, 64)
		if err != nil || position < 0 {
			return found, fmt.Errorf("--wire wants the number of a model's message, as clawbot sessions show has them (#12), or last, and not %q", turn)
		}
	}
	ok := false
	for h, err := range history(ctx, s, session, max(position, 0)) {
		if err != nil {
			return found, err
		}
		if h.Kind == store.KindAssistant {
			found, ok = h, true
		}
		if position >= 0 {
			break
		}
	}
	switch {
	case position < 0 && !ok:
		return found, errors.New("the model has said nothing in this conversation")
	case !ok || position >= 0 && found.Position != position:
		return found, fmt.Errorf("#%d is no message of the model; clawbot sessions show %s has the numbers", position, session)
	}
	return found, nil
}

// forgetWire removes what was recorded of a session on this machine.
func forgetWire(loader *config.Loader, session string) error {
	cfg, err := loader.Load()
	if err != nil {
		return err
	}
	return wireLog(cfg, nil).Forget(session)
}
