// Package peer tells where a request came from.
package peer

import (
	"net"
	"net/http"
	"net/netip"
)

// Local reports whether both ends of the connection are this machine and no
// proxy stands between.
func Local(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && isLoopback(local.String()) && isLoopback(r.RemoteAddr)
}

func isLoopback(address string) bool {
	ap, err := netip.ParseAddrPort(address)
	return err == nil && ap.Addr().Unmap().IsLoopback()
}
