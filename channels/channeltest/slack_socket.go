package channeltest

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// slackSocket is one Socket Mode connection.
type slackSocket struct {
	conn    *websocket.Conn
	mu      sync.Mutex // of writes
	closing bool       // guarded by slackEvents.mu
}

// maxSockets is how many connections an app may have.
const maxSockets = 10

// send writes a message. A failure shows up in the reader.
func (c *slackSocket) send(message any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
	_ = c.conn.WriteJSON(message)
}

func (s *Slack) serveSocket(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	socket := &slackSocket{conn: conn}
	if !s.join(socket) {
		socket.send(slackObject{"type": "disconnect", "reason": "too_many_websockets"})
		return
	}
	defer s.leave(socket)
	if !s.enter() {
		return
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		defer s.running.Done()
		s.ping(socket, done)
	}()
	for {
		var answer struct {
			Envelope string          `json:"envelope_id"`
			Payload  json.RawMessage `json:"payload"`
		}
		if err := conn.ReadJSON(&answer); err != nil {
			return
		}
		s.ack(answer.Envelope)
	}
}

func (s *Slack) ping(socket *slackSocket, done chan struct{}) {
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-s.ctx.Done():
			_ = socket.conn.Close()
			return
		case <-ticker.C:
			_ = socket.conn.WriteControl(websocket.PingMessage, []byte("ping"), time.Now().Add(time.Second))
		}
	}
}

// join greets a socket and sends it what waited for one.
func (s *Slack) join(socket *slackSocket) bool {
	q := &s.events
	q.mu.Lock()
	if len(q.sockets)+q.crowd >= maxSockets {
		q.mu.Unlock()
		return false
	}
	q.opened++
	socket.send(slackObject{
		"type": "hello", "num_connections": len(q.sockets) + 1, "connection_info": slackObject{"app_id": s.cfg.App},
		"debug_info": slackObject{"host": "applink-fake", "approximate_connection_time": 18060},
	})
	q.sockets = append(q.sockets, socket)
	waiting := q.waiting
	q.waiting = nil
	q.changed.wake()
	q.mu.Unlock()
	for _, d := range waiting {
		s.deliver(d)
	}
	return true
}

// leave delivers what the socket had not acknowledged to another.
func (s *Slack) leave(socket *slackSocket) {
	q := &s.events
	q.mu.Lock()
	q.sockets = slices.DeleteFunc(q.sockets, func(other *slackSocket) bool { return other == socket })
	var again []string
	for envelope, d := range q.open {
		if d.socket == socket {
			again = append(again, envelope)
		}
	}
	q.changed.wake()
	q.mu.Unlock()
	slices.Sort(again) // in the order in which they were sent
	for _, envelope := range again {
		s.retry(envelope, "connection_closed")
	}
}

// Crowd has other programs hold n of the app's sockets.
func (s *Slack) Crowd(n int) {
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	s.events.crowd = n
}

// Disconnect asks the sockets to go, as Slack does every few hours: "warning"
// leaves them open for a while, "refresh_requested" closes them.
func (s *Slack) Disconnect(reason string) {
	q := &s.events
	q.mu.Lock()
	sockets := slices.Clone(q.sockets)
	for _, socket := range sockets {
		socket.closing = true
	}
	q.mu.Unlock()
	for _, socket := range sockets {
		socket.send(slackObject{"type": "disconnect", "reason": reason, "debug_info": slackObject{"host": "applink-fake"}})
		if reason != "warning" {
			_ = socket.conn.Close()
		}
	}
}

// DropSockets cuts n connections without a word.
func (s *Slack) DropSockets(n int) {
	q := &s.events
	q.mu.Lock()
	sockets := slices.Clone(q.sockets[:min(n, len(q.sockets))])
	q.mu.Unlock()
	for _, socket := range sockets {
		_ = socket.conn.Close()
	}
}

// SendFrame sends a message of any form to one socket.
func (s *Slack) SendFrame(message any) {
	q := &s.events
	q.mu.Lock()
	var socket *slackSocket
	if len(q.sockets) > 0 {
		socket = q.sockets[0]
	}
	q.mu.Unlock()
	if socket != nil {
		socket.send(message)
	}
}
