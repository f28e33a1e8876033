package channeltest

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// slackFile is a file of the workspace, or one that is being uploaded.
type slackFile struct {
	File
	id       string
	declared int64
	complete bool
	// elsewhere is the address of a file that is only linked to.
	elsewhere string
}

func (s *Slack) addFile(f *slackFile) *slackFile {
	f.id = s.id("F")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[f.id] = f
	return f
}

func (s *Slack) file(id string) *slackFile {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.files[id]
}

func (s *Slack) fileWire(f *slackFile) slackObject {
	at := "http://" + s.listener.Addr().String() + "/files/" + f.id
	out := slackObject{
		"id": f.id, "name": f.Name, "title": f.Name, "mimetype": f.MIME, "size": max(f.declared, int64(len(f.Data))),
		"url_private": at, "url_private_download": at + "/download", "mode": "hosted", "is_external": false,
	}
	if f.elsewhere != "" {
		out["url_private"], out["is_external"], out["mode"] = f.elsewhere, true, "external"
		delete(out, "url_private_download")
	}
	return out
}

func (s *Slack) filesInfo(req *slackCall) (slackObject, string) {
	f := s.file(req.form.Get("file"))
	if f == nil {
		return nil, "file_not_found"
	}
	return slackObject{"file": s.fileWire(f)}, ""
}

func (s *Slack) getUploadURL(req *slackCall) (slackObject, string) {
	size, err := strconv.ParseInt(req.form.Get("length"), 10, 64)
	if err != nil || size <= 0 || req.form.Get("filename") == "" {
		return nil, "invalid_arguments"
	}
	f := s.addFile(&slackFile{File: File{Name: req.form.Get("filename")}, declared: size})
	return slackObject{"upload_url": "http://" + s.listener.Addr().String() + "/upload/" + f.id, "file_id": f.id}, ""
}

// serveUpload takes the bytes of a file.
func (s *Slack) serveUpload(w http.ResponseWriter, r *http.Request) {
	f := s.file(strings.TrimPrefix(r.URL.Path, "/upload/"))
	part, _, err := r.FormFile("file")
	if f == nil || err != nil {
		http.Error(w, "no such upload", http.StatusNotFound)
		return
	}
	defer part.Close()
	data, err := io.ReadAll(part)
	if err != nil || int64(len(data)) != f.declared {
		http.Error(w, "the length is not as declared", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	f.Data = data
	s.mu.Unlock()
	_, _ = io.WriteString(w, "OK - "+strconv.Itoa(len(data)))
}

func (s *Slack) completeUpload(req *slackCall) (slackObject, string) {
	var list []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	if json.Unmarshal([]byte(req.form.Get("files")), &list) != nil || len(list) == 0 {
		return nil, "invalid_arguments"
	}
	c, refusal := s.place(req, "channel_id")
	if refusal != "" {
		return nil, refusal
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if refusal = c.thread(req.form.Get("thread_ts")); refusal != "" {
		return nil, refusal
	}
	var out []slackObject
	for _, item := range list {
		f := s.file(item.ID)
		if f == nil || len(f.Data) == 0 {
			return nil, "file_not_found"
		}
		f.complete = true
		c.add(&SlackMessage{TS: s.now(), User: s.cfg.BotUser, bot: true, Thread: req.form.Get("thread_ts"), File: &f.File, files: []slackObject{s.fileWire(f)}})
		out = append(out, slackObject{"id": f.id, "title": item.Title})
	}
	return slackObject{"files": out}, ""
}

// serveFile gives a file to who has the token; without one it redirects to the
// sign-in page, as files.slack.com does.
func (s *Slack) serveFile(w http.ResponseWriter, r *http.Request) {
	id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/files/"), "/")
	f := s.file(id)
	switch {
	case f == nil:
		http.NotFound(w, r)
	case r.Header.Get("Authorization") != "Bearer "+s.cfg.BotToken || s.revoked.Load():
		http.Redirect(w, r, "/signin?redir="+r.URL.Path, http.StatusFound)
	default:
		w.Header().Set("Content-Type", f.MIME)
		_, _ = w.Write(f.Data)
	}
}
