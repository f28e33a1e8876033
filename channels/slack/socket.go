package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"
	"golang.org/x/sync/errgroup"

	"clawbot/channels"
)

const (
	// connections is how many sockets are kept. Slack allows an app ten.
	connections = 2
	// silence is how long a socket may be without a ping or a message.
	silence = 60 * time.Second
	// maxFrame bounds a message, in bytes.
	maxFrame = 16 << 20
	// lingering is how long a socket is still read that Slack has announced to
	// close.
	lingering = 30 * time.Second
)

// keepSockets keeps the connections until ctx ends or a token is refused.
func (c *Channel) keepSockets(ctx context.Context, in *lanes) error {
	group, ctx := errgroup.WithContext(ctx)
	for range connections {
		group.Go(func() error { return c.keepSocket(ctx, in) })
	}
	return group.Wait()
}

// keepSocket keeps one connection. When Slack announces that it will close it,
// the next is opened first.
func (c *Channel) keepSocket(ctx context.Context, in *lanes) error {
	var old sync.WaitGroup
	defer old.Wait()
	var wait backoff
	for ctx.Err() == nil {
		began := time.Now()
		c.sockets.Add(1)
		s, err := c.open(ctx)
		if err != nil {
			c.sockets.Add(-1)
		}
		if err == nil {
			next := make(chan string, 1)
			old.Go(func() { c.serve(ctx, s, in, next) })
			select {
			case reason := <-next:
				c.log.Debug("a socket ends", "reason", reason)
			case <-ctx.Done():
				return nil
			}
			if time.Since(began) >= c.pace.lived {
				wait = backoff{}
				continue
			}
		} else if err := c.mend(ctx, err); err != nil {
			return err
		}
		pause := wait.next(c.pace.error, c.pace.errorMax)
		if e, ok := errors.AsType[*channels.SendError](err); ok {
			pause = max(pause, min(e.RetryAfter, c.pace.errorMax))
		}
		pauseFor(ctx, pause)
	}
	return nil
}

// mend decides whether a connection that could not be opened is tried again.
func (c *Channel) mend(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	e, ok := errors.AsType[*channels.SendError](err)
	switch code, _ := errors.AsType[slack.SlackErrorResponse](err); {
	case ok && e.Reason == channels.ReasonAuth:
		return refused(code.Err)
	case code.Err == "missing_scope":
		return errors.New("slack: the app-level token lacks the scope connections:write; make one with it on the app's page " +
			"under Basic Information, App-Level Tokens, and set channels.slack.app_token or SLACK_APP_TOKEN")
	}
	c.health.set(c.remedy(err))
	c.log.Warn("slack can't be connected to; trying again", "error", err)
	return nil
}

// socket is one Socket Mode connection.
type socket struct {
	conn *websocket.Conn
	mu   sync.Mutex // of writes
}

// open asks for an address and connects to it.
func (c *Channel) open(ctx context.Context) (*socket, error) {
	var address string
	err := c.call(ctx, callTimeout, "apps.connections.open", func(ctx context.Context) (err error) {
		_, address, err = c.api.StartSocketModeContext(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	// The address holds a ticket, so it is in no error.
	conn, resp, err := c.dialer.DialContext(ctx, address, nil)
	if err != nil {
		if resp != nil {
			_ = resp.Body.Close()
			return nil, fmt.Errorf("slack: the socket was refused with HTTP %d", resp.StatusCode)
		}
		return nil, fmt.Errorf("slack: the socket could not be opened: %w", err)
	}
	conn.SetReadLimit(maxFrame)
	s := &socket{conn: conn}
	conn.SetPingHandler(func(data string) error {
		_ = conn.SetReadDeadline(time.Now().Add(silence))
		return conn.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(5*time.Second))
	})
	return s, nil
}

// serve reads a socket to its end. It tells next once: when the socket has
// ended, or when Slack has announced that it will.
func (c *Channel) serve(ctx context.Context, s *socket, in *lanes, next chan<- string) {
	defer c.sockets.Add(-1)
	stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	defer stop()
	defer s.conn.Close()
	var once sync.Once
	replaced := func(reason string) { once.Do(func() { next <- reason }) }
	leave := time.Time{}
	for {
		deadline := time.Now().Add(silence)
		if !leave.IsZero() {
			deadline = leave
		}
		_ = s.conn.SetReadDeadline(deadline)
		_, data, err := s.conn.ReadMessage()
		if err != nil {
			replaced(err.Error())
			return
		}
		var f frame
		if err := json.Unmarshal(data, &f); err != nil && f.Envelope == "" {
			c.log.Warn("skipped a message on the socket that can't be read", "error", err)
			continue
		}
		switch {
		case f.Type == "hello":
			c.greeted(&f)
		case f.Type == "disconnect":
			c.dismissed(f.Reason)
			leave = time.Now().Add(lingering)
			replaced(f.Reason)
		case f.Envelope != "":
			c.take(in, f.Type, f.Payload, func(err error) { c.acknowledge(s, f.Envelope, err) })
		}
	}
}

// dismissed notes why Slack closes a socket. The regular reasons are "warning",
// a while before, and "refresh_requested".
func (c *Channel) dismissed(reason string) {
	switch reason {
	case "warning", "refresh_requested":
		return
	case "link_disabled":
		c.health.set(errors.New("slack: Socket Mode was switched off for the app; switch it on again on its page at https://api.slack.com/apps " +
			"under Socket Mode, or set channels.slack.mode to \"http\""))
	}
	c.log.Warn("slack closes a socket", "reason", reason)
}

// greeted notes that a socket receives.
func (c *Channel) greeted(f *frame) {
	c.health.clear()
	if f.Connection.App != "" {
		c.app.Store(&f.Connection.App)
	}
	if !c.greetings.Swap(true) {
		c.log.Info("slack is connected", "bot", c.me.Load().name, "team", c.me.Load().team)
	}
	// Sockets that are about to close count, too: this process may have as many
	// again.
	if f.Sockets > 2*connections {
		c.log.Info("other programs are connected with the same app-level token; slack gives each event to one of them, so let them share a store or stop them",
			"connections", f.Sockets, "own", connections)
	}
}

// acknowledge tells Slack that an envelope is dealt with. One that is not will
// be delivered again.
func (c *Channel) acknowledge(s *socket, envelope string, err error) {
	if err != nil {
		c.log.Debug("an envelope is not acknowledged", "error", err)
		return
	}
	data, err := json.Marshal(map[string]string{"envelope_id": envelope})
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
	if err := s.conn.WriteMessage(websocket.TextMessage, data); err != nil {
		c.log.Debug("an acknowledgement was not sent; slack will deliver again", "error", err)
	}
}
