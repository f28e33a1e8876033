package redistest

import (
	"net"
	"sync"
	"testing"
)

// Proxy forwards connections to a server and breaks them as told.
type Proxy struct {
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	target string
	links  map[*link]bool
	closed bool
	// drop is how many further answers are swallowed, each with its connection.
	drop int
	// silent holds everything back while it is not nil; closing it lets go.
	silent chan struct{}
	refuse bool
}

// link is one connection and its continuation.
type link struct{ client, server net.Conn }

func (l *link) cut() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// NewProxy runs a proxy before addr.
func NewProxy(addr string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, target: addr, links: map[*link]bool{}}
	p.running.Go(p.accept)
	return p, nil
}

// StartProxy runs a proxy for a test.
func StartProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	p, err := NewProxy(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// URL is the proxy's address as store.url has it.
func (p *Proxy) URL() string { return "redis://" + p.Addr() }

// Close ends the proxy and all connections.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.Cut()
	p.Speak()
	p.running.Wait()
}

// Cut closes every connection.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
}

// Retarget leads new connections to another server and ends those there are.
func (p *Proxy) Retarget(addr string) {
	p.mu.Lock()
	p.target = addr
	p.mu.Unlock()
	p.Cut()
}

// Refuse makes new connections fail, or lets them in again.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = on
}

// DropReplies has the next n answers swallowed after the server has executed
// what they answer; their connections are cut.
func (p *Proxy) DropReplies(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop = n
}

// Dropping is how many answers are still to be swallowed.
func (p *Proxy) Dropping() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drop
}

// Silence holds back all bytes in both directions until Speak.
func (p *Proxy) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent == nil {
		p.silent = make(chan struct{})
	}
}

// Speak lets everything through that Silence held back.
func (p *Proxy) Speak() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent != nil {
		close(p.silent)
		p.silent = nil
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refuse, target := p.refuse || p.closed, p.target
		p.mu.Unlock()
		if refuse {
			_ = client.Close()
			continue
		}
		server, err := net.Dial("tcp", target)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &link{client, server}
		if !p.add(l) {
			l.cut()
			continue
		}
		p.running.Go(func() { p.copy(l, client, server, false) })
		p.running.Go(func() { p.copy(l, server, client, true) })
	}
}

func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.links[l] = true
	}
	return !p.closed
}

// copy forwards one direction until either side ends.
func (p *Proxy) copy(l *link, from, to net.Conn, answers bool) {
	defer func() {
		l.cut()
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && p.pass(answers) {
			if _, werr := to.Write(buffer[:n]); werr != nil {
				return
			}
		} else if n > 0 {
			return
		}
		if err != nil {
			return
		}
	}
}

// pass waits while the proxy is silent and says whether bytes may go on.
func (p *Proxy) pass(answers bool) bool {
	p.mu.Lock()
	silent := p.silent
	p.mu.Unlock()
	if silent != nil {
		<-silent
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if answers && p.drop > 0 {
		p.drop--
		return false
	}
	return true
}
