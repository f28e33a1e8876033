package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"clawbot/channels"
	"clawbot/gateway/budget"
	"clawbot/store"
)

const (
	alertPrefix = "alert/"
	// alertEvery is how often what was noticed is looked at again.
	alertEvery = 30 * time.Second
	// alertQuiet is the least time between two alerts about the same thing, so
	// that what comes and goes is no flood.
	alertQuiet = 30 * time.Minute
	// alertStale is when a process that noticed something counts as gone: others
	// may then say that it is over.
	alertStale = 5 * time.Minute
	// downAfter is how long a channel must be down.
	downAfter = 5 * time.Minute
)

// Alert is something that whoever runs the bot must know of.
type Alert struct {
	// Key names what is wrong, the same in every process and as long as it
	// lasts: a part of a key of [store.State], such as "model/openai".
	Key string
	// Text and Over are Markdown for owners: what is wrong and what to do, and
	// that it is over.
	Text, Over string
	// Local says that processes notice it apart, so that only the one that did
	// knows when it is over.
	Local bool
	// Down is the channel that can't be written to because of it.
	Down string
	// Told says that owners know already: only its end is told.
	Told bool
}

// Alerts collects what is noticed, for the [Gateway] that has it in its
// [Config] to tell the owners of: once when something begins and once when it
// is over, by one of the processes that share the store. The zero value works;
// its methods never wait and are safe for concurrent use.
type Alerts struct {
	mu   sync.Mutex
	seen map[string]*noticed
	kick chan struct{}
}

type noticed struct {
	alert Alert
	bad   bool
	at    time.Time // when that was seen last
	news  bool      // since it was looked at
}

// Raise notes that something is wrong. It is called as often as that is seen.
func (a *Alerts) Raise(alert Alert) { a.note(alert, true) }

// Clear notes that what Key and Over name is well.
func (a *Alerts) Clear(alert Alert) { a.note(alert, false) }

func (a *Alerts) note(alert Alert, bad bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.seen[alert.Key]
	if n != nil && n.bad == bad {
		n.at = time.Now()
		return
	}
	if a.seen == nil {
		a.seen = map[string]*noticed{}
	}
	a.seen[alert.Key] = &noticed{alert: alert, bad: bad, at: time.Now(), news: true}
	select {
	case a.bell() <- struct{}{}:
	default:
	}
}

// bell rings when something changes. a.mu is held.
func (a *Alerts) bell() chan struct{} {
	if a.kick == nil {
		a.kick = make(chan struct{}, 1)
	}
	return a.kick
}

// take returns what is wrong, and what is well since it was taken last.
func (a *Alerts) take() []noticed {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []noticed
	for _, n := range a.seen {
		if n.bad || n.news {
			list = append(list, *n)
			n.news = false
		}
	}
	return list
}

// recall has everything be looked at once more: what another process noticed may
// be over, and that process gone.
func (a *Alerts) recall() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range a.seen {
		n.news = true
	}
}

// again has something be looked at once more.
func (a *Alerts) again(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := a.seen[key]; n != nil {
		n.news = true
	}
}

// standingAlert is what all processes know of an alert.
type standingAlert struct {
	Since time.Time `json:"since"`
	// Told is when owners were last told that it began; zero if nobody could be.
	Told time.Time `json:"told,omitzero"`
	By   string    `json:"by"`   // the process that sees it
	Seen time.Time `json:"seen"` // by that process
	Over bool      `json:"over,omitempty"`
}

// keepAlerts tells owners until ctx ends.
func (g *Gateway) keepAlerts(ctx context.Context) {
	a := g.cfg.Alerts
	a.mu.Lock()
	bell := a.bell()
	a.mu.Unlock()
	tick := time.NewTicker(alertEvery)
	defer tick.Stop()
	down := map[string]time.Time{}
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-bell:
		case <-tick.C:
			g.watchChannels(down)
			g.watchBudget(ctx)
			if time.Since(last) >= alertStale {
				last = time.Now()
				a.recall()
			}
		}
		for _, n := range a.take() {
			if err := g.alert(ctx, n); err != nil && ctx.Err() == nil {
				a.again(n.alert.Key)
				g.log.Warn("owners can't be told yet", "about", n.alert.Key, "err", err)
			}
		}
	}
}

