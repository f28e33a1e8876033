package server

import (
	"net"
	"net/http"
	"strings"
)

// csp lets the page load only what this server serves, run no inline script,
// be framed by nobody, and makes the browser refuse strings as HTML.
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// guard refuses what a browser sends on behalf of another site, and, where no
// token protects the page, names other than this machine's (DNS rebinding) and
// requests that a proxy passed on.
func (s *Server) guard(next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		if s.auth.open() {
			if host := hostOf(r); !isLoopbackName(host) {
				refuse(w, r, http.StatusForbidden, "This page is open to this machine only, and was asked for as "+
					quoteHost(host)+". Open it as http://127.0.0.1, or set server.token to serve it under other names.")
				return
			}
			if forwarded(r) {
				refuse(w, r, http.StatusForbidden, "A proxy passed this request on, and the page has no token. "+
					"Set server.token to serve the page through a proxy.")
				return
			}
		}
		if foreign(r) {
			refuse(w, r, http.StatusForbidden, "Another site sent this request.")
			return
		}
		if err := crossOrigin.Check(r); err != nil {
			refuse(w, r, http.StatusForbidden, "Another site sent this request. Behind a proxy, pass the Host header on unchanged.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func secure(h http.Header) {
	h.Set("Content-Security-Policy", csp)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
}

// foreign reports whether a browser says that another site asks, and not
// because a person followed a link. Writes are judged more strictly after.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}

func forwarded(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip"} {
		if r.Header.Get(name) != "" {
			return true
		}
	}
	return false
}

// hostOf returns the Host header without its port.
func hostOf(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		return host
	}
	return strings.Trim(r.Host, "[]")
}

func quoteHost(host string) string {
	if len(host) > 100 {
		host = host[:100] + "…"
	}
	return `"` + host + `"`
}

// refuse answers people in text and programs in JSON.
func refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, message, status)
		return
	}
	writeJSON(w, status, map[string]any{"error": map[string]string{"message": message}})
}
