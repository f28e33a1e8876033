package builtin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// blockedNetworks are the addresses of the machine, its neighbours and its
// cloud, and the transitions that lead to them. IANA's special-purpose
// registries are the source.
var blockedNetworks = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

// globalIPv6 is what is routed on the Internet; anything else is local, a
// transition or unassigned.
var globalIPv6 = netip.MustParsePrefix("2000::/3")

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, p := range list {
		out[i] = netip.MustParsePrefix(p)
	}
	return out
}

// public reports whether an address is one of the Internet.
func public(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	if address.Is6() && !globalIPv6.Contains(address) {
		return false
	}
	for _, p := range blockedNetworks {
		if p.Contains(address) {
			return false
		}
	}
	return address.IsValid()
}

// errBlocked is what a tool says of an address it must not reach.
var errBlocked = errors.New("this address is not on the public Internet: refused")

// guardedClient returns a client that reaches public addresses and the ones
// that also allows. The check is made on the address that is dialled, so neither
// a name that changes its mind nor a redirect passes it. No proxy of the
// environment is used, and no more than five redirects followed.
func guardedClient(timeout time.Duration, also func(netip.AddrPort) bool) *http.Client {
	dialer := &net.Dialer{
		Timeout: 10 * time.Second,
		ControlContext: func(_ context.Context, network, address string, _ syscall.RawConn) error {
			target, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("%s: %w", address, errBlocked)
			}
			if !public(target.Addr()) && (also == nil || !also(target)) {
				return errBlocked
			}
			return nil
		},
	}
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			DialContext:           dialer.DialContext,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: 15 * time.Second,
			MaxIdleConns:          8,
			IdleConnTimeout:       30 * time.Second,
			ForceAttemptHTTP2:     true,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > 5 {
				return errors.New("more than 5 redirects")
			}
			return checkURL(req.URL)
		},
	}
}
