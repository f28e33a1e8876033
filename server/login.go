package server

import (
	_ "embed"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
)

//go:embed login/login.css
var loginStyle []byte

//go:embed login/login.html
var loginForm string

// login shows the form and signs the browser in. The token comes in the body,
// never in an address, where logs and histories would keep it.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.auth.open():
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		s.showLogin(w, r, http.StatusOK, localPath(r.URL.Query().Get("next")), "")
	case r.Method == http.MethodPost:
		s.tryLogin(w, r)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		refuse(w, r, http.StatusMethodNotAllowed, "Sign in with POST.")
	}
}

func (s *Server) tryLogin(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
	if err := r.ParseForm(); err != nil {
		s.showLogin(w, r, http.StatusBadRequest, "/", "The form could not be read. Please try again.")
		return
	}
	next := localPath(r.PostForm.Get("next"))
	client := clientOf(r)
	if wait := s.auth.limit.wait(client); wait > 0 {
		seconds := tooMany(w, wait)
		s.showLogin(w, r, http.StatusTooManyRequests, next, fmt.Sprintf("Too many wrong tokens. Try again in %d seconds.", seconds))
		return
	}
	key := s.auth.find(strings.TrimSpace(r.PostForm.Get("token")))
	if key == nil {
		s.auth.limit.failed(client)
		s.log.Warn("a sign-in failed", "from", client)
		s.showLogin(w, r, http.StatusUnauthorized, next, "That is not the token. It is the server.token of the bot’s configuration.")
		return
	}
	key.signIn(w, r)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	s.auth.signOut(w, r)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

func (s *Server) showLogin(w http.ResponseWriter, _ *http.Request, status int, next, problem string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	invalid, note := "", `<p class="hint">The <code>server.token</code> of the bot’s configuration.</p>`
	if problem != "" {
		invalid = ` aria-invalid="true" aria-describedby="problem"`
		note = `<p id="problem" class="problem" role="alert">` + html.EscapeString(problem) + `</p>`
	}
	// Not html/template: it calls methods by name, and the linker then keeps
	// every method of every library, 8 MB of them.
	page := strings.NewReplacer("{name}", html.EscapeString(s.cfg.Name), "{next}", html.EscapeString(next),
		"{invalid}", invalid, "{note}", note)
	if _, err := page.WriteString(w, loginForm); err != nil {
		s.log.Debug("the login form was not sent whole", "err", err)
	}
}

func loginCSS(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(loginStyle)
}

func loginURL(next string) string {
	if next == "/" {
		return "/login"
	}
	return "/login?next=" + url.QueryEscape(next)
}

// localPath returns next if it is a path on this server, else "/": a login must
// not lead elsewhere.
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(next, "/") ||
		strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\t\r\n") {
		return "/"
	}
	return next
}
