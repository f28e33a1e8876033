package openai

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"clawbot/agentcore"
	"clawbot/providers"
)

// listener is a server that hears "Hello." in everything it is sent well.
func listener(t *testing.T, answer func(w http.ResponseWriter)) (*httptest.Server, *http.Request) {
	var seen http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		seen = *r
		answer(w)
	}))
	t.Cleanup(server.Close)
	return server, &seen
}

func TestSpeechIsSentAsAFormAndComesBackAsText(t *testing.T) {
	server, seen := listener(t, func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"text":"Hello.","usage":{"seconds":3}}`)
	})
	for _, base := range []string{server.URL, server.URL + "/v1", server.URL + "/v1/chat/completions", server.URL + "/v1/audio/transcriptions"} {
		tr, err := NewTranscriber(providers.Config{Name: "x", BaseURL: base, APIKeys: []string{"sk-1"}}, "whisper-1")
		if err != nil {
			t.Fatal(err)
		}
		text, err := tr.Transcribe(t.Context(), "voi\"ce.oga", "audio/ogg; codecs=opus", strings.NewReader("OggS…"))
		if err != nil || text != "Hello." {
			t.Fatalf("%s: %q, %v", base, text, err)
		}
		if seen.URL.Path != "/v1/audio/transcriptions" || seen.Header.Get("Authorization") != "Bearer sk-1" || seen.FormValue("model") != "whisper-1" {
			t.Errorf("%s: asked %s with %v", base, seen.URL.Path, seen.Form)
		}
		files := seen.MultipartForm.File["file"]
		if len(files) != 1 || files[0].Filename != "voice.ogg" {
			t.Fatalf("%s: files %+v", base, files)
		}
		if kind, _, _ := mime.ParseMediaType(files[0].Header.Get("Content-Type")); kind != "audio/ogg" {
			t.Errorf("the type is %q", kind)
		}
		f, err := files[0].Open()
		if err != nil {
			t.Fatal(err)
		}
		if data, _ := io.ReadAll(f); string(data) != "OggS…" {
			t.Errorf("the audio is %q", data)
		}
	}
}

func TestATranscriptionThatFailsIsClassified(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		class  agentcore.ErrorClass
	}{
		"a refused key":  {func(w http.ResponseWriter) { http.Error(w, `{"error":{"message":"bad key"}}`, http.StatusUnauthorized) }, agentcore.ErrAuth},
		"no text":        {func(w http.ResponseWriter) { fmt.Fprint(w, `{"segments":[]}`) }, agentcore.ErrBadResponse},
		"nothing at all": {func(http.ResponseWriter) {}, agentcore.ErrBadResponse},
	} {
		server, _ := listener(t, func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			c.answer(w)
		})
		tr, err := NewTranscriber(providers.Config{Name: "x", BaseURL: server.URL}, "whisper-1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.Transcribe(t.Context(), "a.wav", "", strings.NewReader("RIFF")); agentcore.ClassOf(err) != c.class {
			t.Errorf("%s: %v, want class %s", name, err, c.class)
		}
	}
	tr, err := NewTranscriber(providers.Config{Name: "x", BaseURL: "http://127.0.0.1:1"}, "whisper-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Transcribe(t.Context(), "a.wav", "", io.LimitReader(zeros{}, maxAudio+1)); agentcore.ClassOf(err) != agentcore.ErrBadRequest {
		t.Errorf("too much audio: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
