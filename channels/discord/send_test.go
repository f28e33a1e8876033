package discord

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/channels/channeltest"
)

func sendError(t *testing.T, err error) *channels.SendError {
	t.Helper()
	e, ok := errors.AsType[*channels.SendError](err)
	if !ok {
		t.Fatalf("%v is no SendError", err)
	}
	return e
}

// direct is a private conversation on a bot that only writes.
func direct(t *testing.T) (*rig, channels.Target) {
	r := newRig(t, channeltest.DiscordConfig{}, Config{})
	dm := r.DM("71")
	return r, channels.Target{Conversation: "discord:@me:" + dm, Chat: dm, Direct: true}
}

func TestRefusalsAreToldApart(t *testing.T) {
	r, to := direct(t)
	for _, c := range []struct {
		status int
		text   string
		want   channels.Reason
	}{
		{400, "50035 Invalid Form Body", channels.ReasonOther},
		{413, "40005 Request entity too large", channels.ReasonTooLong},
		{404, "10008 Unknown Message", channels.ReasonGone},
		{400, "30046 Maximum number of edits to messages older than 1 hour reached", channels.ReasonGone},
		{404, "10003 Unknown Channel", channels.ReasonForbidden},
		{404, "10004 Unknown Guild", channels.ReasonForbidden},
		{403, "50001 Missing Access", channels.ReasonForbidden},
		{403, "50007 Cannot send messages to this user", channels.ReasonForbidden},
		{404, "10008 Unknown Message", channels.ReasonGone},
		{403, "50013 Missing Permissions", channels.ReasonForbidden},
		{403, "160005 Thread is locked", channels.ReasonForbidden},
		{403, "99999 Something new", channels.ReasonForbidden},
		{400, "Something without a code", channels.ReasonOther},
		{401, "401: Unauthorized", channels.ReasonAuth},
	} {
		r.Fail("createMessage", 1, channeltest.Fault{Status: c.status, Description: c.text})
		_, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "x"})
		if e := sendError(t, err); e.Outcome != channels.Rejected || e.Reason != c.want || !strings.Contains(e.Error(), "discord send") {
			t.Errorf("%d %s is %#v (%v)", c.status, c.text, e, e)
		}
	}
	if len(r.Messages(to.Chat)) != 0 {
		t.Error("something was sent")
	}
}

func TestAChannelThatRefusesAgainAndAgainIsLeftAlone(t *testing.T) {
	r, to := direct(t)
	r.Expel(to.Chat)
	for range 3 * refusalsInARow {
		_, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "x"})
		if e := sendError(t, err); e.Outcome != channels.Rejected || e.Reason != channels.ReasonForbidden {
			t.Fatalf("got %#v", e)
		}
	}
	if n := r.CallCount("createMessage"); n != refusalsInARow {
		t.Errorf("Discord was asked %d times", n)
	}
}

func TestAnUnreachableServerIsTriedAgainLater(t *testing.T) {
	r, to := direct(t)
	r.Close()
	_, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "x"})
	if e := sendError(t, err); e.Outcome != channels.RateLimited || e.RetryAfter <= 0 || !e.Global {
		t.Errorf("a message that never left is %#v", e)
	}
}

func TestATimeoutAfterTheRequestLeftIsUnknown(t *testing.T) {
	r, to := direct(t)
	r.Fail("createMessage", 1, channeltest.Fault{Delay: time.Hour})
	ctx, cancel := context.WithTimeout(r.ctx, 300*time.Millisecond)
	defer cancel()
	_, err := r.bot.Post(ctx, to, channels.Outgoing{Markdown: "x"})
	if e := sendError(t, err); e.Outcome != channels.Unknown || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %#v", e)
	}
}

func TestA429WithoutAnAnswerInItIsGlobal(t *testing.T) {
	r, to := direct(t)
	r.Fail("createMessage", 1, channeltest.Fault{Status: 429, Body: "<html>error 1015</html>"})
	_, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "x"})
	if e := sendError(t, err); e.Outcome != channels.RateLimited || !e.Global || e.RetryAfter <= 0 {
		t.Errorf("got %#v", e)
	}
}

