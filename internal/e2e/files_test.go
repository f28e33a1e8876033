package e2e

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

func TestAPhotoANoteAndAVoiceMessageReachTheModel(t *testing.T) {
	ears := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, _, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		data, _ := io.ReadAll(f)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"text":"this is what %s says"}`, data)
	}))
	t.Cleanup(ears.Close)
	w := newWorld(t, options{script: modeltest.Always(modeltest.Say("Seen.")), config: fmt.Sprintf(`
[providers.test.models."scripted-1"]
images = true
[providers.ears]
format = "openai"
base_url = %q
[audio]
transcribe = "ears/whisper-1"
`, ears.URL)})
	var photo bytes.Buffer
	must(t, png.Encode(&photo, image.NewGray(image.Rect(0, 0, 8, 8))))
	w.telegram.Send(channeltest.Incoming{Chat: ana, User: ana, Text: "what is this?", File: &channeltest.File{Name: "photo.jpg", Data: photo.Bytes()}, FileKind: "photo"})
	if m := w.nextRequest().Last(); m.Images != 1 || !strings.Contains(m.Text, "what is this?") {
		t.Errorf("the model was shown %+v", m)
	}
	w.answer("Seen.")
	w.telegram.Send(channeltest.Incoming{Chat: ana, User: ana, File: &channeltest.File{Name: "list.txt", MIME: "text/plain", Data: []byte("eggs and flour")}})
	if m := w.nextRequest().Last(); !strings.Contains(m.Text, "eggs and flour") || !strings.Contains(m.Text, "list.txt") {
		t.Errorf("the model was shown %+v", m)
	}
	w.telegram.Send(channeltest.Incoming{Chat: ana, User: ana, File: &channeltest.File{Name: "v.ogg", MIME: "audio/ogg", Data: []byte("OggS")}, FileKind: "voice"})
	if m := w.nextRequest().Last(); !strings.Contains(m.Text, "this is what OggS says") {
		t.Errorf("the model was shown %+v", m)
	}
	w.telegram.Send(channeltest.Incoming{Chat: ana, User: ana, Text: "and this?", File: &channeltest.File{Name: "film.bin", Data: []byte("x")}, FileSize: 30 << 20})
	if m := w.nextRequest().Last(); !strings.Contains(m.Text, "larger than the 20 MB") {
		t.Errorf("the model was shown %+v", m)
	}
	// What was shown once is shown the same way again.
	w.say("thanks")
	last := w.nextRequest()
	if last.Messages[0].Images+last.Messages[1].Images != 1 || !last.Mentions("eggs and flour") {
		t.Errorf("the history is %+v", last.Messages)
	}
}

func TestAnAlbumAndALongTextAreOneTurnEach(t *testing.T) {
	w := newWorld(t, options{script: modeltest.Always(modeltest.Say("Seen.")), config: `
[providers.test.models."scripted-1"]
images = true
`})
	var photo bytes.Buffer
	must(t, png.Encode(&photo, image.NewGray(image.Rect(0, 0, 8, 8))))
	for i, caption := range []string{"which is best?", "", ""} {
		w.telegram.Send(channeltest.Incoming{Chat: ana, User: ana, Text: caption, Album: "g1", FileKind: "photo",
			File: &channeltest.File{Name: fmt.Sprintf("%d.jpg", i), Data: photo.Bytes()}})
	}
	images := 0
	for _, m := range w.nextRequest().Messages {
		images += m.Images
	}
	if images != 3 {
		t.Errorf("the model was shown %d of 3 pictures at once", images)
	}
	w.answer("Seen.")
	w.say(strings.Repeat("a long text ", 340))
	w.say("that ends here")
	if req := w.nextRequest(); !req.Mentions("a long text") || !req.Mentions("that ends here") || w.model.Count() != 2 {
		t.Errorf("request %d of %d has not both parts: %.300v\n%s", req.Number, w.model.Count(), req.Messages[len(req.Messages)-1], w.bot.log())
	}
}