// watchChannels looks how the channels are that this process receives. down
// says since when they aren't.
func (g *Gateway) watchChannels(down map[string]time.Time) {
	for _, h := range g.order {
		name := h.channel.Name()
		state := h.state.Load()
		err := state.Err
		if c, ok := h.channel.(channels.Health); ok && err == nil && state.Receiving {
			err = c.Health()
		}
		_, exclusive := h.channel.(channels.Exclusive)
		a := Alert{Key: "channel/" + keyPart(name), Down: name, Local: !exclusive,
			Over: fmt.Sprintf("✅ The channel `%s` works again.", name)}
		switch {
		case err != nil:
			since, known := down[name]
			if !known {
				since, down[name] = time.Now(), time.Now()
			}
			if time.Since(since) >= downAfter {
				a.Text = fmt.Sprintf("🔌 The channel `%s` is down since %s: %s", name, since.UTC().Format("15:04 UTC"), quoted(err.Error()))
				g.cfg.Alerts.Raise(a)
			}
		case state.Receiving:
			delete(down, name)
			g.cfg.Alerts.Clear(a)
		default:
			delete(down, name) // another process has it, and says how it is
		}
	}
}

// dailyBudget is the alert that the day's budget for everybody is spent. Its
// beginning is told with the message that could not be answered.
func dailyBudget() Alert {
	return Alert{Key: "budget/day", Told: true, Over: "✅ The day's budget for everybody has room again: I answer as before. `/budget` shows it."}
}

// watchBudget looks whether the day's budget has room again: another day has
// begun, or somebody has raised it. How it was spent is in spentAt.
func (g *Gateway) watchBudget(ctx context.Context) {
	b := g.cfg.Budget
	if b == nil || b.Limits().DailyUSD == 0 {
		g.cfg.Alerts.Clear(dailyBudget())
		return
	}
	list, err := b.Standings(ctx, &budget.Account{})
	if err != nil {
		return // whoever wants to spend is told of that
	}
	for _, s := range list {
		if s.Kind != budget.Daily {
			continue
		}
		was := g.spentAt.Load()
		if was != nil && was.Resets.Equal(s.Resets) && was.Limit >= s.Limit || was == nil && s.Left() < s.Limit/4 {
			continue
		}
		g.spentAt.Store(nil)
		g.cfg.Alerts.Clear(dailyBudget())
	}
}

// alert brings what is noticed here together with what all processes know.
func (g *Gateway) alert(ctx context.Context, n noticed) error {
	state, key := g.cfg.Store.State(), alertPrefix+n.alert.Key
	v, err := state.Get(ctx, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	var s standingAlert
	known := err == nil && json.Unmarshal(v.Data, &s) == nil
	open := known && !s.Over
	now := time.Now()
	next, text := s, ""
	mine := s.By == g.cfg.Owner || now.Sub(s.Seen) > alertStale
	switch {
	case n.bad && !open && known && now.Sub(s.Told) < alertQuiet:
		return nil // it comes and goes
	case n.bad && !open:
		next, text = standingAlert{Since: now, Told: now, By: g.cfg.Owner, Seen: now}, n.alert.Text
	case n.bad && s.Told.IsZero() && mine:
		next.Told, next.By, next.Seen, text = now, g.cfg.Owner, now, n.alert.Text
	case n.bad && mine && now.Sub(s.Seen) >= alertStale/5:
		next.By, next.Seen = g.cfg.Owner, now
	case n.bad, !open:
		return nil
	case n.alert.Local && !mine, n.at.Before(s.Seen):
		return nil // whoever sees it is there, or saw it later
	default:
		next.Over, next.By, next.Seen = true, g.cfg.Owner, now
		if !s.Told.IsZero() {
			text = n.alert.Over
		}
	}
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	version, err := state.Put(ctx, key, data, v.Version)
	if errors.Is(err, store.ErrConflict) {
		g.cfg.Alerts.again(n.alert.Key) // another process was first; look what it did
		return nil
	}
	if err != nil || text == "" || n.alert.Told && n.bad {
		return err
	}
	return g.tellAlert(ctx, n, key, version, next, text)
}

// tellAlert writes to the owners. What nobody took is tried again.
func (g *Gateway) tellAlert(ctx context.Context, n noticed, key string, version int64, s standingAlert, text string) error {
	told, cancel := context.WithTimeout(ctx, ownersTime)
	defer cancel()
	owners := g.owners()
	number := len(g.writeBut(told, n.alert.Down, owners, channels.Outgoing{Markdown: text}))
	if n.bad {
		g.log.Error("something needs its operator", "about", n.alert.Key, "what", n.alert.Text, "owners_told", number)
	} else {
		g.log.Info("what needed its operator is over", "about", n.alert.Key, "owners_told", number)
	}
	if number > 0 || !n.bad || len(owners) == 0 {
		return nil
	}
	s.Told = time.Time{}
	data, err := json.Marshal(s)
	if err == nil {
		_, err = g.cfg.Store.State().Put(ctx, key, data, version)
	}
	return err
}