func TestAFinalDoesNotWaitBehindDrafts(t *testing.T) {
	d := channeltest.NewDiscord(channeltest.DiscordConfig{RateLimits: true})
	defer d.Close()
	r := rigOn(t, d, Config{})
	to := channels.Target{Conversation: "discord:@me:" + d.DM("71"), Chat: d.DM("71"), Direct: true}
	id := r.post(to, "start")
	var refused int
	for i := range 20 {
		err := r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: fmt.Sprint("draft ", i), Draft: true})
		if err != nil {
			if e := sendError(t, err); e.Outcome != channels.RateLimited || e.RetryAfter <= 0 {
				t.Fatalf("a draft too many is %#v", e)
			}
			refused++
		}
	}
	r.must(r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: "the final"}))
	if m := r.Message(to.Chat, id); m.Text != "the final" || len(m.History) != 6 {
		t.Errorf("the message was %q", m.History)
	}
	if r.Refused() != 0 || refused != 16 {
		t.Errorf("Discord refused %d calls, the bot itself %d", r.Refused(), refused)
	}
}

func TestPostingInTheRoomStartsTheThreadOnce(t *testing.T) {
	r := start(t)
	room := channeltest.DiscordRoom(1)
	id := r.SendText(room, "71", r.at("what\n is   **the** weather? "+strings.Repeat("very ", 40)))
	to := r.next("what").Target
	_, err := r.bot.Typing(r.ctx, to)
	r.must(err)
	if r.Typing(room) != 1 {
		t.Error("nothing is shown in the room before the thread is there")
	}
	done := make(chan error, 4)
	for range 4 {
		go func() { _, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "x"}); done <- err }()
	}
	for range 4 {
		r.must(<-done)
	}
	other := rigOn(t, r.Discord, Config{}) // another process
	other.post(to, "once more")
	name, _ := r.HasChannel(id)
	if !strings.HasPrefix(name, "what is **the** weather? very") || len(name) > 100 || !strings.HasSuffix(name, "…") {
		t.Errorf("the thread is named %q", name)
	}
	if n := len(r.Messages(id)); n != 5 || len(r.Messages(room)) != 0 {
		t.Errorf("%d messages are in the thread, %d in the room", n, len(r.Messages(room)))
	}
	if again, err := r.bot.Typing(r.ctx, to); err != nil || again != 8 || r.Typing(id) != 1 {
		t.Error("typing in the thread:", again, err, r.Typing(id))
	}
}

func TestWhereNoThreadCanBeStartedTheRoomIsAnsweredIn(t *testing.T) {
	for name, prepare := range map[string]func(*channeltest.Discord, string){
		"no permission": func(d *channeltest.Discord, room string) {
			d.AddChannel(room, channeltest.DiscordChannelOptions{Denied: channeltest.DiscordCreateThreads})
		},
		"too many": func(d *channeltest.Discord, room string) {
			d.Fail("startThread", 1, channeltest.Fault{Status: 400, Description: "160006 Maximum number of active threads reached"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			room := channeltest.DiscordRoom(1)
			prepare(r.Discord, room)
			asked := r.SendText(room, "71", r.at("hello"))
			to := r.next("hello").Target
			id := r.post(to, "answer")
			r.must(r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: "better"}))
			if all := r.Messages(room); len(all) != 1 || all[0].Text != "better" || all[0].ReplyTo != asked {
				t.Errorf("the room shows %+v", all)
			}
			other := rigOn(t, r.Discord, Config{})
			r.must(other.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: "best"}))
			r.must(other.bot.Delete(r.ctx, to, id))
		})
	}
}

func TestAThreadThatCannotBeStartedNowIsTriedAgain(t *testing.T) {
	for name, fault := range map[string]channeltest.Fault{
		"lost": {Lost: true}, "dropped": {Drop: true}, "limited": {Status: 429, RetryAfter: time.Second}, "broken": {Status: 503},
	} {
		r := start(t)
		r.SendText(channeltest.DiscordRoom(1), "71", r.at("hello"))
		to := r.next("hello").Target
		r.Fail("startThread", 1, fault)
		_, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "x"})
		if e := sendError(t, err); e.Outcome != channels.RateLimited {
			t.Errorf("%s: %#v", name, e)
		}
		if fault.Status != 429 {
			r.post(to, "x")
		}
	}
}

func TestAnArchivedThreadIsOpenedToEditInItAndALockedOneIsNot(t *testing.T) {
	r := start(t)
	thread := r.StartThread(channeltest.DiscordRoom(1), "", "71", "old")
	r.SendText(thread, "71", r.at("hello"))
	to := r.next("hello").Target
	id := r.post(to, "answer")
	r.Archive(thread, true, false)
	r.must(r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: "better"}))
	r.Archive(thread, true, false)
	r.post(to, "another")
	r.Archive(thread, true, true)
	_, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "x"})
	if e := sendError(t, err); e.Reason != channels.ReasonForbidden {
		t.Errorf("posting to a locked thread: %#v", e)
	}
	err = r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: "x"})
	if e := sendError(t, err); e.Reason != channels.ReasonForbidden {
		t.Errorf("editing in a locked thread: %#v", e)
	}
}

