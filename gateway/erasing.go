package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"clawbot/channels"
	"clawbot/store"
)

const (
	erasePrefix = "erase/"
	eraseTopic  = "erase"
	eraseTerm   = "erase"
	// eraseEvery is how often a process looks for requests whose hint was lost,
	// or that somebody else did not finish.
	eraseEvery = 15 * time.Second
	// eraseTime bounds one attempt at a person's data.
	eraseTime = 10 * time.Minute
	// eraseTold is how long it is kept what became of a request, for the command
	// that made it.
	eraseTold = 10 * time.Minute
)

// Erasure is a request to delete what is kept about a person, as it stands in
// the store. A running bot sees to it, whichever process made it.
type Erasure struct {
	Channel string    `json:"channel"`
	Sender  string    `json:"sender"`
	By      string    `json:"by"` // who asked for it
	At      time.Time `json:"at"`
	// Tell is where the person is told; nil is nowhere.
	Tell *channels.Target `json:"tell,omitempty"`
	// Erased is what was removed until now. Done says that it was all, at Ended,
	// and Failed why the latest attempt was not.
	Erased Erased    `json:"erased"`
	Done   bool      `json:"done,omitempty"`
	Ended  time.Time `json:"ended,omitzero"`
	Failed string    `json:"failed,omitempty"`
}

func eraseKey(channel, sender string) string { return erasePrefix + userKey(channel, sender) }

// RequestErasure has a bot that runs on the store do what [ErasePerson] does. A
// request for the same person that is not done yet is kept.
func RequestErasure(ctx context.Context, s store.Store, e Erasure) error {
	e.At = time.Now()
	err := update(ctx, s.State(), eraseKey(e.Channel, e.Sender), func(data []byte) ([]byte, error) {
		var have Erasure
		if json.Unmarshal(data, &have) == nil && !have.Done && !have.At.IsZero() {
			return data, nil
		}
		return json.Marshal(e)
	})
	if err != nil {
		return fmt.Errorf("ask for the deletion of what is kept about %s:%s: %w", e.Channel, e.Sender, err)
	}
	_ = s.Bus().Publish(ctx, eraseTopic, nil) // a lost hint costs eraseEvery
	return nil
}

// ErasureOf returns the request about a person; [store.ErrNotFound] if there is
// none, or it was done a while ago.
func ErasureOf(ctx context.Context, s store.Store, channel, sender string) (e Erasure, err error) {
	v, err := s.State().Get(ctx, eraseKey(channel, sender))
	if err != nil {
		return e, err
	}
	return e, json.Unmarshal(v.Data, &e)
}

// lookAtErasures has this process see what was just asked for.
func (g *Gateway) lookAtErasures() {
	select {
	case g.erase <- struct{}{}:
	default:
	}
}

// keepErasing sees to requests, one process at a time, until ctx ends.
func (g *Gateway) keepErasing(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-g.erase:
		}
		err := g.eraseAll(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			g.log.Error("what people asked to be deleted could not be deleted; it is tried again", "err", err)
		}
		failing = err != nil
		timer.Reset(eraseEvery + jitter(eraseEvery/4))
	}
}

func (g *Gateway) eraseAll(ctx context.Context) error {
	list, err := g.cfg.Store.State().List(ctx, erasePrefix)
	if err != nil || len(list) == 0 {
		return err
	}
	return g.alone(ctx, eraseTerm, func(ctx context.Context, _ store.Term) error {
		var failed error
		for _, v := range list {
			failed = errors.Join(failed, g.eraseOne(ctx, v.Key))
		}
		return failed
	})
}

func (g *Gateway) eraseOne(ctx context.Context, key string) error {
	state := g.cfg.Store.State()
	v, err := state.Get(ctx, key) // another process may have done it meanwhile
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var e Erasure
	if err := json.Unmarshal(v.Data, &e); err != nil {
		return fmt.Errorf("the request %s can't be read: %w", key, err)
	}
	if e.Done {
		if time.Since(e.Ended) < eraseTold {
			return nil
		}
		return state.Delete(ctx, key)
	}
	working, cancel := context.WithTimeout(ctx, eraseTime)
	defer cancel()
	if b := g.cfg.Budget; b != nil {
		_ = b.Flush(working) // what is not written yet is changed in memory, but not counted
	}
	erased, failed := ErasePerson(working, g.cfg.Store, e.Channel, e.Sender, nil)
	e.Erased.add(erased)
	e.Done, e.Ended, e.Failed = failed == nil, time.Now(), ""
	if failed != nil {
		e.Failed = failed.Error()
	}
	data, err := json.Marshal(e)
	if err == nil {
		_, err = state.Put(ctx, key, data, v.Version)
	}
	if err = errors.Join(failed, err); err != nil {
		return err
	}
	g.enlisted.clear()
	g.log.Info("what was kept about a person is deleted", "channel", e.Channel, "sender", e.Sender, "by", e.By,
		"conversations", e.Erased.Conversations, "files", e.Erased.Files, "facts", e.Erased.Facts, "schedules", e.Erased.Schedules, "costs", e.Erased.Costs)
	if h := g.hosts[e.Channel]; h != nil && e.Tell != nil {
		h.notice(ctx, *e.Tell, channels.Sender{ID: e.Sender}, "I have deleted what I kept about you:\n\n"+e.Erased.String()+"\n\n"+keptForYou)
	}
	return nil
}

// alone runs fn under a term, unless another process holds it. Its context ends
// when the term is lost.
func (g *Gateway) alone(ctx context.Context, name string, fn func(context.Context, store.Term) error) error {
	ttl := g.cfg.LeaseTTL
	term, err := g.cfg.Store.Elect(ctx, name, g.cfg.Owner, ttl)
	if _, held := errors.AsType[*store.HeldError](err); held {
		return nil
	}
	if err != nil {
		return err
	}
	working, cancel := context.WithCancel(ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		defer cancel()
		for sleep(working, ttl/3) {
			if err := term.Renew(working); err != nil {
				return
			}
		}
	}()
	err = fn(working, term)
	cancel()
	<-renewed
	_ = term.Resign(context.WithoutCancel(ctx)) // or it expires
	return err
}
