package gateway

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/store"
	"clawbot/tools"
)

// Transcriber turns speech into text.
type Transcriber interface {
	Transcribe(ctx context.Context, name, mimeType string, audio io.Reader) (string, error)
}

// Bounds of what people attach.
const (
	maxFiles     = 10       // of one message
	maxFile      = 20 << 20 // bytes
	maxInline    = 64 << 10 // bytes of a text that the model is shown
	maxSpoken    = 64 << 10 // bytes of a transcript
	fileTime     = time.Minute
	speechTime   = 3 * time.Minute
	sniffedBytes = 512
)

const mimePDF = "application/pdf"

// file is what became of an attachment: it is noted in the transcript, so that
// the model sees the same in every request, on whichever replica.
type file struct {
	Message string   `json:"msg"` // id of the message it came with
	Index   int      `json:"i"`   // among the message's attachments
	Kind    fileKind `json:"kind"`
	Name    string   `json:"name,omitempty"`
	MIME    string   `json:"mime,omitempty"`
	Ref     string   `json:"ref,omitempty"`  // of the blob, for images and documents
	Text    string   `json:"text,omitempty"` // for the model; why it was not read, of fileUnread; what a document says
}

type fileKind string

const (
	fileImage    fileKind = "image"
	fileDocument fileKind = "document"
	fileText     fileKind = "text"
	fileSpeech   fileKind = "speech"
	fileUnread   fileKind = "unread"
)

// readFiles fetches what is attached to the messages that are to be answered,
// and notes it. A file that can't be read becomes a line that says so; the
// message is answered all the same.
func (r *run) readFiles() error {
	t := r.t
	for _, m := range slices.Clone(t.tr.pending) {
		if len(m.Attachments) == 0 || m.files != nil || m.Kind == kindDropped {
			continue
		}
		files := make([]file, 0, len(m.Attachments))
		for i, a := range m.Attachments {
			f := file{Message: m.ID, Index: i, Name: a.Name, MIME: a.MIMEType}
			if i >= maxFiles {
				f.Kind, f.Text = fileUnread, fmt.Sprintf("I read %d files of one message", maxFiles)
			} else {
				r.out.doing("Reading " + describeAttachment(a))
				r.readFile(&f, a)
			}
			if r.ctx.Err() != nil {
				break
			}
			files = append(files, f)
		}
		r.out.doing("")
		if t.ctx.Err() != nil {
			return context.Cause(t.ctx)
		}
		if r.ctx.Err() != nil {
			return nil // stopped; what was not read stays unread
		}
		if err := t.note(r.id, "files-"+m.ID, note{Kind: noteFiles, Files: files}); err != nil {
			return err
		}
	}
	return nil
}

// readFile fills in what became of an attachment.
func (r *run) readFile(f *file, a channels.Attachment) {
	limit := fileTime
	if isSpeech(a) {
		limit = speechTime
	}
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	defer cancel()
	err := r.fetch(ctx, f, a)
	if err == nil {
		r.log.Info("attachment read", "name", f.Name, "kind", string(f.Kind), "mime", f.MIME)
		return
	}
	f.Kind = fileUnread
	if f.Text = "it could not be fetched from the chat"; errors.Is(err, store.ErrLimit) {
		f.Text = fmt.Sprintf("it is larger than the %d MB that I take", maxFile>>20)
	}
	if unread, ok := errors.AsType[unreadable](err); ok {
		f.Text = string(unread)
	}
	r.log.Warn("an attachment was not read", "name", a.Name, "mime", a.MIMEType, "bytes", a.Size, "err", err)
}

// unreadable says, for people and the model, why a file was not read.
type unreadable string

func (u unreadable) Error() string { return string(u) }

func (r *run) fetch(ctx context.Context, f *file, a channels.Attachment) error {
	source, ok := r.host.channel.(channels.Attachments)
	switch {
	case !ok:
		return unreadable("files can't be fetched from this chat")
	case a.Size > maxFile:
		return store.ErrLimit
	case isSpeech(a) && r.t.g.config().Transcriber == nil:
		return unreadable("I can't listen here: whoever runs me can set `transcribe` of `[audio]`; please write it instead")
	case a.Kind == "video":
		return unreadable("I can't watch videos")
	}
	body, err := source.Fetch(ctx, a)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	return r.takeFile(ctx, f, a, bufio.NewReaderSize(&capped{r: body, left: maxFile}, 4096))
}

// takeFile reads a file by what it is, not by what it is called.
func (r *run) takeFile(ctx context.Context, f *file, a channels.Attachment, body *bufio.Reader) error {
	head, err := body.Peek(sniffedBytes)
	if len(head) == 0 {
		if err == nil || errors.Is(err, io.EOF) {
			return unreadable("it is empty")
		}
		return err
	}
	sniffed, _, _ := mime.ParseMediaType(http.DetectContentType(head))
	switch {
	case isSpeech(a):
		return r.listen(ctx, f, a, body)
	case strings.HasPrefix(sniffed, "image/") && sniffed != "image/x-icon":
		f.Kind, f.MIME = fileImage, sniffed
	case sniffed == mimePDF, bytes.Contains(head, []byte("%PDF-")) && (a.MIMEType == mimePDF || strings.HasSuffix(strings.ToLower(a.Name), ".pdf")):
		f.Kind, f.MIME = fileDocument, mimePDF
	case strings.HasPrefix(a.MIMEType, "image/") && sniffed == "application/octet-stream":
		f.Kind = fileImage // a type that the sniffer doesn't know; the provider may
	case strings.HasPrefix(sniffed, "text/") || utf8Head(head):
		return f.inline(body)
	default:
		return unreadable("I can't read files of the type " + displayName(cmp.Or(a.MIMEType, sniffed)))
	}
	if f.Ref, err = r.t.g.cfg.Store.Blobs().Put(ctx, body, maxFile); err == nil && f.Kind == fileDocument {
		f.Text, err = r.t.g.media.text(ctx, f)
	}
	return err
}

