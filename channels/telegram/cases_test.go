package telegram

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"clawbot/channels/channeltest"
)

// The rows are those of a list of public reports against other bots. Rows 5, 7,
// 9 and 34 are tested in channels/markdown, rows 12 and 14 in channels/reply.

func TestRow1AnUnknownReactionOrAWallpaperStallsNothing(t *testing.T) {
	r := start(t)
	r.SendRaw(`{"message_reaction":{"chat":{"id":1,"type":"private"},"message_id":3,"date":1,"old_reaction":[],"new_reaction":[{"type":"hologram"}]}}`)
	r.SendRaw(`{"message":{"message_id":9,"date":1,"chat":{"id":42,"type":"private"},"from":{"id":42,"first_name":"A"},"chat_background_set":{"type":{"type":"wallpaper","document":7}}}}`)
	last := r.SendText(42, 42, "after them")
	r.next("after them")
	r.must(r.WaitConfirmed(r.ctx, last.UpdateID))
}

func TestRow15TwoPollersEndNothing(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	for i := range 5 {
		r.Fail("getUpdates", i+1, channeltest.Fault{Status: 409, Description: "Conflict: terminated by other getUpdates request"})
	}
	r.receive()
	r.SendText(42, 42, "when the other has stopped")
	r.next("when the other has stopped")
}

func TestRow16ARestartReplaysNothingUnderAnotherName(t *testing.T) {
	r := start(t)
	sent := r.SendText(42, 42, "once")
	first := r.next("once")
	r.must(r.WaitConfirmed(r.ctx, sent.UpdateID))
	r.must(r.stop())
	r.Redeliver(sent.UpdateID)
	r.receive()
	r.SendText(42, 42, "after the restart")
	r.next("after the restart")
	for _, in := range r.host.Events() {
		if in.Text == "once" && (in.EventID != first.EventID || in.MessageID != first.MessageID || in.Target.Conversation != first.Target.Conversation) {
			t.Errorf("came again as %+v", in) // the store would not know it
		}
	}
}

func TestRow18TheGeneralTopicIsNotNamed(t *testing.T) {
	r := start(t)
	r.AddChat(group, channeltest.ChatOptions{Forum: true})
	r.SendText(group, bob, "@clawbot_bot in general")
	r.post(r.next("in general").Target, "answer")
	for _, c := range r.Calls("sendMessage") {
		if c.Params["message_thread_id"] != "" || c.Status >= 400 {
			t.Errorf("sent with %v: %d", c.Params, c.Status)
		}
	}
}

func TestRow21NothingIsSentThatAClientDoesNotShow(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	to := r.target(42)
	r.post(to, "# Head\n\n| a | b |\n|---|---|\n| $400-600K | x |\n\n$$x^2$$ <details><summary>s</summary>t</details>\n\n- [ ] task")
	for _, c := range r.Calls() {
		if c.Method != "sendMessage" || c.Params["parse_mode"] != "" || c.Params["rich_message"] != "" {
			t.Errorf("%s with %v", c.Method, c.Params)
		}
	}
	if text := r.Messages(42)[0].Text; !strings.Contains(text, "$400-600K") || !strings.Contains(text, "$$x^2$$") {
		t.Errorf("shown: %q", text)
	}
}

func TestAHundredMessagesInASecondArriveInOrder(t *testing.T) {
	r := start(t)
	var last channeltest.Delivered
	for i := range 100 {
		last = r.SendText(42, 42, fmt.Sprint("message ", i))
	}
	r.must(r.WaitConfirmed(r.ctx, last.UpdateID))
	for i, in := range r.host.Events() {
		if in.Text != fmt.Sprint("message ", i) {
			t.Fatalf("message %d is %q", i, in.Text)
		}
	}
}

func TestRichTextIsReadAsText(t *testing.T) {
	r := start(t)
	head := `{"message":{"message_id":5,"date":1,"from":{"id":42,"first_name":"Ann"},`
	private := head + `"chat":{"id":42,"type":"private"},`
	r.SendRaw(private + `"rich_message":{"blocks":[{"type":"section_heading","size":1,"text":"Plan"},{"type":"paragraph","text":["see ",{"type":"bold","text":"here"},"!"]},{"type":"list","items":[{"blocks":[{"type":"paragraph","text":"one"}]},{"blocks":[{"type":"paragraph","text":{"type":"italic","text":"two"}}]}]},{"type":"photo","photo":[{"file_id":"x"}]}]}}}`)
	if in := r.next("Plan"); in.Text != "Plan\nsee here!\none\ntwo" {
		t.Errorf("read as %q", in.Text)
	}
	r.SendRaw(head + `"chat":{"id":-100,"type":"supergroup"},"rich_message":{"blocks":[{"type":"paragraph","text":"🙂 @clawbot_bot, what now?"}]}}}`)
	if in := r.next("what now?"); !in.Addressed || strings.Contains(in.Text, "clawbot") {
		t.Errorf("read as %+v", in)
	}
	r.SendRaw(private + `"rich_message":{"blocks":[{"type":"divider"}]}}}`)
	r.SendRaw(private + `"rich_message":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}}`)
	r.SendRaw(private + `"checklist":{"title":"Shop","tasks":[{"id":1,"text":"milk"},{"id":2,"text":"eggs"}]}}}`)
	r.SendRaw(private + `"story":{"id":1,"chat":{"id":1}}}}`)
	r.SendRaw(private + `"game":{"title":"Chess"}}}`)
	r.next("[game: Chess]")
	var texts []string
	for _, in := range r.host.Events() {
		texts = append(texts, in.Text)
	}
	for _, want := range []string{"[a message without text that can be read]", "[checklist: Shop (milk / eggs)]", "[a story, which bots can't see]"} {
		if !slices.Contains(texts, want) {
			t.Errorf("%q is missing among %q", want, texts)
		}
	}
}
