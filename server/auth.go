package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// sessionLife is how long a browser stays signed in after it was last seen,
// give or take half.
const sessionLife = 14 * 24 * time.Hour

// auth knows who has the token. A session is a signed cookie, not a table, so
// that it is good on every replica and after a restart, and dies with the
// token.
type auth struct {
	open   bool // no token: the guard lets only this machine in
	token  [sha256.Size]byte
	key    []byte
	cookie string
	limit  limiter
}

func newAuth(token string) *auth {
	a := &auth{open: token == "", token: sha256.Sum256([]byte(token))}
	a.key = a.mac([]byte(token), "clawbot session v1")
	// Cookies know no ports: bots on one host must not overwrite each other's.
	a.cookie = "clawbot_" + hex.EncodeToString(a.mac(a.key, "cookie name")[:4])
	return a
}

func (a *auth) mac(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

// isToken compares in constant time, whatever the length.
func (a *auth) isToken(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return !a.open && subtle.ConstantTimeCompare(sum[:], a.token[:]) == 1
}

// newSession returns a cookie's value: "expiry.nonce.signature".
func (a *auth) newSession(now time.Time) string {
	nonce := make([]byte, 12)
	_, _ = rand.Read(nonce) // never fails
	body := strconv.FormatInt(now.Add(sessionLife).Unix(), 10) + "." + base64.RawURLEncoding.EncodeToString(nonce)
	return body + "." + base64.RawURLEncoding.EncodeToString(a.mac(a.key, body))
}

// session reports whether value is a session that has not expired, and until
// when.
func (a *auth) session(value string, now time.Time) (until time.Time, ok bool) {
	i := strings.LastIndexByte(value, '.')
	if i < 0 {
		return time.Time{}, false
	}
	body := value[:i]
	sig, err := base64.RawURLEncoding.DecodeString(value[i+1:])
	if err != nil || !hmac.Equal(sig, a.mac(a.key, body)) {
		return time.Time{}, false
	}
	expiry, _, _ := strings.Cut(body, ".")
	seconds, err := strconv.ParseInt(expiry, 10, 64)
	until = time.Unix(seconds, 0)
	return until, err == nil && now.Before(until)
}

// setSession signs the browser in.
func (a *auth) setSession(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	http.SetCookie(w, &http.Cookie{
		Name: a.cookie, Value: a.newSession(now), Path: "/", Expires: now.Add(sessionLife),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: overTLS(r),
	})
}

func (a *auth) clearSession(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{
		Name: a.cookie, Path: "/", MaxAge: -1,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: overTLS(r),
	})
}

func overTLS(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// signedIn lets through who has the token or a session. A person is led to the
// login form, a program told that it needs the token.
func (s *Server) signedIn(next http.Handler) http.Handler {
	a := s.auth
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.open {
			next.ServeHTTP(w, r)
			return
		}
		if header := r.Header.Get("Authorization"); header != "" {
			s.bearer(w, r, header, next)
			return
		}
		if c, err := r.Cookie(a.cookie); err == nil {
			now := time.Now()
			if until, ok := a.session(c.Value, now); ok {
				if until.Sub(now) < sessionLife/2 {
					a.setSession(w, r)
				}
				next.ServeHTTP(w, r)
				return
			}
		}
		s.unauthorized(w, r)
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
	if !strings.EqualFold(scheme, "Bearer") || !s.auth.isToken(strings.TrimSpace(token)) {
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
		http.Redirect(w, r, loginURL(r.URL.Path), http.StatusSeeOther)
		return
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	refuse(w, r, http.StatusUnauthorized, "Sign in at /login, or send the header Authorization: Bearer with the server.token.")
}
