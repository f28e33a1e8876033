package redis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"clawbot/store"
)

type lease struct {
	store *Store
	id    string
	keys  []string
	ttl   time.Duration
	start store.Start
}

var _ store.Lease = (*lease)(nil)

func (l *lease) Session() string    { return l.id }
func (l *lease) Start() store.Start { return l.start }

// wrap says what failed where.
func (l *lease) wrap(op string, err error) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", op, l.id, err)
	}
	return nil
}

func (l *lease) call(ctx context.Context, sc *script, args ...any) (any, error) {
	return l.store.call(ctx, sc, l.keys, args...)
}

func (l *lease) Peek(ctx context.Context, signalsBefore int64) (w store.Waiting, err error) {
	reply, err := l.call(ctx, l.store.scripts.peek, l.id, l.start.Token, signalsBefore)
	if err == nil {
		w, err = waiting(l.id, reply)
	}
	return w, l.wrap("peek", err)
}

func (l *lease) Renew(ctx context.Context) (w store.Waiting, err error) {
	reply, err := l.call(ctx, l.store.scripts.renew, l.id, l.start.Token, micros(l.ttl))
	if err == nil {
		w, err = waiting(l.id, reply)
	}
	return w, l.wrap("renew", err)
}

func (l *lease) Bury(ctx context.Context, positions []int64, reason string) error {
	args := []any{l.id, l.start.Token, word(reason)}
	for _, p := range positions {
		args = append(args, p)
	}
	keys := append(slices.Clip(l.keys), l.store.keys.dead(l.id))
	_, err := l.store.call(ctx, l.store.scripts.bury, keys, args...)
	return l.wrap("bury", err)
}

func (l *lease) Intent(ctx context.Context, call string) (before bool, err error) {
	reply, err := l.store.callDurably(ctx, l.store.scripts.intent, l.keys, l.start.Token, word(call))
	return err == nil && number(reply) == 1, l.wrap("intent", err)
}

func (l *lease) SetReply(ctx context.Context, reply store.Reply) error {
	_, err := l.call(ctx, l.store.scripts.setReply, l.start.Token, l.store.next(), reply.Open, word(reply.Run), reply.Data)
	return l.wrap("set reply", err)
}

func (l *lease) ReleaseIfEmpty(ctx context.Context) (bool, error) {
	reply, err := l.call(ctx, l.store.scripts.release, l.id, l.start.Token)
	return err == nil && number(reply) == 1, l.wrap("release", err)
}

func (l *lease) HandOff(ctx context.Context, delay time.Duration, crashed bool) error {
	_, err := l.call(ctx, l.store.scripts.handOff, l.id, l.start.Token, micros(max(delay, 0)), crashed)
	return l.wrap("hand off", err)
}
