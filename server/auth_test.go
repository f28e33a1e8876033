package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const token = "correct horse battery staple"

// cookie is what a browser sends back.
func cookie(a answer) string {
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		if c.MaxAge >= 0 {
			return "Cookie: " + c.Name + "=" + c.Value
		}
	}
	return "Cookie: none=none"
}

const form = "Content-Type: application/x-www-form-urlencoded"

func (r *running) signIn(t, next string) answer {
	r.t.Helper()
	return r.do("POST", "/login", url.Values{"token": {t}, "next": {next}}.Encode(), form)
}

func TestAPersonSignsInOnceAndStaysSignedIn(t *testing.T) {
	r := serve(t, Config{Tokens: []string{token}, Name: "Otto <b>"})
	got := r.do("GET", "/c/abc", "", "Accept: text/html")
	if got.status != 303 || got.header.Get("Location") != "/login?next=%2Fc%2Fabc" {
		t.Fatalf("a person got %d to %s", got.status, got.header.Get("Location"))
	}
	got = r.do("GET", "/login?next=%2Fc%2Fabc", "")
	if got.status != 200 || !strings.Contains(got.body, `value="/c/abc"`) || !strings.Contains(got.body, "Otto &lt;b&gt;") {
		t.Fatalf("the form: %d %s", got.status, got.body)
	}
	got = r.signIn(token, "/c/abc")
	if got.status != 303 || got.header.Get("Location") != "/c/abc" {
		t.Fatalf("signing in got %d to %s", got.status, got.header.Get("Location"))
	}
	set := got.header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/", "Expires="} {
		if !strings.Contains(set, want) {
			t.Errorf("the cookie lacks %s: %s", want, set)
		}
	}
	if strings.Contains(set, "Secure") || strings.Contains(set, "horse") {
		t.Errorf("the cookie is %s", set)
	}
	if got := r.do("GET", "/", "", cookie(got)); got.body != "hello" {
		t.Errorf("with the session: %d %s", got.status, got.body)
	}
	out := r.do("POST", "/logout", "", cookie(got))
	if out.status != 303 || !strings.Contains(out.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("signing out: %d %s", out.status, out.header.Get("Set-Cookie"))
	}
}

func TestALinkOnAnotherSiteIsAskedForAgainBeforeTheForm(t *testing.T) {
	r := serve(t, Config{Tokens: []string{token}})
	link := []string{"Accept: text/html", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}
	got := r.do("GET", "/c/a%22%3E%3Cb", "", link...)
	if got.status != 200 || !strings.Contains(got.body, `content="0;url=/c/a%22%3E%3Cb"`) {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := r.do("GET", "/%5c/evil.example", "", link...); strings.Contains(got.body, "url=//") || strings.Contains(got.body, `url=/\\`) {
		t.Errorf("got %s", got.body)
	}
	link[1] = "Sec-Fetch-Site: same-origin"
	if got := r.do("GET", "/c/a", "", link...); got.status != 303 {
		t.Errorf("asked again got %d", got.status)
	}
}

func TestBehindTLSTheCookieIsSecure(t *testing.T) {
	r := serve(t, Config{Tokens: []string{token}})
	got := r.do("POST", "/login", url.Values{"token": {token}}.Encode(), form, "X-Forwarded-Proto: https")
	if !strings.Contains(got.header.Get("Set-Cookie"), "Secure") {
		t.Errorf("the cookie is %s", got.header.Get("Set-Cookie"))
	}
}

func TestAProgramUsesTheTokenAsBearer(t *testing.T) {
	r := serve(t, Config{Tokens: []string{token + "\n"}}) // as read from a file
	for header, want := range map[string]int{
		"Bearer " + token: 200, "bearer " + token: 200, "Bearer  " + token + " ": 200,
	} {
		if got := r.do("GET", "/", "", "Authorization: "+header); got.status != want {
			t.Errorf("%q got %d, want %d", header, got.status, want)
		}
	}
	if got := r.do("GET", "/", ""); got.status != 401 || got.header.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(got.body, "server.token") {
		t.Errorf("without a token: %d %s", got.status, got.body)
	}
	for _, header := range []string{"Bearer", "Bearer x", "Basic " + token, token, "Bearer " + token + "x", "Bearer " + token[:5]} {
		s := serve(t, Config{Tokens: []string{token}}) // each with fresh tries
		if got := s.do("GET", "/", "", "Authorization: "+header); got.status != 401 {
			t.Errorf("%q got %d", header, got.status)
		}
	}
}

func TestATokenInAnAddressIsNoToken(t *testing.T) {
	r := serve(t, Config{Tokens: []string{token}})
	for _, path := range []string{"/?token=", "/?access_token=", "/login?token="} {
		got := r.do("GET", path+url.QueryEscape(token), "")
		if got.body == "hello" || got.header.Get("Set-Cookie") != "" {
			t.Errorf("%s signed in", path)
		}
	}
	got := r.do("POST", "/login?token="+url.QueryEscape(token), "", form)
	if got.status != 401 {
		t.Errorf("a token in the form's address got %d", got.status)
	}
}

func TestAForgedOrExpiredSessionIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuth([]string{token})
		k := &a.keys[0]
		value := k.session(time.Now())
		if _, ok := k.verify(value, time.Now()); !ok {
			t.Fatal("a fresh session is refused")
		}
		parts := strings.Split(value, ".")
		later := fmt.Sprint(time.Now().Add(1000 * time.Hour).Unix())
		other := newAuth([]string{"another token"})
		for name, v := range map[string]string{
			"empty": "", "dots": "..", "no signature": parts[0] + "." + parts[1] + ".", "longer life": later + "." + parts[1] + "." + parts[2],
			"changed": value[:len(value)-2] + "AA", "cut": value[:10], "of another token": other.keys[0].session(time.Now()), "junk": "\xff.\x00.=",
		} {
			if _, ok := k.verify(v, time.Now()); ok {
				t.Errorf("%s: %q is taken", name, v)
			}
		}
		time.Sleep(sessionLife + time.Second)
		if _, ok := k.verify(value, time.Now()); ok {
			t.Error("an expired session is taken")
		}
	})
}

