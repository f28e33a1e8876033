package channeltest

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// slackCall is one API call.
type slackCall struct {
	method string
	form   url.Values
	token  string
	http   *http.Request
}

// slackMethod executes a call; it returns the answer's fields, or Slack's error
// code.
type slackMethod func(*Slack, *slackCall) (slackObject, string)

// slackObject is a JSON object.
type slackObject map[string]any

// ServeHTTP serves the Web API, Socket Mode and the files.
func (s *Slack) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.running.Done()
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/api/"):
		s.serveCall(w, r, strings.TrimPrefix(path, "/api/"))
	case strings.HasPrefix(path, "/socket/"):
		s.serveSocket(w, r)
	case strings.HasPrefix(path, "/upload/"):
		s.serveUpload(w, r)
	case strings.HasPrefix(path, "/files/"):
		s.serveFile(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *Slack) serveCall(w http.ResponseWriter, r *http.Request, method string) {
	req := parseSlack(r, method)
	call := Call{Method: method, At: time.Now(), Params: flatten(req.form)}
	fault := s.faults.next(method)
	sleep(r.Context(), fault.Delay)
	sleep(r.Context(), time.Duration(s.latency.Load()))
	if fault.Drop {
		s.note(call)
		panic(http.ErrAbortHandler)
	}
	if fault.Status != 0 {
		call.Status, call.Error = fault.Status, fault.Description
		s.note(call)
		fault.writeSlack(w)
		return
	}
	if wait := s.limit(req); wait > 0 {
		call.Status, call.Error = http.StatusTooManyRequests, "ratelimited"
		s.refused.Add(1)
		s.note(call)
		Fault{Status: call.Status, Description: call.Error, RetryAfter: wait}.writeSlack(w)
		return
	}
	answer, refusal := s.apply(w, req)
	call.Status, call.Error = http.StatusOK, refusal
	if fault.Lost {
		call.Status = 0
	}
	s.note(call)
	if fault.Lost || r.Context().Err() != nil {
		panic(http.ErrAbortHandler)
	}
	writeSlack(w, answer, refusal)
}

// apply checks the token and its scopes and executes a call.
func (s *Slack) apply(w http.ResponseWriter, req *slackCall) (slackObject, string) {
	want := s.cfg.BotToken
	if req.method == "apps.connections.open" {
		want = s.cfg.AppToken
	}
	kind, _, _ := strings.Cut(want, "-")
	switch {
	case s.revoked.Load():
		return nil, "token_revoked"
	case req.token == "":
		return nil, "not_authed"
	case req.token != want && !strings.HasPrefix(req.token, kind+"-"):
		return nil, "not_allowed_token_type"
	case req.token != want:
		return nil, "invalid_auth"
	}
	execute := s.methods[req.method]
	if execute == nil {
		return nil, "unknown_method"
	}
	granted := s.granted()
	w.Header().Set("X-OAuth-Scopes", granted)
	if needed := slackNeeds[req.method]; needed != "" && !strings.Contains(","+granted+",", ","+needed+",") {
		return slackObject{"needed": needed, "provided": granted}, "missing_scope"
	}
	return execute(s, req)
}

func (s *Slack) granted() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.scopes
}

// slackNeeds is the scope that each method asks for.
var slackNeeds = map[string]string{
	"chat.postMessage": "chat:write", "chat.update": "chat:write", "chat.delete": "chat:write", "chat.postEphemeral": "chat:write",
	"chat.startStream": "chat:write", "chat.appendStream": "chat:write", "chat.stopStream": "chat:write",
	"assistant.threads.setStatus": "chat:write", "assistant.threads.setTitle": "assistant:write", "assistant.threads.setSuggestedPrompts": "assistant:write",
	"reactions.add": "reactions:write", "reactions.remove": "reactions:write",
	"usergroups.users.list": "usergroups:read", "users.info": "users:read", "bots.info": "users:read", "conversations.info": "channels:read", "files.info": "files:read",
	"files.getUploadURLExternal": "files:write", "files.completeUploadExternal": "files:write",
	"conversations.open": "im:write", "conversations.history": "channels:history", "conversations.replies": "channels:history",
}

func (s *Slack) note(c Call) { s.calls.add(c, !s.cfg.Lean) }

func (f Fault) writeSlack(w http.ResponseWriter) {
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((f.RetryAfter+time.Second-1)/time.Second)))
	}
	if f.Body != "" {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.Body)
		return
	}
	text := f.Description
	if text == "" {
		text = "ratelimited"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Status)
	_ = json.NewEncoder(w).Encode(slackObject{"ok": false, "error": text})
}

func writeSlack(w http.ResponseWriter, answer slackObject, refusal string) {
	out := slackObject{"ok": refusal == ""}
	maps.Copy(out, answer)
	if refusal != "" {
		out["error"] = refusal
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if err := json.NewEncoder(w).Encode(out); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// parseSlack reads the arguments from a form or from JSON, and the token from
// the form or the header.
func parseSlack(r *http.Request, method string) *slackCall {
	req := &slackCall{method: method, form: r.URL.Query(), http: r}
	body, _ := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxRequest))
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		var fields map[string]json.RawMessage
		if json.Unmarshal(body, &fields) == nil {
			for k, v := range fields {
				var text string
				if json.Unmarshal(v, &text) != nil {
					text = string(v)
				}
				req.form.Set(k, text)
			}
		}
	} else if form, err := url.ParseQuery(string(body)); err == nil {
		maps.Copy(req.form, form)
	}
	req.token = req.form.Get("token")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && req.token == "" {
		req.token = bearer
	}
	req.form.Del("token")
	return req
}

func flatten(form url.Values) map[string]string {
	out := make(map[string]string, len(form))
	for k := range form {
		out[k] = form.Get(k)
	}
	return out
}

// slackTiers is how many calls a minute a method takes in a workspace, see
// https://docs.slack.dev/apis/web-api/rate-limits.
var slackTiers = map[string]int{
	"apps.connections.open": 20, "auth.test": 300, "chat.update": 50, "chat.delete": 50, "chat.postEphemeral": 100, "chat.postMessage": 300,
	"chat.startStream": 20, "chat.appendStream": 100, "chat.stopStream": 20, "reactions.add": 50, "reactions.remove": 20,
	"conversations.history": 50, "conversations.replies": 50, "conversations.info": 50, "conversations.open": 50, "users.info": 100, "bots.info": 50, "usergroups.users.list": 20,
	"files.info": 100, "files.getUploadURLExternal": 100, "files.completeUploadExternal": 100, "assistant.threads.setStatus": 600,
	"assistant.threads.setTitle": 50, "assistant.threads.setSuggestedPrompts": 50, "views.open": 100,
}

// limit takes a token of the method's limit, and of the channel's for a new
// message; it returns how long to wait if there is none.
func (s *Slack) limit(req *slackCall) time.Duration {
	if !s.limited.Load() {
		return 0
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := s.bucket(req.method, slackTiers[req.method]).take(now)
	if wait == 0 && req.method == "chat.postMessage" {
		wait = s.bucket("post "+req.form.Get("channel"), 60).take(now)
	}
	return wait
}

// bucket returns the limit of that name. s.mu is held.
func (s *Slack) bucket(name string, perMinute int) *bucket {
	b := s.buckets[name]
	if b == nil {
		perMinute = max(perMinute, 20)
		b = &bucket{size: max(3, perMinute/4), interval: time.Minute / time.Duration(perMinute)}
		s.buckets[name] = b
	}
	return b
}
