package main

import (
	"context"
	"slices"
	"strings"

	"clawbot/channels/terminal"
	"clawbot/store"
)

// onlySessions lets a process take up only some of the sessions that have
// something to do: a chat its own conversation, and the bot none of a terminal
// that was closed in the middle, where nobody waits any more.
type onlySessions struct {
	store.Store
	keep func(session string) bool
}

// Due implements [store.Inbox].
func (s onlySessions) Due(ctx context.Context, limit int) ([]string, error) {
	// Those that are left out must not stand before the others for ever.
	const most = 1000
	all, err := s.Store.Due(ctx, max(limit, most))
	own := slices.DeleteFunc(all, func(session string) bool { return !s.keep(session) })
	return own[:min(len(own), limit)], err
}

func notOfTerminal(session string) bool { return !strings.HasPrefix(session, terminal.Name+":") }