func TestASessionInUseIsRenewedAndOneThatIsNotEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{Tokens: []string{token}})
		if err != nil {
			t.Fatal(err)
		}
		h := s.signedIn(http.HandlerFunc(hello))
		ask := func(c *http.Cookie) *httptest.ResponseRecorder {
			req := httptest.NewRequest(http.MethodGet, "/", nil)
			req.AddCookie(c)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req)
			return w
		}
		k := s.auth.keys[0]
		c := &http.Cookie{Name: k.cookie, Value: k.session(time.Now())}
		time.Sleep(sessionLife/2 - time.Hour)
		if w := ask(c); w.Code != 200 || w.Header().Get("Set-Cookie") != "" {
			t.Errorf("a young session got %d %v", w.Code, w.Header())
		}
		time.Sleep(2 * time.Hour)
		w := ask(c)
		if w.Code != 200 || len(w.Result().Cookies()) != 1 {
			t.Fatalf("an older session got %d %v", w.Code, w.Header())
		}
		renewed := w.Result().Cookies()[0]
		time.Sleep(sessionLife / 2)
		if w := ask(renewed); w.Code != 200 {
			t.Errorf("the renewed session got %d", w.Code)
		}
		if w := ask(c); w.Code != 401 {
			t.Errorf("the first session got %d after its end", w.Code)
		}
	})
}

func TestASessionIsGoodOnEveryReplicaAndDiesWithItsToken(t *testing.T) {
	one := serve(t, Config{Tokens: []string{token}})
	two := serve(t, Config{Tokens: []string{"the new token", token}})
	three := serve(t, Config{Tokens: []string{"the new token"}})
	session := cookie(one.signIn(token, "/"))
	for name, c := range map[string]struct {
		r    *running
		want int
	}{"another replica": {two, 200}, "after the token is gone": {three, 401}} {
		if got := c.r.do("GET", "/", "", session); got.status != c.want {
			t.Errorf("%s: %d, want %d", name, got.status, c.want)
		}
	}
}

