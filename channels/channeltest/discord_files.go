package channeltest

import (
	"net/http"
	"strconv"
	"strings"
)

func (d *Discord) wireFiles(m *DiscordMessage) []any {
	out := []any{}
	for _, f := range m.Files {
		size := max(f.Size, int64(len(f.Data)))
		entry := map[string]any{
			"id": f.ID, "filename": f.Name, "size": size, "content_type": f.MIME,
			"url": d.URL() + "/attachments/" + m.Channel + "/" + f.ID + "/" + f.Name + "?ex=1&hm=signed",
		}
		if f.MIME == "audio/ogg" {
			entry["waveform"], entry["duration_secs"] = "AAAA", 3.2
		}
		out = append(out, entry)
	}
	return out
}

// serveAttachment is the CDN: addresses are signed and need no token.
func (d *Discord) serveAttachment(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/attachments/"), "/")
	fault := d.faults.next("attachment")
	if r.Header.Get("Authorization") != "" {
		http.Error(w, "the token was sent to the CDN", http.StatusTeapot)
		return
	}
	if fault.Status != 0 {
		fault.writeDiscord(w)
		return
	}
	f, ok := d.attachment(parts)
	if !ok || r.URL.Query().Get("hm") != "signed" {
		http.Error(w, "This content is no longer available.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", f.MIME)
	w.Header().Set("Content-Length", strconv.Itoa(len(f.Data)))
	if fault.Lost {
		_, _ = w.Write(f.Data[:len(f.Data)/2])
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(f.Data)
}

func (d *Discord) attachment(parts []string) (DiscordFile, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(parts) != 3 || d.channels[parts[0]] == nil {
		return DiscordFile{}, false
	}
	for _, m := range d.channels[parts[0]].order {
		for _, f := range m.Files {
			if f.ID == parts[1] {
				return f, true
			}
		}
	}
	return DiscordFile{}, false
}
