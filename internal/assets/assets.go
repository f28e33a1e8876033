// Package assets serves the static files of the pages, which are embedded in
// the program.
package assets

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
)

// Files are static files by their base names. They are prepared on first use: a
// start without anybody looking at a page costs nothing.
type Files struct {
	prepare func() map[string]*asset
}

// asset is a static file, ready to be sent.
type asset struct {
	data    []byte
	gzipped []byte
	etag    string
	kind    string
}

// New serves the files below dir of files.
func New(files fs.FS, dir string) *Files {
	return &Files{sync.OnceValue(func() map[string]*asset { return prepare(files, dir) })}
}

func prepare(files fs.FS, dir string) map[string]*asset {
	kinds := map[string]string{
		".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
		".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	all := map[string]*asset{}
	_ = fs.WalkDir(files, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		a := &asset{data: data, etag: `"` + hex.EncodeToString(sum[:8]) + `"`, kind: kinds[path.Ext(name)]}
		if a.kind == "" {
			a.kind = mime.TypeByExtension(path.Ext(name))
		}
		var buf bytes.Buffer
		zip := gzip.NewWriter(&buf)
		_, _ = zip.Write(data) // a buffer takes everything
		_ = zip.Close()
		a.gzipped = buf.Bytes()
		all[path.Base(name)] = a
		return nil
	})
	return all
}

// Serve answers with a file. It reports false, having written nothing, if there
// is none of that name.
func (f *Files) Serve(w http.ResponseWriter, r *http.Request, name string) bool {
	a := f.prepare()[name]
	if a == nil {
		return false
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", a.etag)
	h.Set("Cache-Control", "no-cache") // ask each time: an upgrade shows at once
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == a.etag {
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	data := a.data
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		data = a.gzipped
	}
	_, _ = w.Write(data) // the client is gone if this fails
	return true
}
