package channeltest

import (
	"context"
	"net"
	"sync"
)

// Pipes is a network in memory: a listener for a fake, and Dial for who calls
// it. In a testing/synctest bubble its waiting lets the clock go on, which that
// of a real connection does not.
type Pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// NewPipes returns a network with nobody on it.
func NewPipes() *Pipes { return &Pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

// Accept waits for a call.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close ends the network.
func (p *Pipes) Close() error { p.once.Do(func() { close(p.done) }); return nil }

// Addr is a name.
func (p *Pipes) Addr() net.Addr { return pipeAddr{} }

// Dial calls the listener, whatever the address.
func (p *Pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "127.0.0.1:1" }
