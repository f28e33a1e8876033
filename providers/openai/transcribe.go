package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"path"
	"strings"
	"time"

	"clawbot/agentcore"
	"clawbot/providers"
)

// maxAudio is what OpenAI takes in one file, in bytes.
const maxAudio = 25 << 20

// Transcriber turns speech into text with a model behind OpenAI's
// /audio/transcriptions, which many servers imitate. It is safe for concurrent
// use.
type Transcriber struct {
	client *providers.Client
	model  string
}

// NewTranscriber returns a transcriber. It makes no request.
func NewTranscriber(cfg providers.Config, model string) (*Transcriber, error) {
	for _, end := range []string{"/chat/completions", "/responses"} {
		cfg.BaseURL = strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), end)
	}
	client, err := providers.NewClient(cfg, providers.FormatTranscription, model)
	if err != nil {
		return nil, err
	}
	return &Transcriber{client, model}, nil
}

// Transcribe returns what is said in the audio; see [Transcriber.Hear].
func (t *Transcriber) Transcribe(ctx context.Context, name, mimeType string, audio io.Reader) (string, error) {
	text, _, err := t.Hear(ctx, name, mimeType, audio)
	return text, err
}

// Hear returns what is said in the audio, in the language it is said in, and how
// long it was, as far as the server tells; otherwise 0.
// Errors are *[agentcore.Error]. See
// https://platform.openai.com/docs/api-reference/audio/createTranscription.
func (t *Transcriber) Hear(ctx context.Context, name, mimeType string, audio io.Reader) (text string, heard time.Duration, err error) {
	form, kind, err := t.form(name, mimeType, audio)
	if err != nil {
		return "", 0, err
	}
	answer, err := t.client.Post(ctx, providers.Body{form}, http.Header{"Content-Type": {kind}, "Accept": {"application/json"}})
	if err != nil {
		return "", 0, err
	}
	defer answer.Close()
	ev, err := answer.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return "", 0, err
	}
	var out struct {
		Text     *string `json:"text"`
		Duration float64 `json:"duration"` // seconds
		Usage    struct {
			Seconds float64 `json:"seconds"`
		} `json:"usage"`
	}
	if err != nil || json.Unmarshal(ev.Data, &out) != nil || out.Text == nil {
		return "", 0, &agentcore.Error{Class: agentcore.ErrBadResponse, Message: fmt.Sprintf("the answer of %s to audio has no text", t.client.Info().Ref)}
	}
	return *out.Text, time.Duration(min(max(out.Usage.Seconds, out.Duration, 0), 1e6) * float64(time.Second)), nil
}

// form is the request's body and its content type.
func (t *Transcriber) form(name, mimeType string, audio io.Reader) (body []byte, kind string, err error) {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	_ = w.WriteField("model", t.model) // a buffer takes everything
	_ = w.WriteField("response_format", "json")
	head := textproto.MIMEHeader{}
	head.Set("Content-Disposition", mime.FormatMediaType("form-data", map[string]string{"name": "file", "filename": audioName(name, mimeType)}))
	if mimeType == "" {
		mimeType = "application/octet-stream"
	}
	head.Set("Content-Type", strings.Map(printable, mimeType))
	part, err := w.CreatePart(head)
	if err != nil {
		return nil, "", fmt.Errorf("write the form: %w", err)
	}
	n, err := io.Copy(part, io.LimitReader(audio, maxAudio+1))
	if err != nil {
		return nil, "", fmt.Errorf("read the audio: %w", err)
	}
	if n > maxAudio {
		return nil, "", &agentcore.Error{Class: agentcore.ErrBadRequest, Message: fmt.Sprintf("the audio has more than %d MB", maxAudio>>20)}
	}
	_ = w.Close() // a buffer takes everything
	return buf.Bytes(), w.FormDataContentType(), nil
}

// audioName is a name by which servers know the format: they go by its ending,
// and don't know Telegram's .oga.
func audioName(name, mimeType string) string {
	name = strings.Map(printable, path.Base(name))
	end := strings.ToLower(path.Ext(name))
	switch base, _, _ := strings.Cut(mimeType, ";"); {
	case end == ".oga" || end == "" && (base == "audio/ogg" || base == "audio/opus"):
		return strings.TrimSuffix(name, path.Ext(name)) + ".ogg"
	case end == "" && (base == "audio/mp4" || base == "audio/x-m4a"):
		return name + ".m4a"
	case end == "" && base == "audio/mpeg":
		return name + ".mp3"
	case end == "" && (base == "audio/wav" || base == "audio/x-wav"):
		return name + ".wav"
	}
	return name
}

func printable(r rune) rune {
	if r < ' ' || r > '~' || r == '"' || r == '\\' {
		return -1
	}
	return r
}
