package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/go-telegram/bot"

	"clawbot/channels"
)

// lanes is how many chats of one batch are accepted at a time.
const lanes = 32

// take hands a batch to the host and returns the offset to go on from. What is
// in one chat is accepted in order; chats don't wait for each other, so that
// many can share one write to the disk. Nothing is confirmed before all of it is
// accepted.
func (c *Channel) take(ctx context.Context, host channels.Host, batch []json.RawMessage, offset int64) (int64, error) {
	if len(batch) == 0 {
		return offset, nil
	}
	var next int64
	byChat := map[int64][]arrival{}
	var order []int64
	for _, raw := range batch {
		a := c.read(raw)
		if a.update > 0 {
			// The last one counts, not the greatest: after a quiet week Telegram
			// begins anew at any number.
			next = a.update + 1
		}
		if a.in == nil && a.callback == "" && !a.moved {
			continue
		}
		if byChat[a.chat] == nil {
			order = append(order, a.chat)
		}
		byChat[a.chat] = append(byChat[a.chat], a)
	}
	if next == 0 {
		c.log.Warn("telegram sent updates without ids, which can't be confirmed")
		pauseFor(ctx, c.pace.error)
		return offset, nil
	}
	if err := c.acceptAll(ctx, host, byChat, order); err != nil {
		return offset, err
	}
	err := c.insist(ctx, "store the poll offset", func() error {
		return host.Put(ctx, offsetKey, strconv.AppendInt(nil, next, 10))
	})
	return next, err
}

func (c *Channel) acceptAll(ctx context.Context, host channels.Host, byChat map[int64][]arrival, order []int64) error {
	if len(order) == 1 {
		return c.acceptLane(ctx, host, byChat[order[0]])
	}
	slots := make(chan struct{}, lanes)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		first error
	)
	for _, chat := range order {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := c.acceptLane(ctx, host, byChat[chat]); err != nil {
				mu.Lock()
				first = err
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return first
}

func (c *Channel) acceptLane(ctx context.Context, host channels.Host, lane []arrival) error {
	for _, a := range lane {
		if err := c.accept(ctx, host, a); err != nil {
			return err
		}
	}
	return nil
}

// accept makes one arrival durable; it fails only when ctx ends.
func (c *Channel) accept(ctx context.Context, host channels.Host, a arrival) error {
	err := c.insist(ctx, "accept an update", func() error { return c.acceptOnce(ctx, host, a) })
	if err == nil && a.callback != "" {
		c.answering.Go(func() { c.answerCallback(ctx, a.callback) })
	}
	return err
}

// acceptOnce does what an arrival asks for. Doing it twice is doing it once.
func (c *Channel) acceptOnce(ctx context.Context, host channels.Host, a arrival) error {
	if a.moved {
		if err := c.keepMoved(ctx, host); err != nil {
			return err
		}
	}
	if a.in != nil {
		c.addRoles(ctx, a.in)
		return host.Accept(ctx, *a.in)
	}
	return nil
}

// insist repeats what the host could not do until it can or ctx ends.
func (c *Channel) insist(ctx context.Context, what string, do func() error) error {
	var wait backoff
	for {
		err := do()
		if err == nil {
			if wait.last > 0 {
				c.health.clear()
			}
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		pause := wait.next(c.pace.accept, c.pace.acceptMax)
		c.health.set(fmt.Errorf("can't %s: %w; messages wait at Telegram until the store is back", what, err))
		c.log.Error("can't "+what+"; trying again", "error", err, "wait", pause)
		pauseFor(ctx, pause)
	}
}

// answerCallback stops the button's spinner. It comes too late if the update
// waited long; nobody is told.
func (c *Channel) answerCallback(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := c.call(ctx, 5*time.Second, &attempt{}, "answerCallbackQuery", func(ctx context.Context) error {
		_, err := c.api.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: id})
		return err
	})
	if err != nil {
		c.log.Debug("a button press could not be answered", "error", err)
	}
}
