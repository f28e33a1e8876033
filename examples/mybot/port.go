package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"clawbot/channels"
)

// port is a channel: a TCP port where each line that comes is a message, and
// each answer goes back as lines. A machine is a person and has one
// conversation.
type port struct {
	listener net.Listener

	mu    sync.Mutex
	conns map[string]net.Conn // the latest of each machine
	sent  int
}

var _ channels.Channel = (*port)(nil)

func newPort(listener net.Listener) *port {
	return &port{listener: listener, conns: map[string]net.Conn{}}
}

// Name implements [channels.Channel].
func (p *port) Name() string { return "port" }

// Receive implements [channels.Channel]. It starts a goroutine for each
// connection and waits for all of them.
func (p *port) Receive(ctx context.Context, host channels.Host) error {
	var reading sync.WaitGroup
	defer reading.Wait()
	defer p.hangUp()
	defer context.AfterFunc(ctx, func() { _ = p.listener.Close() })()
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accept a connection: %w; start mybot again", err)
		}
		machine, _, _ := net.SplitHostPort(conn.RemoteAddr().String()) // TCP addresses have a port
		machine = strings.ReplaceAll(machine, "%", "-")                // a zone, which ids must not hold
		p.mu.Lock()
		p.conns[machine] = conn
		p.mu.Unlock()
		reading.Go(func() { read(ctx, host, machine, conn) })
	}
}

// read takes lines until the connection ends.
func read(ctx context.Context, host channels.Host, machine string, conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		now := time.Now()
		id := fmt.Sprintf("%s-%d", machine, now.UnixNano())
		err := host.Accept(ctx, channels.Inbound{
			Kind: channels.Message, EventID: id, MessageID: id, At: now,
			Target: channels.Target{Conversation: "port:" + machine, Chat: machine, Direct: true},
			Sender: channels.Sender{ID: machine, Name: machine}, Addressed: true,
			Text: lines.Text(),
		})
		if err != nil { // it is not stored, so whoever wrote must know
			fmt.Fprintln(conn, "not taken, say it again:", err)
		}
	}
}

func (p *port) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		_ = conn.Close() // it may be closed already
	}
}

// Post implements [channels.Channel].
func (p *port) Post(_ context.Context, to channels.Target, out channels.Outgoing) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	conn, ok := p.conns[to.Chat]
	if !ok {
		return "", &channels.SendError{Outcome: channels.Rejected, Reason: channels.ReasonForbidden, Err: errors.New("nobody is connected from there")}
	}
	if _, err := fmt.Fprintln(conn, out.Markdown); err != nil {
		return "", &channels.SendError{Outcome: channels.Unknown, Err: err}
	}
	p.sent++
	return fmt.Sprint(p.sent), nil
}

// Edit implements [channels.Channel]. A line that was sent can't be changed, so
// the new text follows.
func (p *port) Edit(ctx context.Context, to channels.Target, _ string, out channels.Outgoing) error {
	_, err := p.Post(ctx, to, out)
	return err
}

// Limits implements [channels.Channel]: only whole answers, as long as they are.
func (p *port) Limits(channels.Target) channels.Limits {
	return channels.Limits{Text: 1 << 20, NoDrafts: true}
}
