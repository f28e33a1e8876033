package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed page
var pageFiles embed.FS

// asset is a static file, ready to be sent.
type asset struct {
	data    []byte
	gzipped []byte
	etag    string
	kind    string
}

// assets are the files of the page by name. They are prepared on first use:
// a start without anybody looking at the page costs nothing.
var assets = sync.OnceValue(func() map[string]*asset {
	kinds := map[string]string{
		".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
		".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	all := map[string]*asset{}
	_ = fs.WalkDir(pageFiles, "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := pageFiles.ReadFile(name)
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
})

// servePage answers every address of the page with the same document.
func (c *Channel) servePage(w http.ResponseWriter, r *http.Request) error {
	return serve(w, r, "index.html")
}

func (c *Channel) serveAsset(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("file")
	if name == "index.html" {
		return errMissing
	}
	return serve(w, r, name)
}

func serve(w http.ResponseWriter, r *http.Request, name string) error {
	a := assets()[name]
	if a == nil {
		return errMissing
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", a.etag)
	h.Set("Cache-Control", "no-cache") // ask each time: an upgrade shows at once
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == a.etag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	data := a.data
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		data = a.gzipped
	}
	_, _ = w.Write(data) // the client is gone if this fails
	return nil
}
