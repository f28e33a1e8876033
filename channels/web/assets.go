package web

import (
	"embed"
	"net/http"

	"clawbot/internal/assets"
)

//go:embed page
var pageFiles embed.FS

// files are what the page is made of.
var files = assets.New(pageFiles, "page")

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
	if !files.Serve(w, r, name) {
		return errMissing
	}
	return nil
}
