package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"html"
	"net/http"
	"strings"
	"time"
)

// auth knows who has a token. A session is a signed cookie, not a table, so
// that it is good on every replica and after a restart, and dies with its
// token.
type auth struct {
	keys  []sessionKey
	limit limiter
}

// sessionKey is what follows from one token.
type sessionKey struct {
	token  [sha256.Size]byte
	secret []byte
	cookie string
}

func newAuth(tokens []string) *auth {
	a := &auth{}
	for _, token := range tokens {
		k := sessionKey{token: sha256.Sum256([]byte(token)), secret: mac([]byte(token), "clawbot session v1")}
		// Cookies know no ports: bots on one host must not overwrite each other's.
		k.cookie = "clawbot_" + hex.EncodeToString(mac(k.secret, "cookie name")[:4])
		a.keys = append(a.keys, k)
	}
	return a
}

func mac(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

// open reports that there is no token: the guard lets only this machine in.
func (a *auth) open() bool { return len(a.keys) == 0 }

// find returns the key of a token, nil if there is none. It takes the same time
// whatever token is.
func (a *auth) find(token string) *sessionKey {
	sum := sha256.Sum256([]byte(token))
	var found *sessionKey
	for i := range a.keys {
		if subtle.ConstantTimeCompare(sum[:], a.keys[i].token[:]) == 1 {
			found = &a.keys[i]
		}
	}
	return found
}

// sessionOf returns the key of the session that the request carries, and when
// it ends; nil if it carries none.
func (a *auth) sessionOf(r *http.Request, now time.Time) (*sessionKey, time.Time) {
	for i := range a.keys {
		k := &a.keys[i]
		if c, err := r.Cookie(k.cookie); err == nil {
			if until, ok := k.verify(c.Value, now); ok {
				return k, until
			}
		}
	}
	return nil, time.Time{}
}

// signedIn lets through who has the token or a session. A person is led to the
// login form, a program told that it needs the token.
func (s *Server) signedIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.auth.open() {
			next.ServeHTTP(w, r)
			return
		}
		if header := r.Header.Get("Authorization"); header != "" {
			s.bearer(w, r, header, next)
			return
		}
		now := time.Now()
		key, until := s.auth.sessionOf(r, now)
		if key == nil {
			s.unauthorized(w, r)
			return
		}
		if until.Sub(now) < sessionLife/2 {
			key.signIn(w, r)
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) bearer(w http.ResponseWriter, r *http.Request, header string, next http.Handler) {
	client := clientOf(r)
	if wait := s.auth.limit.wait(client); wait > 0 {
		tooMany(w, wait)
		refuse(w, r, http.StatusTooManyRequests, "Too many wrong tokens from this address.")
		return
	}
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || s.auth.find(strings.TrimSpace(token)) == nil {
		s.auth.limit.failed(client)
		s.log.Warn("a request came with a wrong token", "from", client, "path", r.URL.Path)
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		refuse(w, r, http.StatusUnauthorized, "The token is not the server.token of this bot.")
		return
	}
	next.ServeHTTP(w, r)
}

func (s *Server) unauthorized(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
		w.Header().Set("Cache-Control", "no-store")
		switch r.Header.Get("Sec-Fetch-Site") {
		case "cross-site", "same-site":
			// A strict cookie does not come with a click on another site's
			// link. It comes when our own page asks again.
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprintf(w, "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=%s\"><title>…</title>", html.EscapeString(localPath(r.URL.EscapedPath())))
		default:
			http.Redirect(w, r, loginURL(r.URL.Path), http.StatusSeeOther)
		}
		return
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	refuse(w, r, http.StatusUnauthorized, "Sign in at /login, or send the header Authorization: Bearer with the server.token.")
}
