package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot"

	"clawbot/channels"
)

// poller is a bot that polls.
type poller struct{ *Channel }

var _ channels.Exclusive = poller{}

// Term names the bot, so that one process polls it.
func (p poller) Term(context.Context) (string, error) { return "tg:" + p.botID, nil }

// pace is how long the poller waits after failures.
type pace struct {
	error, errorMax       time.Duration // network and server trouble
	conflict, conflictMax time.Duration // another poller
	accept, acceptMax     time.Duration // the host can't take an update
	grace                 time.Duration // of a poll beyond its own timeout; then its connection is dead
}

var normalPace = pace{
	error: 500 * time.Millisecond, errorMax: 30 * time.Second,
	conflict: 5 * time.Second, conflictMax: 60 * time.Second,
	accept: 200 * time.Millisecond, acceptMax: 10 * time.Second,
	grace: 20 * time.Second,
}

const (
	offsetKey   = "offset"
	batchSize   = 100
	maxBatch    = 64 << 20 // bytes of one answer
	callTimeout = 15 * time.Second
)

// poll fetches updates until ctx ends or the token is refused.
func (c *Channel) poll(ctx context.Context, host channels.Host) error {
	offset, err := c.loadOffset(ctx, host)
	if err != nil {
		return err
	}
	if err := c.dropWebhook(ctx); err != nil {
		return err
	}
	me := c.me.Load()
	c.log.Info("telegram is polled", "bot", "@"+me.Username, "sees_all_group_messages", me.ReadAll)
	wait, hold := backoff{}, c.cfg.PollTimeout
	for ctx.Err() == nil {
		batch, err := c.fetch(ctx, offset, hold)
		if err == nil {
			wait, hold = backoff{}, c.cfg.PollTimeout
			c.health.clear()
			if offset, err = c.take(ctx, host, batch, offset); err != nil {
				return err
			}
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		if err := c.mend(ctx, err, &wait); err != nil {
			return err
		}
		// A short poll tells soon whether the trouble is over. Beside another
		// poller it would tell nothing: only one that lasts is undisturbed.
		if hold = 0; errors.Is(c.health.get(), errOtherPoller) {
			hold = c.cfg.PollTimeout
		}
	}
	return nil
}

// loadOffset reads where the last poller stopped. The host may be away for a
// while.
func (c *Channel) loadOffset(ctx context.Context, host channels.Host) (int64, error) {
	var value []byte
	err := c.insist(ctx, "read the poll offset", func() (err error) {
		value, err = host.Get(ctx, offsetKey)
		return err
	})
	if err != nil || len(value) == 0 {
		return 0, err
	}
	offset, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		c.log.Warn("the stored poll offset is damaged; Telegram's own is used", "value", string(value))
		return 0, nil
	}
	return offset, nil
}

// dropWebhook makes polling possible. What waits to be delivered is kept.
func (c *Channel) dropWebhook(ctx context.Context) error {
	return c.persist(ctx, "deleteWebhook", func(ctx context.Context) error {
		_, err := c.api.DeleteWebhook(ctx, &bot.DeleteWebhookParams{})
		return err
	})
}

// fetch polls once; Telegram may hold the poll for so long. Its own deadline is the watchdog: a poll that is not over
// when it must be is given up with its connection.
func (c *Channel) fetch(ctx context.Context, offset int64, hold time.Duration) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, hold+c.pace.grace)
	defer cancel()
	body, err := json.Marshal(map[string]any{
		"offset": offset, "limit": batchSize, "timeout": int(hold / time.Second), "allowed_updates": allowedUpdates,
	})
	if err != nil {
		return nil, fmt.Errorf("telegram getUpdates: %w", err)
	}
	address := c.cfg.APIURL + "/bot" + strings.TrimSpace(c.cfg.Token.Reveal()) + "/getUpdates"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("telegram getUpdates: " + c.secret.String(err.Error()))
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := doer{c.polls, c.secret}.Do(req)
	if err != nil {
		c.polls.CloseIdleConnections()
		return nil, fmt.Errorf("telegram getUpdates: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	return readBatch(resp)
}

// pollError is Telegram's refusal of a poll.
type pollError struct {
	code       int
	text       string
	retryAfter time.Duration
}

// Error gives Telegram's words.
func (e *pollError) Error() string { return fmt.Sprintf("telegram getUpdates: %d %s", e.code, e.text) }

func readBatch(resp *http.Response) ([]json.RawMessage, error) {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBatch))
	if err != nil {
		return nil, fmt.Errorf("telegram getUpdates: read the answer: %w", err)
	}
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, &pollError{code: resp.StatusCode, text: "an answer that is no JSON; is api_url the Bot API?"}
	}
	if !a.OK {
		return nil, &pollError{
			code: a.ErrorCode, text: a.Description, retryAfter: time.Duration(a.Parameters.RetryAfter) * time.Second,
		}
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(a.Result, &batch); err != nil {
		return nil, fmt.Errorf("telegram getUpdates: the result is no list: %w", err)
	}
	return batch, nil
}

// mend waits after a failed poll, or returns what no waiting mends.
func (c *Channel) mend(ctx context.Context, err error, wait *backoff) error {
	var pause time.Duration
	refused, _ := errors.AsType[*pollError](err)
	switch {
	case refused != nil && (refused.code == http.StatusUnauthorized || refused.code == http.StatusNotFound):
		c.health.set(errToken)
		return errToken
	case refused != nil && refused.code == http.StatusConflict:
		pause = wait.next(c.pace.conflict, c.pace.conflictMax)
		c.conflict(ctx, refused.text, pause)
	case refused != nil && refused.retryAfter > 0:
		pause = refused.retryAfter
		c.log.Warn("telegram asks to poll less often", "wait", pause)
	default:
		pause = wait.next(c.pace.error, c.pace.errorMax)
		c.health.set(unreachable(err))
		c.log.Warn("telegram can't be polled; trying again", "error", err, "wait", pause)
	}
	pauseFor(ctx, pause)
	return nil
}

// conflict deals with a 409: a webhook that someone set is removed; another
// poller can only be told of.
func (c *Channel) conflict(ctx context.Context, text string, pause time.Duration) {
	if strings.Contains(text, "webhook") {
		c.log.Warn("a webhook was set for this bot; it is removed, because mode is \"poll\"")
		if err := c.dropWebhook(ctx); err != nil {
			c.log.Warn("the webhook could not be removed", "error", err)
		}
		return
	}
	c.health.set(errOtherPoller)
	c.log.Error("another program polls this bot with the same token, so messages go astray; stop it or make a new token with @BotFather", "wait", pause)
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
