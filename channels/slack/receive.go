package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
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
	left.Store(int32(len(list))) //nolint:gosec // as many as a message has buttons
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

// readMessage reads an event of type message. Which subtypes are messages of
// people is listed; all others are notices.
func (c *Channel) readMessage(ev *event) []*arrival {
	switch ev.Subtype {
	case "", "file_share", "thread_broadcast", "me_message", "bot_message":
		return c.arrive(ev, asMessage)
	case "message_changed":
		return c.readChange(ev)
	case "message_deleted":
		return c.readDeletion(ev)
	}
	return nil
}

func (ev *event) direct() bool { return ev.ChannelType == "im" || strings.HasPrefix(ev.Channel, "D") }

// fromBot tells whether a bot wrote, and whether it is this one.
func (c *Channel) fromBot(ev *event) (bot, self bool) {
	me := c.me.Load()
	self = ev.User != "" && ev.User == me.user || ev.BotID != "" && ev.BotID == me.bot
	return self || ev.BotID != "" || ev.Subtype == "bot_message" || ev.User == "USLACKBOT", self
}

// arrive reads a message of a person.
func (c *Channel) arrive(ev *event, as form) []*arrival {
	bot, self := c.fromBot(ev)
	if self || ev.Channel == "" || ev.TS == "" || ev.Text == "" && len(ev.Files) == 0 && len(ev.Attachments) == 0 {
		return nil
	}
	a := c.inbound(ev, ev.TS, ev.ThreadTS)
	a.form, a.in.Kind = as, channels.Message
	a.in.EventID = c.messageKey(ev.Channel, ev.TS)
	a.in.Attachments, a.in.Quote = attachments(ev.Files), quoted(ev.Attachments)
	if bot {
		a.in.Sender = channels.Sender{ID: first(ev.User, ev.BotID), Name: first(ev.Username, ev.BotProfile.Name, ev.BotID), Bot: true}
	}
	if as == asMention {
		a.in.Addressed = true
	}
	return c.admitted(a, ev)
}

// readChange reads message_changed, which tells of previews, counters and the
// bot's own updates as well as of what people changed.
func (c *Channel) readChange(ev *event) []*arrival {
	m := ev.Message
	if m == nil || m.TS == "" || ev.Channel == "" {
		return nil
	}
	m.Channel, m.ChannelType = ev.Channel, ev.ChannelType
	if m.Subtype == "tombstone" { // the root of a thread that goes on
		return c.deletion(ev, m.TS, ev.Previous)
	}
	if bot, _ := c.fromBot(m); bot || m.Edited == nil {
		return nil
	}
	if p := ev.Previous; p != nil && p.Text == m.Text && len(p.Files) == len(m.Files) {
		return nil
	}
	a := c.inbound(m, m.TS, m.ThreadTS)
	a.stamp = ev.EventTS
	a.in.Kind, a.in.At = channels.Edit, timeOf(m.Edited.TS)
	a.in.EventID = c.messageKey(ev.Channel, m.TS) + ":edit:" + m.Edited.TS
	a.in.Attachments = attachments(m.Files)
	return c.admitted(a, m)
}

func (c *Channel) readDeletion(ev *event) []*arrival {
	if ev.DeletedTS == "" || ev.Channel == "" {
		return nil
	}
	return c.deletion(ev, ev.DeletedTS, ev.Previous)
}

func (c *Channel) deletion(ev *event, ts string, was *event) []*arrival {
	if was == nil {
		was = &event{}
	}
	if bot, _ := c.fromBot(was); bot {
		return nil
	}
	was.Channel, was.ChannelType = ev.Channel, ev.ChannelType
	a := c.inbound(was, ts, was.ThreadTS)
	a.stamp, a.raw = ev.EventTS, ""
	a.in.Kind, a.in.At = channels.Delete, timeOf(ev.EventTS)
	a.in.EventID = c.messageKey(ev.Channel, ts) + ":delete"
	return c.admitted(a, was)
}

// readStopped reads that somebody pressed Slack's own stop button in an agent's
// thread.
func (c *Channel) readStopped(ev *event) []*arrival {
	if ev.Channel == "" || ev.User == "" {
		return nil
	}
	a := c.inbound(ev, "", ev.ThreadTS)
	a.in.Kind, a.in.Addressed, a.raw = channels.Message, true, "/stop"
	a.in.EventID = c.messageKey(ev.Channel, ev.ThreadTS) + ":stopped:" + ev.EventTS
	return c.admitted(a, ev)
}

// inbound makes the part of an arrival that all events of a message share.
func (c *Channel) inbound(ev *event, ts, thread string) *arrival {
	me, direct := c.me.Load(), ev.direct()
	to := c.target(ev.Channel, ts, thread, direct)
	to.User = ev.User
	named, other := me.mentioned(ev.Text)
	in := &channels.Inbound{MessageID: ts, Target: to, Sender: channels.Sender{ID: ev.User}, At: timeOf(first(ts, ev.EventTS))}
	inThread := !direct && thread != "" && thread != ts
	in.Addressed = direct || named || inThread && !other && ev.ParentUser == me.user
	in.Continues = inThread && !other
	return &arrival{lane: ev.Channel, stamp: first(ev.EventTS, ts), raw: ev.Text, in: in}
}

// admitted leaves out what people of other organisations wrote.
func (c *Channel) admitted(a *arrival, ev *event) []*arrival {
	me := c.me.Load()
	team := first(ev.UserTeam, ev.SourceTeam, ev.Team)
	if team != "" && team != me.team && me.enterprise == "" {
		c.log.Debug("dropped a message of somebody from another organisation", "user", ev.User, "team", team, "chat", ev.Channel)
		return nil
	}
	return []*arrival{a}
}

// messageKey names a message in all workspaces.
func (c *Channel) messageKey(channel, ts string) string {
	return "slack:" + c.me.Load().team + ":" + channel + ":" + ts
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
	var wait backoff
	for {
		err := host.Accept(ctx, *a.in)
		if err == nil {
			if wait.last > 0 {
				c.health.clear()
			}
			c.twins.add(a.in.EventID, a.form)
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

func first(of ...string) string {
	for _, s := range of {
		if s != "" {
			return s
		}
	}
	return ""
}

// timeOf reads a ts, which is seconds and microseconds.
func timeOf(ts string) time.Time {
	seconds, fraction, _ := strings.Cut(ts, ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Now()
	}
	micro, _ := strconv.ParseInt(fraction, 10, 64)
	return time.Unix(n, micro*1000)
}
