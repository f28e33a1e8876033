package channeltest

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Telegram's bounds for files, in bytes.
const (
	maxDownload = 20 << 20
	maxUpload   = 50 << 20
	maxPhoto    = 10 << 20
)

// fileStore keeps the files that can be fetched by id.
type fileStore struct {
	mu    sync.Mutex
	files map[string]storedFile
}

type storedFile struct {
	File
	size int64 // as declared; the bytes may be fewer
}

func (s *fileStore) add(f File, size int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string]storedFile{}
	}
	id := "FILE" + strconv.Itoa(len(s.files)+1)
	s.files[id] = storedFile{f, max(size, int64(len(f.Data)))}
	return id
}

func (s *fileStore) get(id string) (storedFile, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.files[id]
	return f, ok
}

func (t *Telegram) getFile(req *tgRequest) (any, *tgError) {
	id := req.params["file_id"]
	f, ok := t.files.get(id)
	if !ok {
		return nil, refuse(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
	}
	if f.size > maxDownload {
		return nil, refuse(400, "Bad Request: file is too big")
	}
	return tgFile{FileID: id, FileUniqueID: id, FileSize: f.size, FilePath: "documents/" + id}, nil
}

func (t *Telegram) serveFile(w http.ResponseWriter, r *http.Request, rest string) {
	token, path, _ := strings.Cut(rest, "/")
	fault := t.faults.next("file")
	sleep(r.Context(), fault.Delay)
	if fault.Drop {
		panic(http.ErrAbortHandler)
	}
	if fault.Status != 0 {
		fault.write(w)
		return
	}
	f, ok := t.files.get(strings.TrimPrefix(path, "documents/"))
	if t.authorise(token) != nil || !ok {
		writeTelegram(w, nil, refuse(404, "Not Found"))
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(f.Data)))
	if fault.Lost {
		_, _ = w.Write(f.Data[:len(f.Data)/2])
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(f.Data)
}

// sendFile serves sendDocument, sendPhoto and sendVoice.
func (t *Telegram) sendFile(req *tgRequest) (any, *tgError) {
	c, err := t.target(req)
	if err != nil {
		return nil, err
	}
	kind := strings.TrimPrefix(lower(req.method), "send")
	f, ok := req.files[kind]
	if !ok {
		return nil, refuse(400, "Bad Request: there is no %s in the request", kind)
	}
	if len(f.Data) == 0 {
		return nil, refuse(400, "Bad Request: file must be non-empty")
	}
	if len(f.Data) > maxUpload || kind == "photo" && len(f.Data) > maxPhoto {
		return nil, refuse(413, "Request Entity Too Large")
	}
	if kind == "photo" && t.cfg.PhotoLimits && !isImage(f.Data) {
		return nil, refuse(400, "Bad Request: IMAGE_PROCESS_FAILED")
	}
	caption, entities, err := req.text("caption", "caption_entities", maxCaption)
	if err != nil {
		return nil, err
	}
	buttons, err := req.buttons()
	if err != nil {
		return nil, err
	}
	return t.post(c, req, &SentMessage{Kind: kind, Text: caption, Entities: entities, Buttons: buttons, File: &f})
}

func isImage(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\x89PNG")) || bytes.HasPrefix(data, []byte("\xff\xd8\xff"))
}
