package server

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// triesBurst wrong tokens at once, then one every triesEvery.
	triesBurst = 5
	triesEvery = 12 * time.Second
	maxClients = 4096
)

// limiter slows down who guesses tokens, by network address. Its zero value
// works.
type limiter struct {
	mu      sync.Mutex
	clients map[string]*rate.Limiter
}

// wait returns how long the client has to wait before its next try.
func (l *limiter) wait(client string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	lim := l.clients[client]
	if lim == nil {
		return 0
	}
	missing := 1 - lim.Tokens()
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing * float64(triesEvery))
}

// failed counts a wrong token.
func (l *limiter) failed(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.clients == nil {
		l.clients = map[string]*rate.Limiter{}
	}
	lim := l.clients[client]
	if lim == nil {
		if len(l.clients) >= maxClients {
			l.forget()
		}
		lim = rate.NewLimiter(rate.Every(triesEvery), triesBurst)
		l.clients[client] = lim
	}
	lim.Allow()
}

// forget makes room: those whose tries have come back go, and if nearly all are
// guessing, any quarter of them, so that a full table costs little per guess.
func (l *limiter) forget() {
	for c, lim := range l.clients {
		if lim.Tokens() >= triesBurst {
			delete(l.clients, c)
		}
	}
	for c := range l.clients {
		if len(l.clients) <= maxClients*3/4 {
			return
		}
		delete(l.clients, c)
	}
}

// clientOf returns the network a request comes from: an IPv4 address or an IPv6
// /64, since one machine has many of those. Only a proxy on this machine is
// believed about whom it speaks for.
func clientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if addr.IsLoopback() {
		hops := strings.Split(r.Header.Get("X-Forwarded-For"), ",")
		if hop, err := netip.ParseAddr(strings.TrimSpace(hops[len(hops)-1])); err == nil {
			addr = hop
		}
	}
	addr = addr.Unmap()
	if addr.Is6() {
		if p, err := addr.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return addr.String()
}

func tooMany(w http.ResponseWriter, wait time.Duration) int {
	seconds := int(wait/time.Second) + 1
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	return seconds
}
