package telegram

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"clawbot/channels"
	"clawbot/channels/channeltest"
)

func TestAButtonPressIsAnsweredOnceItIsAccepted(t *testing.T) {
	r := start(t)
	to := r.target(42)
	id, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "?", Buttons: [][]channels.Button{{{Label: "Yes", Data: "y"}}}})
	r.must(err)
	r.host.FailAccept(errors.New("the store is away"))
	_, callback := r.Press(42, 42, mustInt(t, id), "y")
	r.must(r.host.WaitAttempts(r.ctx, 3))
	if n := r.CallCount("answerCallbackQuery"); n != 0 {
		t.Error("the press was answered before it was accepted")
	}
	r.host.FailAccept(nil)
	if _, err := r.WaitAnswer(r.ctx, callback); err != nil {
		t.Error("the press was never answered:", err)
	}
}

func TestAButtonWithTooMuchDataIsRefused(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	for size, ok := range map[int]bool{64: true, 65: false} {
		_, err := r.bot.Post(r.ctx, r.target(42), channels.Outgoing{
			Markdown: "?", Buttons: [][]channels.Button{{{Label: "Yes", Data: strings.Repeat("y", size)}}},
		})
		if (err == nil) != ok {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestReactionsComeFromTelegramsList(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	to := r.target(42)
	id := r.SendText(42, 42, "hi").MessageID
	for _, emoji := range []string{"👀", "✅", "❌", "⏳", "⚠️", "❤️", "👎"} {
		r.must(r.bot.React(r.ctx, to, messageText(id), emoji))
		if r.Reaction(42, id) == "" {
			t.Errorf("%s became no reaction", emoji)
		}
	}
	for from := range reactions {
		r.must(r.bot.React(r.ctx, to, messageText(id), ""))
		r.must(r.bot.React(r.ctx, to, messageText(id), from))
		if r.Reaction(42, id) == "" {
			t.Errorf("what stands for %s is not in Telegram's list", from)
		}
	}
	r.must(r.bot.React(r.ctx, to, messageText(id), ""))
	if got := r.Reaction(42, id); got != "" {
		t.Errorf("the reaction %s was not removed", got)
	}
	r.must(r.bot.React(r.ctx, to, messageText(id), "🪐")) // not to be had: left out
	r.must(r.bot.React(r.ctx, to, "9999", "👀"))
}

func TestCommandsAreRegisteredAsFarAsTelegramTakesThem(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	many := []channels.Command{
		{Name: "/stop", Description: "stop"}, {Name: "Status", Description: strings.Repeat("ü", 300)}, {Name: "no-good", Description: "x"},
		{Name: strings.Repeat("a", 33), Description: "x"}, {Name: "help"}, {Name: ""},
	}
	for range 200 {
		many = append(many, channels.Command{Name: "more", Description: "x"})
	}
	r.must(r.bot.RegisterCommands(r.ctx, many))
	got := r.Commands()
	if len(got) != 100 || got[0].Command != "stop" || got[1].Command != "status" || got[2].Command != "help" {
		t.Errorf("%d commands, %+v", len(got), got[:3])
	}
	r.must(r.bot.RegisterCommands(r.ctx, nil))
	if len(r.Commands()) != 0 {
		t.Error("the commands were not removed")
	}
}

func TestAMessageIsDeleted(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	to := r.target(42)
	id := r.post(to, "x")
	r.must(r.bot.Delete(r.ctx, to, id))
	r.must(r.bot.Delete(r.ctx, to, id))
	if len(r.Messages(42)) != 0 {
		t.Error("it is still there")
	}
}

func TestFilesAreSentAsWhatTheyAre(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{PhotoLimits: true}, Config{})
	to := r.target(42)
	png := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 100)...)
	for _, c := range []struct {
		name, mime, want string
		data             []byte
	}{
		{"a.png", "image/png", "photo", png},
		{"broken.png", "image/png", "document", []byte("no image")},
		{"big.png", "image/png", "document", append(png, make([]byte, maxPhoto)...)},
		{"a.txt", "text/plain", "document", []byte("text")},
		{"", "", "document", []byte("text")},
	} {
		id, err := r.bot.Upload(r.ctx, to, c.name, c.mime, iotest.OneByteReader(bytes.NewReader(c.data[:min(len(c.data), 200)])))
		if len(c.data) > 200 {
			id, err = r.bot.Upload(r.ctx, to, c.name, c.mime, bytes.NewReader(c.data))
		}
		r.must(err)
		all := r.Messages(42)
		last := all[len(all)-1]
		if last.Kind != c.want || messageText(last.ID) != id || last.File == nil || len(c.data) > 200 && !bytes.Equal(last.File.Data, c.data) {
			t.Errorf("%s was sent as %s", c.name, last.Kind)
		}
	}
}

func TestAFileThatCanNotBeSentSaysWhy(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	to := r.target(42)
	_, err := r.bot.Upload(r.ctx, to, "big.bin", "", io.LimitReader(zeros{}, maxUpload+1))
	if e := sendError(t, err); e.Outcome != channels.Rejected || e.Reason != channels.ReasonTooLong || !strings.Contains(err.Error(), "50 MB") {
		t.Errorf("too big: %v", err)
	}
	broken := errors.New("the disk is gone")
	for _, mime := range []string{"", "image/png"} {
		_, err = r.bot.Upload(r.ctx, to, "x", mime, io.MultiReader(strings.NewReader("some"), iotest.ErrReader(broken)))
		if e := sendError(t, err); e.Outcome != channels.Rejected || !errors.Is(err, broken) {
			t.Errorf("unreadable: %#v", e)
		}
	}
	if len(r.Messages(42)) != 0 {
		t.Error("something was sent")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
