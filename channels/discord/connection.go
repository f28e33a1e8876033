package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

// The gateway's opcodes, see
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway.
const (
	opDispatch     = 0
	opHeartbeat    = 1
	opIdentify     = 2
	opResume       = 6
	opReconnect    = 7
	opInvalid      = 9
	opHello        = 10
	opHeartbeatAck = 11
)

const (
	gatewayQuery = "/?v=9&encoding=json"
	maxFrame     = 64 << 20 // bytes
	frameTimeout = 10 * time.Second
	// closeToResume ends a connection but not the session, which 1000 would.
	closeToResume = 4900
)

var (
	errReconnect      = errors.New("discord asked to reconnect")
	errInvalidSession = errors.New("discord does not know the session any more")
	errZombie         = errors.New("discord acknowledges no heartbeats")
)

// payload is a frame of the gateway.
type payload struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s"`
	Type string          `json:"t"`
}

// connection is one WebSocket to the gateway. One goroutine reads, another
// sends heartbeats; either ends it by closing.
type connection struct {
	*shard
	ws      *websocket.Conn
	writing sync.Mutex
	acked   atomic.Bool // the last heartbeat was acknowledged
	busy    atomic.Bool // the reader is at work and can't see acknowledgements
	ready   bool        // READY or RESUMED came
	cause   atomic.Pointer[error]
}

// connect holds one connection for as long as it lasts. It tells whether it was
// of use, and why it ended.
func (s *shard) connect(ctx context.Context) (ready bool, err error) {
	address := s.gateway
	resuming := s.progress().resumable()
	if resuming {
		address = s.progress().address(s.gateway)
	}
	ws, err := s.dial(ctx, address)
	if err != nil {
		s.progress().forgetAddress() // the next try goes to the front door
		return false, err
	}
	conn := &connection{shard: s, ws: ws}
	defer func() { _ = ws.Close() }()
	stop := context.AfterFunc(ctx, func() { conn.close(context.Cause(ctx)) })
	defer stop()
	interval, err := conn.hello()
	if err == nil {
		conn.acked.Store(true)
		done := make(chan struct{})
		var beating sync.WaitGroup
		beating.Go(func() { conn.beat(ctx, interval, done) })
		defer beating.Wait()
		defer close(done)
		if err = conn.introduce(ctx, resuming); err == nil {
			err = conn.read(ctx)
		}
	}
	if cause := conn.cause.Load(); cause != nil {
		err = *cause
	}
	return conn.ready, s.after(err)
}

// after decides from the end of a connection whether the session is over.
func (s *shard) after(err error) error {
	if errors.Is(err, errInvalidSession) {
		s.state.Store(newProgress("", ""))
		return err
	}
	if e, ok := errors.AsType[*websocket.CloseError](err); ok {
		switch e.Code {
		case 4003, 4005, 4007, 4009: // not authenticated, twice so, wrong sequence, timed out
			s.state.Store(newProgress("", ""))
		}
	}
	return err
}

func (s *shard) dial(ctx context.Context, address string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.pace.hello)
	defer cancel()
	dialer := websocket.Dialer{Proxy: s.proxy, HandshakeTimeout: s.pace.hello}
	ws, resp, err := dialer.DialContext(ctx, strings.TrimRight(address, "/")+gatewayQuery, http.Header{"User-Agent": {s.rest.UserAgent}})
	if resp != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("discord gateway: connect: %w", err)
	}
	ws.SetReadLimit(maxFrame)
	return ws, nil
}

// close ends the connection. The session stays and can be resumed.
func (c *connection) close(cause error) {
	if cause == nil {
		cause = errReconnect
	}
	c.cause.CompareAndSwap(nil, &cause)
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(closeToResume, ""), time.Now().Add(time.Second))
	_ = c.ws.NetConn().Close()
}

