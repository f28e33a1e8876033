package channeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxRequest bounds a request's body, as Telegram's own server does.
const maxRequest = 51 << 20

// tgRequest is one API call.
type tgRequest struct {
	ctx    context.Context
	method string // as in the path
	params map[string]string
	files  map[string]File
}

// File is a file with its bytes.
type File struct {
	Name string
	MIME string
	Data []byte
}

// tgError is a refusal in Telegram's words.
type tgError struct {
	code       int
	text       string
	retryAfter int
	migrateTo  int64
}

func refuse(code int, format string, args ...any) *tgError {
	return &tgError{code: code, text: fmt.Sprintf(format, args...)}
}

type tgResponse struct {
	OK          bool          `json:"ok"`
	Result      any           `json:"result,omitempty"`
	ErrorCode   int           `json:"error_code,omitempty"`
	Description string        `json:"description,omitempty"`
	Parameters  *tgParameters `json:"parameters,omitempty"`
}

type tgParameters struct {
	RetryAfter int   `json:"retry_after,omitempty"`
	MigrateTo  int64 `json:"migrate_to_chat_id,omitempty"`
}

// ServeHTTP serves the Bot API.
func (t *Telegram) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !t.enter() {
		panic(http.ErrAbortHandler)
	}
	defer t.running.Done()
	path := r.URL.Path
	if rest, ok := strings.CutPrefix(path, "/file/bot"); ok {
		t.serveFile(w, r, rest)
		return
	}
	rest, ok := strings.CutPrefix(path, "/bot")
	token, method, ok2 := strings.Cut(rest, "/")
	if !ok || !ok2 || method == "" {
		writeTelegram(w, nil, refuse(404, "Not Found"))
		return
	}
	if err := t.authorise(token); err != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		t.note(Call{Method: method, Status: err.code, Error: err.text})
		writeTelegram(w, nil, err)
		return
	}
	t.serveCall(w, r, method)
}

// enter counts a handler in, unless the fake is being closed.
func (t *Telegram) enter() bool {
	t.closeMu.Lock()
	defer t.closeMu.Unlock()
	if t.ctx.Err() != nil {
		return false
	}
	t.running.Add(1)
	return true
}

func (t *Telegram) authorise(token string) *tgError {
	if t.revoked.Load() {
		return refuse(401, "Unauthorized")
	}
	if token != t.cfg.Token {
		if id, _, ok := strings.Cut(token, ":"); !ok || strings.Trim(id, "0123456789") != "" {
			return refuse(404, "Not Found")
		}
		return refuse(401, "Unauthorized")
	}
	return nil
}

func (t *Telegram) serveCall(w http.ResponseWriter, r *http.Request, method string) {
	req, err := parseTelegram(r, method)
	call := Call{Method: method, At: time.Now()}
	if err != nil {
		call.Status, call.Error = 400, err.Error()
		t.note(call)
		writeTelegram(w, nil, refuse(400, "Bad Request: %v", err))
		return
	}
	call.Params = req.params
	fault := t.faults.next(strings.ToLower(method))
	sleep(r.Context(), fault.Delay)
	if !strings.EqualFold(method, "getUpdates") {
		sleep(r.Context(), time.Duration(t.latency.Load()))
	}
	if fault.Drop {
		t.note(call)
		panic(http.ErrAbortHandler)
	}
	if fault.Status != 0 {
		call.Status, call.Error = fault.Status, fault.Description
		t.note(call)
		fault.write(w)
		return
	}
	result, refusal := t.apply(req)
	if refusal != nil {
		call.Status, call.Error = refusal.code, refusal.text
		if refusal.code == 429 {
			t.refused.Add(1)
		}
	} else if !fault.Lost {
		call.Status = 200
	}
	t.note(call)
	if fault.Lost || r.Context().Err() != nil {
		panic(http.ErrAbortHandler)
	}
	writeTelegram(w, result, refusal)
}

func (t *Telegram) note(c Call) {
	t.calls.add(c, !t.cfg.Lean)
}

func (f Fault) write(w http.ResponseWriter) {
	if f.Body != "" {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.Body)
		return
	}
	text := f.Description
	if text == "" {
		text = http.StatusText(f.Status)
	}
	writeTelegram(w, nil, &tgError{code: f.Status, text: text, retryAfter: int(f.RetryAfter / time.Second)})
}

func writeTelegram(w http.ResponseWriter, result any, refusal *tgError) {
	out := tgResponse{OK: true, Result: result}
	status := 200
	if refusal != nil {
		status = refusal.code
		out = tgResponse{ErrorCode: refusal.code, Description: refusal.text}
		if refusal.retryAfter != 0 || refusal.migrateTo != 0 {
			out.Parameters = &tgParameters{refusal.retryAfter, refusal.migrateTo}
		}
	}
	data, err := json.Marshal(out)
	if err != nil {
		panic("channeltest: encode an answer: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// parseTelegram reads the parameters from wherever Telegram allows them: the
// query, a form, multipart or JSON.
func parseTelegram(r *http.Request, method string) (*tgRequest, error) {
	req := &tgRequest{ctx: r.Context(), method: method, params: map[string]string{}}
	for k, v := range r.URL.Query() {
		req.params[k] = v[0]
	}
	body := http.MaxBytesReader(nil, r.Body, maxRequest)
	kind, args, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "multipart/form-data":
		return req, req.readMultipart(multipart.NewReader(body, args["boundary"]))
	case "application/json":
		return req, req.readJSON(body)
	case "application/x-www-form-urlencoded":
		data, err := io.ReadAll(body)
		if err != nil {
			return req, err
		}
		form, err := url.ParseQuery(string(data))
		for k, v := range form {
			req.params[k] = v[0]
		}
		return req, err
	}
	return req, nil
}

func (req *tgRequest) readJSON(body io.Reader) error {
	var fields map[string]json.RawMessage
	if err := json.NewDecoder(body).Decode(&fields); err != nil && err != io.EOF {
		return fmt.Errorf("can't parse JSON: %w", err)
	}
	for k, v := range fields {
		var s string
		if json.Unmarshal(v, &s) != nil {
			s = string(v)
		}
		req.params[k] = s
	}
	return nil
}

func (req *tgRequest) readMultipart(form *multipart.Reader) error {
	for first := true; ; first = false {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			if first && strings.Contains(err.Error(), "EOF") {
				return nil // a form without fields is an empty body
			}
			return err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		if part.FileName() == "" {
			req.params[part.FormName()] = string(data)
			continue
		}
		if req.files == nil {
			req.files = map[string]File{}
		}
		req.files[part.FormName()] = File{Name: part.FileName(), MIME: part.Header.Get("Content-Type"), Data: data}
	}
}

func (req *tgRequest) int(name string) int64 {
	n, _ := strconv.ParseInt(req.params[name], 10, 64)
	return n
}

func (req *tgRequest) bool(name string) bool {
	v := strings.ToLower(req.params[name])
	return v == "true" || v == "1"
}

// json decodes a parameter that is JSON in a string; an absent one is left
// alone.
func (req *tgRequest) json(name string, into any) *tgError {
	s := req.params[name]
	if s == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(s), into); err != nil {
		return refuse(400, "Bad Request: can't parse %s: %v", name, err)
	}
	return nil
}