func TestGuessingIsSlowedDownAndLockedOutOnlyWhereItComesFrom(t *testing.T) {
	var log bytes.Buffer
	r := serve(t, Config{Tokens: []string{token}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	session := cookie(r.signIn(token, "/"))
	for i := range triesBurst {
		if got := r.signIn("wrong", "/"); got.status != 401 || !strings.Contains(got.body, "not the token") {
			t.Fatalf("try %d got %d", i, got.status)
		}
	}
	got := r.signIn(token, "/") // even the right one
	if got.status != 429 || got.header.Get("Retry-After") == "" || !strings.Contains(got.body, "Try again in") {
		t.Errorf("after %d tries: %d %v", triesBurst, got.status, got.header)
	}
	if got := r.do("GET", "/", "", "Authorization: Bearer "+token); got.status != 429 {
		t.Errorf("as a bearer: %d", got.status)
	}
	if got := r.do("GET", "/", "", session); got.status != 200 {
		t.Errorf("who was signed in got %d", got.status)
	}
	if got := r.do("GET", "/", "", "Authorization: Bearer "+token, "X-Forwarded-For: 10.0.0.1, 203.0.113.9"); got.status != 200 {
		t.Errorf("somebody else behind the proxy got %d", got.status)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "sign-in failed") || strings.Contains(log.String(), "wrong\"") {
		t.Errorf("logged %s", log.String())
	}
}

func TestTriesComeBackWithTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		for range triesBurst {
			if l.wait("a") != 0 {
				t.Fatal("too early")
			}
			l.failed("a")
		}
		if w := l.wait("a"); w <= 0 || w > triesEvery {
			t.Errorf("has to wait %s", w)
		}
		time.Sleep(triesEvery + time.Second)
		if l.wait("a") != 0 {
			t.Error("still has to wait")
		}
		for i := range maxClients * 2 {
			l.failed(fmt.Sprint(i))
		}
		if n := len(l.clients); n > maxClients {
			t.Errorf("%d clients are remembered", n)
		}
	})
}

func TestClientsAreToldApartByNetwork(t *testing.T) {
	for _, c := range []struct{ remote, forwarded, want string }{
		{"203.0.113.9:1", "", "203.0.113.9"},
		{"203.0.113.9:1", "198.51.100.1", "203.0.113.9"}, // who is not on this machine is not believed
		{"127.0.0.1:1", "198.51.100.1", "198.51.100.1"},
		{"127.0.0.1:1", "1.1.1.1, 198.51.100.1", "198.51.100.1"},
		{"127.0.0.1:1", "nonsense", "127.0.0.1"},
		{"[2001:db8:1:2:3:4:5:6]:1", "", "2001:db8:1:2::/64"},
		{"[::ffff:203.0.113.9]:1", "", "203.0.113.9"},
		{"[fe80::1%eth0]:1", "", "fe80::/64"},
		{"@", "", "@"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.remote
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := clientOf(r); got != c.want {
			t.Errorf("%s for %s is %s, want %s", c.remote, c.forwarded, got, c.want)
		}
	}
}

func TestALoginLeadsNowhereElse(t *testing.T) {
	for next, want := range map[string]string{
		"/c/a": "/c/a", "/c/a?b=c": "/c/a?b=c", "": "/", "c": "/", "//evil.example": "/", "/\\evil.example": "/", "https://evil.example": "/",
		"/\t/evil.example": "/", "///evil.example": "/", "javascript:alert(1)": "/", "/%2f/evil.example": "/%2f/evil.example", "/a\r\nSet-Cookie: x=y": "/",
	} {
		if got := localPath(next); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
}

func TestWithoutATokenThereIsNothingToSignInto(t *testing.T) {
	r := serve(t, Config{})
	if got := r.do("GET", "/login", ""); got.status != 303 || got.header.Get("Location") != "/" {
		t.Errorf("got %d to %s", got.status, got.header.Get("Location"))
	}
	if newAuth(nil).find("") != nil {
		t.Error("an empty token is a token")
	}
}

func FuzzSessionsAreNeverForged(f *testing.F) {
	a := newAuth([]string{token})
	k := &a.keys[0]
	for _, seed := range []string{"", ".", "..", "9999999999.AAAA.AAAA", "a.b.c.d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if _, ok := k.verify(value, time.Unix(1, 0)); ok {
			t.Errorf("%q is taken for a session", value)
		}
		if next := localPath(value); !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") {
			t.Errorf("%q leads to %q", value, next)
		}
	})
}