// next reads a frame. Only until the gateway has answered there is a deadline;
// then the heartbeats watch.
func (c *connection) next() (p payload, err error) {
	deadline := time.Time{}
	if !c.ready {
		deadline = time.Now().Add(c.pace.hello)
	}
	if err := c.ws.SetReadDeadline(deadline); err != nil {
		return p, err
	}
	_, data, err := c.ws.ReadMessage()
	if err != nil {
		return p, fmt.Errorf("discord gateway: %w", err)
	}
	if err := tolerant(data, &p); err != nil {
		return p, fmt.Errorf("discord gateway: a frame that is no JSON: %w", err)
	}
	return p, nil
}

func (c *connection) write(op int, data any) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.ws.SetWriteDeadline(time.Now().Add(frameTimeout)); err != nil {
		return err
	}
	if err := c.ws.WriteJSON(map[string]any{"op": op, "d": data}); err != nil {
		return fmt.Errorf("discord gateway: %w", err)
	}
	return nil
}

// hello waits for the gateway's greeting, which says how often to beat.
func (c *connection) hello() (time.Duration, error) {
	p, err := c.next()
	if err != nil {
		return 0, err
	}
	var hello struct {
		Interval int64 `json:"heartbeat_interval"` // milliseconds
	}
	switch {
	case p.Op == opReconnect:
		return 0, errReconnect
	case p.Op != opHello || tolerant(p.Data, &hello) != nil || hello.Interval <= 0:
		return 0, fmt.Errorf("discord gateway: it greets with op %d", p.Op)
	}
	return time.Duration(hello.Interval) * time.Millisecond, nil
}

// introduce resumes the session or begins one.
func (c *connection) introduce(ctx context.Context, resume bool) error {
	token := c.rest.Token
	if resume {
		session, seq := c.progress().resume()
		return c.write(opResume, map[string]any{"token": token, "session_id": session, "seq": seq})
	}
	c.identifying.wait(ctx, c.pace.identify)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return c.write(opIdentify, map[string]any{
		"token": token, "intents": int(intents), "shard": [2]int{c.index, c.count}, "large_threshold": 50,
		"properties": map[string]string{"os": runtime.GOOS, "browser": "clawbot", "device": "clawbot"},
	})
}

// beat sends heartbeats. One that is not acknowledged by the next ends the
// connection, unless it is us who don't read.
func (c *connection) beat(ctx context.Context, interval time.Duration, done <-chan struct{}) {
	timer := time.NewTimer(rand.N(interval)) //nolint:gosec // only to part from others
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		if !c.acked.Swap(false) && !c.busy.Load() {
			c.close(errZombie)
			return
		}
		if err := c.heartbeat(ctx); err != nil {
			c.close(err)
			return
		}
		timer.Reset(interval)
	}
}

// heartbeat tells Discord up to which event it need not keep any: what is in
// the host's state, from where the next process would resume.
func (c *connection) heartbeat(ctx context.Context) error {
	state := c.progress()
	c.keep(ctx, state)
	if seq := state.keptSeq(); seq > 0 {
		return c.write(opHeartbeat, json.RawMessage(strconv.FormatInt(seq, 10)))
	}
	return c.write(opHeartbeat, nil)
}

// read handles frames until the connection ends.
func (c *connection) read(ctx context.Context) error {
	for {
		p, err := c.next()
		if err != nil {
			return err
		}
		c.busy.Store(true)
		err = c.handle(ctx, &p)
		c.acked.Store(true) // whatever was read is a sign of life
		c.busy.Store(false)
		if err != nil {
			return err
		}
	}
}

func (c *connection) handle(ctx context.Context, p *payload) error {
	switch p.Op {
	case opDispatch:
		return c.dispatch(ctx, p)
	case opHeartbeat:
		return c.heartbeat(ctx)
	case opReconnect:
		return errReconnect
	case opInvalid:
		if string(p.Data) == "true" {
			return fmt.Errorf("discord gateway: the session can't be resumed now: %w", errReconnect)
		}
		return errInvalidSession
	}
	return nil
}
