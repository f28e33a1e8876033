package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"clawbot/channels"
)

var (
	_ channels.Channel     = (*Channel)(nil)
	_ channels.Attachments = (*Channel)(nil)
	_ channels.Checker     = (*Channel)(nil)
	_ channels.Handler     = posted{}
)

// Receive delivers events to host until ctx ends, or Slack refuses a token.
func (c *Channel) Receive(ctx context.Context, host channels.Host) error {
	defer c.beside.Wait()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	in := &lanes{ctx: ctx, hold: c.hold, accept: func(ctx context.Context, a *arrival) error { return c.accept(ctx, host, a) }}
	defer in.wait()
	defer stop(nil)
	r := &reception{host: host, stop: stop, in: in}
	c.receiving.Store(r)
	defer c.receiving.CompareAndSwap(r, nil)
	err := c.identify(ctx)
	switch {
	case err != nil:
	case c.cfg.Mode == ModeHTTP:
		c.log.Info("slack posts to the endpoint", "path", c.route, "bot", c.me.Load().name)
		<-ctx.Done()
	default:
		err = c.keepSockets(ctx, in)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// hold is how long an event may wait for an earlier one.
func (c *Channel) hold() time.Duration {
	if c.cfg.Mode == ModeSocket && c.sockets.Load() < 2 {
		return 0
	}
	return c.pace.settle
}

// form says as what a message was delivered.
type form uint8

const (
	asMessage form = 1 << iota
	asMention
)

// arrival is an event on its way to the host.
type arrival struct {
	lane  string // the channel: what is in one is accepted in order
	stamp string // when it happened, event_ts; empty if that is not told
	form  form   // of what may have a twin
	raw   string // a person's text as Slack wrote it
	ready bool   // names and roles are filled in
	// foreign is who belongs to another organisation.
	foreign bool
	in      *channels.Inbound
}

// take submits what an envelope or a request holds. done is called once: with
// nil when all of it is accepted or was of no use, with an error when it should
// be delivered again.
func (c *Channel) take(in *lanes, kind string, payload []byte, done func(error)) {
	list := c.read(kind, payload)
	if len(list) == 0 {
		done(nil)
		return
	}
	left := atomic.Int32{}
	left.Store(int32(len(list)))
	var once sync.Once
	one := func(err error) {
		if err != nil {
			once.Do(func() { done(err) })
		} else if left.Add(-1) == 0 {
			once.Do(func() { done(nil) })
		}
	}
	for _, a := range list {
		if !in.submit(a, one) {
			one(errBusy)
		}
	}
}

var errBusy = errors.New("too many events wait already, or the channel is stopping")

// read turns a payload into arrivals. It never fails: what is of no use gives
// none.
func (c *Channel) read(kind string, payload []byte) (list []*arrival) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("skipped an event that broke its reader", "kind", kind, "panic", p)
			list = nil
		}
	}()
	switch kind {
	case "events_api":
		return c.readEvent(payload)
	case "interactive":
		return c.readInteraction(payload)
	case "slash_commands":
		return c.readSlash(payload)
	}
	c.log.Debug("skipped an envelope of a kind that is not handled", "kind", kind)
	return nil
}

// decode reads JSON as far as its fields are of the types that are expected.
func (c *Channel) decode(data []byte, into any) bool {
	err := json.Unmarshal(data, into)
	if _, wrongType := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !wrongType {
		c.log.Warn("skipped an event that can't be read", "error", err)
		return false
	}
	return true
}

func (c *Channel) readEvent(payload []byte) []*arrival {
	var cb callback
	var ev event
	if !c.decode(payload, &cb) || len(cb.Event) == 0 || !c.ours(&cb) || !c.decode(cb.Event, &ev) {
		return nil
	}
	switch ev.Type {
	case "message":
		return c.readMessage(&ev)
	case "app_mention":
		return c.arrive(&ev, asMention)
	case "agent_session_stopped":
		return c.readStopped(&ev)
	case "assistant_thread_started", "assistant_thread_context_changed":
		c.readAssistant(&ev)
		return nil
	case "app_home_opened":
		c.readHome(&ev)
		return nil
	case "tokens_revoked", "app_uninstalled":
		c.verify()
		return nil
	}
	c.log.Debug("skipped an event of a type that is not handled", "type", ev.Type)
	return nil
}

// ours tells whether an event is for this app in this workspace.
func (c *Channel) ours(cb *callback) bool {
	at := cb.Team
	for _, a := range cb.Authorizations {
		if a.Team == c.me.Load().team {
			at = a.Team // a shared channel: the event is of the other side
		}
	}
	return c.mine(at, cb.Enterprise, cb.App)
}

// mine tells whether a workspace and an app are the bot's.
func (c *Channel) mine(team, enterprise, app string) bool {
	me, known := c.me.Load(), c.app.Load()
	sameTeam := team == me.team || me.enterprise != "" && enterprise == me.enterprise
	if sameTeam && (known == nil || app == "" || app == *known) {
		return true
	}
	c.log.Warn("dropped an event of another workspace or app", "team", team, "app", app)
	return false
}

// verify asks whether the token still works; if not, receiving ends.
func (c *Channel) verify() {
	c.beside.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
		defer cancel()
		if err := c.Check(ctx); err != nil {
			c.log.Warn("slack says that tokens were revoked", "error", err)
		}
	})
}

// accept makes one arrival durable; it fails only when ctx ends.
func (c *Channel) accept(ctx context.Context, host channels.Host, a *arrival) error {
	if c.twins.other(a.in.EventID, a.form) {
		return nil
	}
	if c.fill(ctx, a); a.foreign {
		c.log.Debug("dropped a message of somebody from another organisation", "user", a.in.Sender.ID, "chat", a.in.Target.Chat)
		return nil
	}
	c.talks.note(a.in)
	var wait backoff
	for {
		err := host.Accept(ctx, *a.in)
		if err == nil {
			if wait.last > 0 {
				c.health.clear()
			}
			c.twins.add(a.in.EventID, a.form)
			c.entitle(a.in)
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		pause := wait.next(c.pace.accept, c.pace.acceptMax)
		c.health.set(fmt.Errorf("can't accept a message: %w; messages wait until the store is back", err))
		c.log.Error("can't accept a message; trying again", "error", err, "wait", pause)
		pauseFor(ctx, pause)
	}
}
