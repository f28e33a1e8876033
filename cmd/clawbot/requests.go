package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"clawbot/gateway"
	"clawbot/store"
)

// A command that can't write to the database of a running bot leaves a request
// in State; the bot looks for them.
const (
	deleteRequest = "request/delete/"
	// requestEvery is how often the bot looks.
	requestEvery = time.Second
	// requestPatience is how long a command waits before it withdraws.
	requestPatience = 5 * time.Second
)

// serveRequests does what commands ask for, until ctx ends.
func serveRequests(ctx context.Context, s store.Store, log *slog.Logger) {
	tick := time.NewTicker(requestEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		list, err := s.State().List(ctx, deleteRequest)
		if err != nil {
			continue // the sweep has told of a store that does not answer
		}
		for _, v := range list {
			serveDeletion(ctx, s, strings.TrimPrefix(v.Key, deleteRequest), log)
		}
	}
}

func serveDeletion(ctx context.Context, s store.Store, session string, log *slog.Logger) {
	err := gateway.DeleteSession(ctx, s, session)
	if _, held := errors.AsType[*store.HeldError](err); held {
		return // asked for again until the command gives up
	}
	if err == nil {
		log.Info("session deleted on request", "session", session)
		err = s.State().Delete(ctx, deleteRequest+session)
	}
	if err != nil && ctx.Err() == nil {
		log.Error("a session was to be deleted on request and was not", "session", session, "err", err)
	}
}