// listen has speech turned into text.
func (r *run) listen(ctx context.Context, f *file, a channels.Attachment, body io.Reader) error {
	text, err := r.t.g.config().Transcriber.Transcribe(ctx, cmp.Or(a.Name, "voice.ogg"), a.MIMEType, body)
	if err != nil {
		r.log.Error("speech was not turned into text", "err", err)
		if why := tooExpensive(err); why != "" {
			r.overspent(err)
			return unreadable("I did not listen to it: " + why)
		}
		return unreadable("it could not be turned into text; please write it instead")
	}
	if text = strings.TrimSpace(cleanText(text)); text == "" {
		return unreadable("nobody speaks in it, as far as I can hear")
	}
	f.Kind, f.Text = fileSpeech, clip(text, maxSpoken)
	return nil
}

// inline keeps a text as the model is shown it: marked as data.
func (f *file) inline(body io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(body, maxInline+1))
	if err != nil {
		return err
	}
	text := decodeText(data)
	if len(data) > maxInline {
		text = clip(text, maxInline) + fmt.Sprintf("\n[only the first %d kB are shown]", maxInline>>10)
	}
	f.Kind, f.Text = fileText, f.quoted(text)
	return nil
}

// quoted marks what a file says as data.
func (f *file) quoted(text string) string {
	return tools.Untrusted("the attached file "+displayName(cmp.Or(f.Name, "without a name")), unmark.Replace(cleanText(text)))
}

// utf8Head reports whether a file begins as text does, whatever its name.
func utf8Head(head []byte) bool {
	for i := 0; i < utf8.UTFMax && len(head) > 0 && !utf8.Valid(head); i++ {
		head = head[:len(head)-1] // a character may be cut
	}
	return len(head) > 0 && utf8.Valid(head) && bytes.IndexFunc(head, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\r' && r != '\t' && r != '\f' && r != 0x1b
	}) < 0
}

func isSpeech(a channels.Attachment) bool {
	return a.Kind == "voice" || a.Kind == "audio" || strings.HasPrefix(a.MIMEType, "audio/")
}

// capped fails beyond its limit, so that a file that lies about its size costs
// no more than that.
type capped struct {
	r    io.Reader
	left int64
}

// Read reads, and returns store.ErrLimit beyond the limit.
func (c *capped) Read(p []byte) (int, error) {
	if c.left < 0 {
		return 0, store.ErrLimit
	}
	n, err := c.r.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, store.ErrLimit
	}
	return n, err
}

// attach puts what was read into the messages it came with.
func (t *transcript) attach(files []file) {
	for i := len(t.pending) - 1; i >= 0 && len(files) > 0; i-- {
		m := t.pending[i]
		if m.ID != files[0].Message {
			continue
		}
		m.files = files
		for j, shown := range slices.Backward(t.messages) {
			if shown.ID == m.ID {
				t.messages[j] = m.message()
				t.media = t.media || hasMedia(t.messages[j])
				return
			}
		}
	}
}

func hasMedia(m *agentcore.Message) bool {
	return slices.ContainsFunc(m.Content, func(b agentcore.Block) bool {
		switch b := b.(type) {
		case agentcore.Image:
			return b.Ref != ""
		case agentcore.Document:
			return b.Ref != ""
		}
		return false
	})
}

// attached is what the model sees of an attachment: a line, and perhaps a block.
func (r *inbound) attached(b *strings.Builder, i int) agentcore.Block {
	a := r.Attachments[i]
	name := describeAttachment(a)
	if i >= len(r.files) {
		fmt.Fprintf(b, "\n%sattached: %s; its content is not available to you%s", markOpen, name, markClose)
		return nil
	}
	f := &r.files[i]
	switch f.Kind {
	case fileImage:
		fmt.Fprintf(b, "\n%sattached: %s%s", markOpen, name, markClose)
		return agentcore.Image{MIMEType: f.MIME, Ref: f.Ref}
	case fileDocument:
		fmt.Fprintf(b, "\n%sattached: %s%s", markOpen, name, markClose)
		return agentcore.Document{Name: displayName(cmp.Or(path.Base(f.Name), "document.pdf")), MIMEType: f.MIME, Ref: f.Ref, Text: f.Text}
	case fileText:
		fmt.Fprintf(b, "\n%sattached: %s%s\n%s", markOpen, name, markClose, f.Text)
	case fileSpeech:
		fmt.Fprintf(b, "\n%sattached: %s; what is said in it%s\n%s", markOpen, name, markClose, unmark.Replace(f.Text))
	default:
		fmt.Fprintf(b, "\n%sattached: %s; you can't see it: %s. Tell the user so%s", markOpen, name, unmark.Replace(f.Text), markClose)
	}
	return nil
}
