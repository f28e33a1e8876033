package terminal

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"clawbot/channels"
)

// conversation is the state of Receive.
type conversation struct {
	*Channel
	host   channels.Host
	screen *screen
	lines  <-chan string

	// waiting is set from an accepted message to the end of its run, running
	// from the run's start.
	waiting, running bool
	// interrupts counts Ctrl-Cs since the person last wrote.
	interrupts int
	ended      bool // the input has
	// questions wait for a decision, the oldest first.
	questions []*channels.LiveApproval
	asked     map[string]bool
	over      bool // the conversation is
}

// Receive carries on the conversation until ctx ends. See [Channel.Done].
func (c *Channel) Receive(ctx context.Context, host channels.Host) error {
	cancel, err := host.Subscribe(channels.LiveTopic(c.Conversation()), func(_ string, data []byte) {
		var ev channels.LiveEvent
		if json.Unmarshal(data, &ev) == nil {
			c.events.push(item{event: &ev})
		}
	})
	if err != nil {
		return fmt.Errorf("terminal: subscribe to the conversation: %w", err)
	}
	defer cancel()
	v := &conversation{Channel: c, host: host, screen: newScreen(&c.cfg)}
	if c.cfg.Once != "" {
		v.ended = true
		if err := v.send(ctx, c.cfg.Once); err != nil {
			v.finish(err)
		}
	} else {
		v.lines = readMessages(ctx, c.cfg.In, c.cfg.InTTY)
		v.screen.greet(c.cfg.Name)
	}
	v.loop(ctx)
	return nil
}

func (v *conversation) loop(ctx context.Context) {
	for {
		v.draw()
		if v.ended && !v.waiting {
			v.finish(v.screen.failure())
		}
		// From an input that is no terminal, a message waits for the answer to
		// the one before it.
		lines := v.lines
		if v.waiting && !v.cfg.InTTY && len(v.questions) == 0 || v.over {
			lines = nil
		}
		if v.ended && len(v.questions) > 0 {
			v.denyAll(ctx)
		}
		select {
		case <-ctx.Done():
			v.draw()
			return
		case <-v.events.ready:
		case text, ok := <-lines:
			if !ok {
				v.lines, v.ended = nil, true
				continue
			}
			v.interrupts = 0
			v.screen.entered()
			if decision, ok := v.answer(text); ok {
				text = decision
			}
			if err := v.send(ctx, text); err != nil {
				v.screen.note("The message was not taken: " + err.Error())
				v.screen.prompt()
			}
		case <-v.cfg.Interrupts:
			v.interrupt(ctx)
		}
	}
}

// draw shows what has come in.
func (v *conversation) draw() {
	for _, it := range v.events.take() {
		if it.event == nil {
			v.screen.notice(it.notice)
			// Outside of a run a notice is all that a message will lead to.
			if !v.running {
				v.waiting = false
				v.screen.prompt()
			}
			continue
		}
		v.screen.event(it.event)
		switch it.event.Type {
		case "approval":
			v.approval(it.event.Approval)
		case "run_start":
			v.waiting, v.running = true, true
		case "run_end":
			v.waiting, v.running = false, false
			v.questions = nil
			v.screen.prompt()
		}
	}
}

// send hands a message to the bot.
func (v *conversation) send(ctx context.Context, text string) error {
	if strings.TrimSpace(text) == "" {
		v.screen.prompt()
		return nil
	}
	before := v.events.notices()
	if err := v.host.Accept(ctx, v.inbound(text)); err != nil {
		return err
	}
	// A reading command is answered, and a message refused, before Accept
	// returns; then nothing follows.
	if v.events.notices() == before {
		v.waiting = true
	}
	return nil
}

func (v *conversation) inbound(text string) channels.Inbound {
	id := rand.Text()
	return channels.Inbound{
		Kind: channels.Message, EventID: Name + ":" + id, MessageID: id,
		Target:    channels.Target{Conversation: v.Conversation(), Chat: v.cfg.Session, Direct: true, User: User},
		Sender:    channels.Sender{ID: User, Name: User},
		Addressed: true, Text: text, At: time.Now(),
	}
}

// interrupt stops the run the first time and leaves the second time.
func (v *conversation) interrupt(ctx context.Context) {
	v.interrupts++
	switch {
	case v.over:
	case v.interrupts > 1:
		v.finish(ErrInterrupted)
	case v.waiting:
		v.screen.note("Stopping. Ctrl-C again to leave.")
		if err := v.send(ctx, "/stop"); err != nil {
			v.screen.note("The stop was not taken: " + err.Error())
		}
	default:
		v.screen.note("Ctrl-C again to leave.")
		v.screen.prompt()
	}
}

func (v *conversation) finish(err error) {
	if v.over {
		return
	}
	v.over = true
	v.screen.close()
	if v.interrupts > 0 && v.cfg.Once != "" {
		err = ErrInterrupted
	}
	v.result = err
	close(v.done)
}

func idOf(n int) string { return "n" + strconv.Itoa(n) }