func TestAMessageWhoseQuestionIsGoneIsPostedAllTheSame(t *testing.T) {
	r := startWith(t, channeltest.DiscordConfig{}, Config{ReplyIn: InChannel})
	room := channeltest.DiscordRoom(1)
	id := r.SendText(room, "71", r.at("hello"))
	to := r.next("hello").Target
	r.Delete(room, id)
	r.post(to, "answer")
	if all := r.Messages(room); len(all) != 1 || all[0].ReplyTo != "" {
		t.Errorf("the room shows %+v", all)
	}
}

func TestDraftsHaveNoPreviewsAndFinalsDo(t *testing.T) {
	r, to := direct(t)
	id, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "see https://example.org", Draft: true, Silent: true})
	r.must(err)
	if m := r.Message(to.Chat, id); m.Flags != flagNoPreviews|flagSilent {
		t.Errorf("a silent draft has the flags %b", m.Flags)
	}
	r.must(r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: "see https://example.org."}))
	if m := r.Message(to.Chat, id); m.Flags != flagSilent {
		t.Errorf("the final has the flags %b", m.Flags)
	}
}

func TestReactionsComeAndGo(t *testing.T) {
	r := start(t)
	room := channeltest.DiscordRoom(1)
	id := r.SendText(room, "71", r.at("hello"))
	to := r.next("hello").Target
	r.must(r.bot.React(r.ctx, to, id, "👀"))
	r.must(r.bot.React(r.ctx, to, id, "❌"))
	if m := r.Message(room, id); strings.Join(m.Reactions, "") != "👀❌" {
		t.Errorf("the reactions are %q", m.Reactions)
	}
	r.must(r.bot.React(r.ctx, to, id, ""))
	if m := r.Message(room, id); len(m.Reactions) != 0 {
		t.Errorf("the reactions are %q", m.Reactions)
	}
	r.must(r.bot.React(r.ctx, to, id, "nonsense"))
	r.Delete(room, id)
	r.must(r.bot.React(r.ctx, to, id, "👀"))
}

func TestFilesAreSent(t *testing.T) {
	r, to := direct(t)
	id, err := r.bot.Upload(r.ctx, to, "a \"b\"\n.txt", "text/plain", strings.NewReader("content"))
	r.must(err)
	m := r.Message(to.Chat, id)
	if len(m.Files) != 1 || string(m.Files[0].Data) != "content" || m.Files[0].MIME != "text/plain" || !strings.HasPrefix(m.Files[0].Name, `a "b"`) {
		t.Errorf("the message has %+v", m.Files)
	}
	_, err = r.bot.Upload(r.ctx, to, "big", "", strings.NewReader(strings.Repeat("x", maxUpload+1)))
	if e := sendError(t, err); e.Reason != channels.ReasonTooLong {
		t.Errorf("too big: %#v", e)
	}
	_, err = r.bot.Upload(r.ctx, to, "broken", "", brokenReader{})
	if e := sendError(t, err); e.Outcome != channels.Rejected {
		t.Errorf("unreadable: %#v", e)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("unreadable") }

func TestCheckNamesWhatIsMissing(t *testing.T) {
	r := newRig(t, channeltest.DiscordConfig{}, Config{})
	r.must(r.bot.Check(r.ctx))
	r.Deny(channeltest.DiscordGuild, channeltest.DiscordCreateThreads|channeltest.DiscordReadHistory)
	err := r.bot.Check(r.ctx)
	for _, want := range []string{`"Crew"`, `"Create Public Threads"`, `"Read Message History"`, "permissions=309237763136"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check says %v, without %s", err, want)
		}
	}
	r.Close()
	if err := r.bot.Check(r.ctx); err == nil || !strings.Contains(err.Error(), "proxy") {
		t.Error("Check without Discord says", err)
	}
}

func TestSettingsThatCannotBeAreRefused(t *testing.T) {
	token := "ODAwMDAwMDAwMDAwMDAwMDAx.x.y"
	for _, cfg := range []Config{{Proxy: "nonsense"}, {Proxy: "ftp://x"}, {APIURL: "discord"}} {
		cfg.Token = secret("Bot " + token)
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
	c, err := New(Config{Token: secret(token), Proxy: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if term, err := c.Term(t.Context()); term != "dc:800000000000000001" || err != nil || c.Name() != "discord" {
		t.Error(term, err, c.Name())
	}
	_, err = c.Post(t.Context(), channels.Target{Conversation: "discord:@me:1", Chat: "1", Direct: true}, channels.Outgoing{Markdown: "x"})
	if op, ok := errors.AsType[*net.OpError](err); ok {
		t.Error("the proxy is not used:", op)
	}
}
