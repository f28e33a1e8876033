package slack

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"clawbot/channels"
	"clawbot/channels/channeltest"
)

func TestAFileIsReceivedAndFetched(t *testing.T) {
	r := start(t)
	r.Send(channeltest.SlackIncoming{Channel: anaDM, User: ana, Text: "look", File: &channeltest.File{Name: "notes.txt", MIME: "text/plain", Data: []byte("the notes")}})
	in := r.next("look")
	if len(in.Attachments) != 1 || in.Attachments[0].Name != "notes.txt" || in.Attachments[0].Kind != "file" || in.Attachments[0].Size != 9 {
		t.Fatalf("attached: %+v", in.Attachments)
	}
	f, err := r.bot.Fetch(r.ctx, in.Attachments[0])
	r.must(err)
	defer f.Close()
	if data, err := io.ReadAll(f); err != nil || string(data) != "the notes" {
		t.Errorf("fetched %q, %v", data, err)
	}
}

func TestAFileWithoutTextIsAMessage(t *testing.T) {
	r := start(t)
	r.Send(channeltest.SlackIncoming{Channel: anaDM, User: ana, File: &channeltest.File{Name: "a.png", MIME: "image/png", Data: []byte("x")}})
	all, err := r.host.WaitEvents(r.ctx, 1)
	r.must(err)
	if len(all[0].Attachments) != 1 || all[0].Attachments[0].Kind != "image" {
		t.Errorf("read as %+v", all[0])
	}
}

func TestTheTokenGoesToSlacksHostsAlone(t *testing.T) {
	r := start(t)
	stranger := channeltest.NewSlack(channeltest.SlackConfig{}) // any other server
	defer stranger.Close()
	r.Send(channeltest.SlackIncoming{Channel: anaDM, User: ana, Text: "look", File: &channeltest.File{Name: "a.txt", MIME: "text/plain", Data: []byte("x")}, ExternalURL: stranger.URL() + "steal"})
	if _, err := r.bot.Fetch(r.ctx, r.next("look").Attachments[0]); err == nil || !strings.Contains(err.Error(), "not kept by Slack") {
		t.Error("fetched from elsewhere:", err)
	}
	if len(stranger.Calls()) != 0 {
		t.Error("the other server was asked")
	}
	for address, want := range map[string]bool{
		"https://files.slack.com/x": true, "https://slack.com/x": true, "https://files.slack-gov.com/x": true, r.URL() + "x": true,
		"http://files.slack.com/x": false, "https://slack.com.example.org/x": false, "https://notslack.com/x": false,
		"https://files.slack.com@example.org/x": false, "https://user@files.slack.com/x": false, "": false, "//files.slack.com/x": false,
	} {
		if r.bot.trusts(address) != want {
			t.Errorf("%q: trusted %v", address, !want)
		}
	}
}

func TestAFileThatCantBeReadSaysWhy(t *testing.T) {
	r := start(t)
	r.Send(channeltest.SlackIncoming{Channel: anaDM, User: ana, Text: "big", FileSize: maxDownload + 1, File: &channeltest.File{Name: "big.bin", Data: []byte("x")}})
	big := r.next("big").Attachments[0]
	if _, err := r.bot.Fetch(r.ctx, big); err == nil || !strings.Contains(err.Error(), "too big") {
		t.Error("a file over the limit:", err)
	}
	if _, err := r.bot.Fetch(r.ctx, channels.Attachment{ID: "F0NONE", Name: "gone"}); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Error("a file that does not exist:", err)
	}
	body := &download{ReadCloser: io.NopCloser(strings.NewReader("more than five")), left: 5}
	if _, err := io.ReadAll(body); err == nil {
		t.Error("a body longer than declared is read whole")
	}
}

func TestASignInPageIsNotTakenForTheFile(t *testing.T) {
	r := start(t)
	r.Send(channeltest.SlackIncoming{Channel: anaDM, User: ana, Text: "look", File: &channeltest.File{Name: "a.txt", MIME: "text/plain", Data: []byte("x")}})
	a := r.next("look").Attachments[0]
	r.bot.cfg.BotToken = "xoxb-another"
	if _, err := r.bot.download(r.ctx, a, strings.TrimSuffix(r.URL(), "api/")+"files/"+a.ID, "text/plain"); err == nil || !strings.Contains(err.Error(), "files:read") {
		t.Error("a redirect to the sign-in page:", err)
	}
}

func TestAFileIsSentIntoItsThread(t *testing.T) {
	r := start(t)
	to := r.thread()
	id, err := r.bot.Upload(r.ctx, to, "report.csv", "text/csv", strings.NewReader("a,b\n1,2\n"))
	r.must(err)
	all := r.Messages(general)
	if id == "" || len(all) != 1 || all[0].File == nil || string(all[0].File.Data) != "a,b\n1,2\n" || all[0].Thread != to.Thread || all[0].File.Name != "report.csv" {
		t.Errorf("sent %q: %+v", id, all)
	}
}

func TestAFileThatCantBeSentIsRejected(t *testing.T) {
	r := start(t)
	to := r.thread()
	_, err := r.bot.Upload(r.ctx, to, "empty", "", strings.NewReader(""))
	wantFailure(t, "an empty file", err, channels.Rejected, channels.ReasonOther)
	_, err = r.bot.Upload(r.ctx, to, "endless", "", io.MultiReader(bytes.NewReader(make([]byte, maxUpload)), strings.NewReader("x")))
	wantFailure(t, "a file over the limit", err, channels.Rejected, channels.ReasonTooLong)
	_, err = r.bot.Upload(r.ctx, to, "broken", "", io.MultiReader(strings.NewReader("x"), failing{}))
	wantFailure(t, "a file that can't be read", err, channels.Rejected, channels.ReasonOther)
	r.Fail("files.getUploadURLExternal", 1, channeltest.Fault{Status: 500})
	_, err = r.bot.Upload(r.ctx, to, "a", "", strings.NewReader("x"))
	wantFailure(t, "a failure before anything is shown", err, channels.Rejected, channels.ReasonOther)
	r.Fail("files.completeUploadExternal", 1, channeltest.Fault{Lost: true})
	_, err = r.bot.Upload(r.ctx, to, "a", "", strings.NewReader("x"))
	wantFailure(t, "a lost answer", err, channels.Unknown, channels.ReasonOther)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }
