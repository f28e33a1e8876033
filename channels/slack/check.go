package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"clawbot/channels"
)

const callTimeout = 15 * time.Second

// identity is who the bot is, from auth.test.
type identity struct {
	team, enterprise string
	user, bot        string
	name             string
	readsMetadata    bool // the bot may see the metadata of messages
}

// health is the last known trouble of receiving.
type health struct {
	mu  sync.Mutex
	err error
}

func (h *health) set(err error) { h.mu.Lock(); h.err = err; h.mu.Unlock() }
func (h *health) clear()        { h.set(nil) }

func (h *health) get() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// dead notes that the token is refused, and ends a Receive that is running.
func (c *Channel) dead(err error) {
	c.health.set(err)
	if r := c.receiving.Load(); r != nil {
		r.stop(err)
	}
}

// Health implements [channels.Health].
func (c *Channel) Health() error { return c.health.get() }

var _ channels.Health = (*Channel)(nil)

// Check reports trouble of receiving, a refused token, and missing scopes.
func (c *Channel) Check(ctx context.Context) error {
	if err := c.health.get(); err != nil {
		return err
	}
	var scopes string
	err := c.call(ctx, callTimeout, "auth.test", func(ctx context.Context) error {
		who, err := c.api.AuthTestContext(ctx)
		if err == nil {
			scopes = who.Header.Get("X-OAuth-Scopes")
		}
		return err
	})
	if err != nil {
		return c.remedy(err)
	}
	return missing(scopes)
}

// missing names the scopes without which the bot is deaf or mute.
func missing(granted string) error {
	if granted == "" {
		return nil // not told
	}
	var needed, also []string
	for _, s := range scopeTable {
		switch {
		case has(granted, s.name):
		case s.essential:
			needed = append(needed, s.name)
		default:
			also = append(also, s.name)
		}
	}
	if len(needed) == 0 {
		return nil
	}
	hint := ""
	if len(also) > 0 {
		hint = " (add " + strings.Join(also, ", ") + " as well, for the rest of what it can do)"
	}
	return fmt.Errorf("the Slack app lacks the scopes %s; add them on its page at https://api.slack.com/apps under OAuth & Permissions, Bot Token Scopes%s, and install it again",
		strings.Join(needed, ", "), hint)
}

func has(granted, scope string) bool {
	for s := range strings.SplitSeq(granted, ",") {
		if strings.TrimSpace(s) == scope {
			return true
		}
	}
	return false
}

// lacks tells once that a scope is missing.
func (c *Channel) lacks(method, scope string) {
	if _, told := c.lacking.LoadOrStore(method+" "+scope, true); !told {
		c.log.Warn("the Slack app lacks a scope; add it under OAuth & Permissions and install the app again", "call", method, "scope", scope)
	}
}

// remedy says what to do about a failed call that is not about a message.
func (c *Channel) remedy(err error) error {
	e, ok := errors.AsType[*channels.SendError](err)
	switch {
	case ok && e.Reason == channels.ReasonAuth:
		code, _ := errors.AsType[slack.SlackErrorResponse](err)
		return refused(code.Err)
	case ok && e.Outcome == channels.Rejected:
		return err
	case ok:
		err = e.Err
	}
	return fmt.Errorf("slack can't be reached: %w; check the network, channels.slack.api_url and channels.slack.proxy", err)
}

// identify learns who the bot is, however long Slack is away.
func (c *Channel) identify(ctx context.Context) error {
	var scopes string
	err := c.persist(ctx, "auth.test", func(ctx context.Context) error {
		who, err := c.api.AuthTestContext(ctx)
		if err != nil {
			return err
		}
		scopes = who.Header.Get("X-OAuth-Scopes")
		c.me.Store(&identity{
			team: who.TeamID, enterprise: who.EnterpriseID, user: who.UserID, bot: who.BotID, name: who.User,
			readsMetadata: scopes == "" || has(scopes, "metadata.message:read"),
		})
		return nil
	})
	if err != nil {
		return err
	}
	for _, s := range scopeTable {
		if scopes != "" && !has(scopes, s.name) && (s.name != "usergroups:read" || len(c.cfg.UserGroups) > 0) {
			c.log.Warn("the Slack app lacks a scope; add it under OAuth & Permissions and install the app again", "scope", s.name, "without_it", s.without)
		}
	}
	if c.cfg.Mode == ModeHTTP && has(scopes, "users:read") {
		c.learnApp(ctx)
	}
	return nil
}

// learnApp asks for the app's id, which a socket is told by itself. Without it
// the signature still tells Slack's requests for this app from others.
func (c *Channel) learnApp(ctx context.Context) {
	err := c.call(ctx, callTimeout, "bots.info", func(ctx context.Context) error {
		bot, err := c.api.GetBotInfoContext(ctx, slack.GetBotInfoParameters{Bot: c.me.Load().bot})
		if err == nil {
			c.app.Store(&bot.AppID)
		}
		return err
	})
	if err != nil {
		c.log.Debug("the app's id is not known", "error", err)
	}
}

// persist repeats a call until it succeeds, the token is refused or ctx ends.
func (c *Channel) persist(ctx context.Context, method string, do func(context.Context) error) error {
	var wait backoff
	for {
		err := c.call(ctx, callTimeout, method, do)
		if err == nil {
			c.health.clear()
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e, _ := errors.AsType[*channels.SendError](err)
		if err = c.remedy(err); e != nil && e.Reason == channels.ReasonAuth {
			return err
		}
		pause := wait.next(c.pace.error, c.pace.errorMax)
		if e != nil {
			pause = max(pause, min(e.RetryAfter, c.pace.errorMax))
		}
		c.health.set(err)
		c.log.Warn("slack does not answer as it should; trying again", "call", method, "error", err, "wait", pause)
		pauseFor(ctx, pause)
	}
}

// backoff doubles a pause from failure to failure.
type backoff struct{ last time.Duration }

func (b *backoff) next(first, most time.Duration) time.Duration {
	b.last = min(max(first, 2*b.last), most)
	return b.last
}

// pauseFor waits or returns when ctx ends.
func pauseFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
