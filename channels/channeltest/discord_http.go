package channeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxDiscordRequest bounds a request's body, in bytes; files are bounded apart.
const maxDiscordRequest = 26 << 20

// discordRequest is one REST call.
type discordRequest struct {
	route string
	ids   []string // the path's variable parts, in order
	query func(string) string
	body  []byte
	files []DiscordFile
}

// discordError is a refusal in Discord's form, see
// https://discord.com/developers/docs/topics/opcodes-and-status-codes.
type discordError struct {
	status, code int
	text         string
	errors       any
	retryAfter   time.Duration
	global       bool
}

func dcRefuse(status, code int, text string) *discordError {
	return &discordError{status: status, code: code, text: text}
}

// dcInvalid is an "Invalid Form Body" about one field.
func dcInvalid(field, code, text string) *discordError {
	return &discordError{status: 400, code: 50035, text: "Invalid Form Body", errors: map[string]any{
		field: map[string]any{"_errors": []any{map[string]any{"code": code, "message": text}}},
	}}
}

var (
	errUnknownChannel = dcRefuse(404, 10003, "Unknown Channel")
	errUnknownMessage = dcRefuse(404, 10008, "Unknown Message")
	errMissingAccess  = dcRefuse(403, 50001, "Missing Access")
	errMissingRights  = dcRefuse(403, 50013, "Missing Permissions")
)

// ServeHTTP serves the REST API, the gateway and the CDN.
func (d *Discord) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !d.enter() {
		panic(http.ErrAbortHandler)
	}
	defer d.running.Done()
	path := r.URL.Path
	switch {
	case strings.HasPrefix(path, "/ws"):
		d.serveGateway(w, r)
		return
	case strings.HasPrefix(path, "/attachments/"):
		d.serveAttachment(w, r)
		return
	}
	rest, ok := strings.CutPrefix(path, "/api/v9/")
	req, handle := (*discordRequest)(nil), discordHandler(nil)
	if ok {
		req, handle = routeDiscord(r, strings.Split(r.URL.EscapedPath()[len("/api/v9/"):], "/"))
	}
	if handle == nil {
		d.calls.add(Call{Method: r.Method + " " + rest, At: time.Now(), Status: 404, Error: "404: Not Found"}, !d.cfg.Lean)
		writeDiscord(w, nil, dcRefuse(404, 0, "404: Not Found"))
		return
	}
	d.serveCall(w, r, req, handle)
}

// enter counts a handler in, unless the fake is being closed.
func (d *Discord) enter() bool {
	d.closeMu.Lock()
	defer d.closeMu.Unlock()
	if d.ctx.Err() != nil {
		return false
	}
	d.running.Add(1)
	return true
}

// authorise checks the token. Answers to interactions carry their own.
func (d *Discord) authorise(r *http.Request, route string) *discordError {
	switch route {
	case "callback", "followUp", "editOriginal", "deleteOriginal", "getOriginal", "getGateway":
		return nil
	}
	if d.revoked.Load() || r.Header.Get("Authorization") != "Bot "+d.token {
		return dcRefuse(401, 0, "401: Unauthorized")
	}
	return nil
}

func (d *Discord) serveCall(w http.ResponseWriter, r *http.Request, req *discordRequest, handle discordHandler) {
	call := Call{Method: req.route, At: time.Now()}
	if err := req.read(r); err != nil {
		call.Status, call.Error = 400, err.Error()
		d.calls.add(call, !d.cfg.Lean)
		writeDiscord(w, nil, dcRefuse(400, 50109, "The request body contains invalid JSON: "+err.Error()))
		return
	}
	call.Params = map[string]string{"body": string(req.body), "ids": strings.Join(req.ids, " ")}
	fault := d.faults.next(req.route)
	sleep(r.Context(), fault.Delay)
	sleep(r.Context(), time.Duration(d.latency.Load()))
	if fault.Drop {
		d.calls.add(call, !d.cfg.Lean)
		panic(http.ErrAbortHandler)
	}
	if fault.Status != 0 {
		call.Status, call.Error = fault.Status, fault.Description
		d.calls.add(call, !d.cfg.Lean)
		fault.writeDiscord(w)
		return
	}
	refusal := d.authorise(r, req.route)
	if refusal == nil {
		refusal = d.limits.take(w.Header(), req, d.limited.Load())
	}
	var result any
	if refusal == nil {
		result, refusal = handle(d, req)
	}
	if refusal != nil {
		call.Status, call.Error = refusal.status, refusal.text
		if refusal.status == 429 {
			d.refused.Add(1)
		}
	} else if !fault.Lost {
		call.Status = 200
	}
	d.calls.add(call, !d.cfg.Lean)
	if fault.Lost || r.Context().Err() != nil {
		panic(http.ErrAbortHandler)
	}
	writeDiscord(w, result, refusal)
}

// read takes the body apart: JSON, or multipart with payload_json and files.
func (req *discordRequest) read(r *http.Request) error {
	req.query = r.URL.Query().Get
	body := http.MaxBytesReader(nil, r.Body, maxDiscordRequest)
	kind, args, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		data, err := io.ReadAll(body)
		req.body = data
		if err == nil && len(data) > 0 && !json.Valid(data) {
			return errors.New("not JSON")
		}
		return err
	}
	parts := multipart.NewReader(body, args["boundary"])
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		switch name := part.FormName(); {
		case name == "payload_json":
			req.body = data
		case strings.HasPrefix(name, "files["):
			req.files = append(req.files, DiscordFile{File: File{Name: part.FileName(), MIME: part.Header.Get("Content-Type"), Data: data}})
		}
	}
}

// decode reads the JSON body.
func (req *discordRequest) decode(v any) *discordError {
	if len(req.body) == 0 {
		return nil
	}
	if err := json.Unmarshal(req.body, v); err != nil {
		return dcRefuse(400, 50035, "Invalid Form Body: "+err.Error())
	}
	return nil
}

func (f Fault) writeDiscord(w http.ResponseWriter) {
	if f.Body != "" {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.Body)
		return
	}
	text, code := f.Description, 0
	if text == "" {
		text = fmt.Sprintf("%d: %s", f.Status, http.StatusText(f.Status))
	}
	// "50013 Missing Permissions" plans an error code, too.
	if number, rest, ok := strings.Cut(text, " "); ok {
		if n, err := strconv.Atoi(number); err == nil {
			code, text = n, rest
		}
	}
	writeDiscord(w, nil, &discordError{status: f.Status, code: code, text: text, retryAfter: f.RetryAfter})
}

func writeDiscord(w http.ResponseWriter, result any, refusal *discordError) {
	if refusal == nil && result == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	status := http.StatusOK
	if refusal != nil {
		status = refusal.status
		out := map[string]any{"message": refusal.text, "code": refusal.code}
		if refusal.errors != nil {
			out["errors"] = refusal.errors
		}
		if refusal.retryAfter > 0 {
			out["retry_after"], out["global"] = refusal.retryAfter.Seconds(), refusal.global
			w.Header().Set("Retry-After", strconv.Itoa(int((refusal.retryAfter+time.Second-1)/time.Second)))
			if refusal.global {
				w.Header().Set("X-RateLimit-Global", "true")
			}
		}
		result = out
	}
	data, err := json.Marshal(result)
	if err != nil {
		panic("channeltest: encode an answer: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}
