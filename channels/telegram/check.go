package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"clawbot/channels"
)

var (
	errToken = errors.New("telegram refuses the bot's token: it was revoked or is mistyped; " +
		"get the current one from @BotFather (/mybots, API Token) and set channels.telegram.token or TELEGRAM_BOT_TOKEN")
	errOtherPoller = errors.New("another program polls this bot with the same token, so messages go astray; " +
		"stop it, or revoke the token with @BotFather and use the new one here only")
)

func unreachable(err error) error {
	return fmt.Errorf("telegram can't be reached: %w; check the network, channels.telegram.api_url and channels.telegram.proxy", err)
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

// Health implements [channels.Health].
func (c *Channel) Health() error { return c.health.get() }

var _ channels.Health = (*Channel)(nil)

// Check reports trouble of receiving, and whether Telegram knows the token.
func (c *Channel) Check(ctx context.Context) error {
	if err := c.health.get(); err != nil {
		return err
	}
	_, err := c.getMe(ctx)
	return err
}

// getMe asks who the bot is.
func (c *Channel) getMe(ctx context.Context) (*models.User, error) {
	var me *models.User
	err := c.call(ctx, callTimeout, &attempt{}, "getMe", func(ctx context.Context) (err error) {
		me, err = c.api.GetMe(ctx)
		return err
	})
	if err != nil {
		return nil, c.remedy(err)
	}
	return me, nil
}

// remedy says what to do about a failed call that is not about a message.
func (c *Channel) remedy(err error) error {
	e, ok := errors.AsType[*channels.SendError](err)
	switch {
	case ok && e.Reason == channels.ReasonAuth:
		return errToken
	case ok && e.Outcome == channels.Rejected, errors.Is(err, bot.ErrorConflict):
		return err
	}
	return unreachable(err)
}

// identify learns who the bot is, however long Telegram is away.
func (c *Channel) identify(ctx context.Context) error {
	return c.persist(ctx, "getMe", func(ctx context.Context) error {
		me, err := c.api.GetMe(ctx)
		if err == nil {
			c.me.Store(&identity{ID: me.ID, Username: me.Username, Topics: me.HasTopicsEnabled, ReadAll: me.CanReadAllGroupMessages})
		}
		return err
	})
}

// persist repeats a call until it succeeds, the token is refused or ctx ends.
func (c *Channel) persist(ctx context.Context, op string, do func(context.Context) error) error {
	var wait backoff
	for {
		a := &attempt{}
		err := c.call(ctx, callTimeout, a, op, do)
		if err == nil {
			c.health.clear()
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err = c.remedy(err); errors.Is(err, errToken) {
			return err
		}
		pause := wait.next(c.pace.error, c.pace.errorMax)
		if e, ok := errors.AsType[*channels.SendError](err); ok && a.status.Load() == http.StatusTooManyRequests {
			pause = max(pause, e.RetryAfter)
		}
		c.health.set(err)
		c.log.Warn("telegram does not answer as it should; trying again", "call", op, "error", err, "wait", pause.Round(time.Millisecond))
		pauseFor(ctx, pause)
	}
}
