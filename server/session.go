package server

import (
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// sessionLife is how long a browser stays signed in after it was last seen,
// give or take half.
const sessionLife = 14 * 24 * time.Hour

// session returns a cookie's value: "expiry.nonce.signature".
func (k *sessionKey) session(now time.Time) string {
	nonce := make([]byte, 12)
	_, _ = rand.Read(nonce) // never fails
	body := strconv.FormatInt(now.Add(sessionLife).Unix(), 10) + "." + base64.RawURLEncoding.EncodeToString(nonce)
	return body + "." + base64.RawURLEncoding.EncodeToString(mac(k.secret, body))
}

// verify reports whether value is a session that has not expired, and until
// when.
func (k *sessionKey) verify(value string, now time.Time) (until time.Time, ok bool) {
	i := strings.LastIndexByte(value, '.')
	if i < 0 {
		return time.Time{}, false
	}
	body := value[:i]
	sig, err := base64.RawURLEncoding.DecodeString(value[i+1:])
	if err != nil || !hmac.Equal(sig, mac(k.secret, body)) {
		return time.Time{}, false
	}
	expiry, _, _ := strings.Cut(body, ".")
	seconds, err := strconv.ParseInt(expiry, 10, 64)
	until = time.Unix(seconds, 0)
	return until, err == nil && now.Before(until)
}

// signIn gives the browser a session.
func (k *sessionKey) signIn(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	http.SetCookie(w, &http.Cookie{
		Name: k.cookie, Value: k.session(now), Path: "/", Expires: now.Add(sessionLife),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: overTLS(r),
	})
}

// signOut takes the browser's sessions away.
func (a *auth) signOut(w http.ResponseWriter, r *http.Request) {
	for _, k := range a.keys {
		http.SetCookie(w, &http.Cookie{
			Name: k.cookie, Path: "/", MaxAge: -1,
			HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: overTLS(r),
		})
	}
}

func overTLS(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}
