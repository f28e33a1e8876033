package slack

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/channels/channeltest"
	"clawbot/channels/reply"
)

func wantFailure(t *testing.T, what string, err error, outcome channels.Outcome, reason channels.Reason) {
	t.Helper()
	e, ok := errors.AsType[*channels.SendError](err)
	if !ok || e.Outcome != outcome || e.Reason != reason {
		t.Errorf("%s: %#v (%v), want outcome %d and reason %q", what, e, err, outcome, reason)
	}
}

func TestRow32AllBlocksTogetherStayBelowWhatSlackTakes(t *testing.T) {
	r := start(t)
	to := r.direct()
	text := strings.Repeat("word ", 2199) + "end"
	buttons := make([][]channels.Button, 10)
	for i := range buttons {
		for range 5 {
			buttons[i] = append(buttons[i], channels.Button{Label: strings.Repeat("l", 200), Data: strings.Repeat("d", 64), Style: "odd"})
		}
	}
	id, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: text, Status: strings.Repeat("s", 5000), Buttons: buttons})
	r.must(err)
	r.must(r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: text, Status: strings.Repeat("s", 5000), Buttons: buttons}))
	for _, unit := range []string{"a", "界", "👍"} {
		longest := strings.Repeat(unit, maxText/measure(unit))
		id, err = r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: longest, Status: "working"})
		r.must(err)
		r.must(r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: longest}))
	}
	if refused := r.Platform().Refusals(); len(refused) > 0 {
		t.Error("slack refused:", refused)
	}
	for _, m := range r.Messages(anaDM) {
		if n := len([]rune(m.Shown())); n > 12_100 {
			t.Errorf("the blocks have %d characters", n)
		}
	}
	_, err = r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: strings.Repeat("x", maxText+1)})
	wantFailure(t, "a text over the limit", err, channels.Rejected, channels.ReasonTooLong)
}

func TestRow33CodeInAQuoteIsShown(t *testing.T) {
	r := start(t)
	r.post(r.direct(), "> `code`")
	m := r.Messages(anaDM)[0]
	if got := m.Blocks[0].Markdown(); got != "> `code`" {
		t.Errorf("the block is %q", got)
	}
	if strings.Contains(m.Text, "&gt; `code`") || strings.HasPrefix(m.Text, "> `") || !strings.Contains(m.Text, "`code`") {
		t.Errorf("the fallback is %q", m.Text)
	}
}

func TestRow34EscapesAreNotShown(t *testing.T) {
	r := start(t)
	r.post(r.direct(), `x86\_64`)
	if m := r.Messages(anaDM)[0]; m.Text != "x86_64" {
		t.Errorf("the fallback is %q", m.Text)
	}
}

func TestRow35AnUpdateIsConvertedAsAPostIs(t *testing.T) {
	r := start(t)
	to := r.direct()
	id := r.post(to, "start")
	r.must(r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: "**bold** and [link](https://e.org)"}))
	m := r.Messages(anaDM)[0]
	if len(m.Blocks) != 1 || m.Blocks[0].Markdown() != "**bold** and [link](https://e.org)" {
		t.Errorf("the blocks are %+v", m.Blocks)
	}
	if m.Text != "*bold* and <https://e.org|link>" {
		t.Errorf("the fallback is %q", m.Text)
	}
}

func TestAttack54AModelsTextMentionsNobody(t *testing.T) {
	r := start(t)
	to := r.direct()
	for _, text := range []string{"<!channel> look", "@channel look", "<@U0BEN> look", "<!subteam^S1>", "<#C1>", "`<!here>` and <!everyone|x>"} {
		for _, draft := range []bool{true, false} {
			id, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: text, Draft: draft, Status: "<!here>"})
			r.must(err)
			r.must(r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: text, Draft: draft, Status: "<!here>"}))
		}
	}
	for _, m := range r.Messages(anaDM) {
		if strings.Contains(m.Text, "<!") || strings.Contains(m.Text, "<@") || strings.Contains(m.Text, "<#") {
			t.Errorf("the fallback is %q", m.Text)
		}
		if body := m.Blocks[0].Markdown(); strings.Contains(strings.ReplaceAll(body, "`<!here>`", ""), "<!") || strings.Contains(body, "<@U") {
			t.Errorf("the block is %q", body)
		}
	}
}

func TestRow41ALostAnswerIsLookedUpAndTheMessageIsNotSentTwice(t *testing.T) {
	for _, at := range []string{"thread", "direct"} {
		r := start(t)
		to, chat := r.direct(), anaDM
		if at == "thread" {
			to, chat = r.thread(), general
		}
		rep := reply.New(reply.Config{Channel: r.bot, Target: to})
		done := make(chan error, 1)
		r.Fail("chat.postMessage", 1, channeltest.Fault{Lost: true})
		go func() { done <- rep.Run(r.ctx) }()
		rep.Write("the answer")
		r.must(rep.Finish(r.ctx))
		<-done
		if all := r.Messages(chat); len(all) != 1 || all[0].Shown() != "the answer" {
			t.Errorf("%s: shown %+v", at, all)
		}
	}
}

func TestProbeFindsAMessageByItsNonceOnManyPages(t *testing.T) {
	r := start(t)
	to := r.thread()
	var want string
	for i := range 250 {
		id, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: fmt.Sprint(i), Nonce: fmt.Sprint("nonce-", i)})
		r.must(err)
		if i == 240 {
			want = id
		}
	}
	if id, err := r.bot.Probe(r.ctx, to, "nonce-240"); err != nil || id != want {
		t.Errorf("found %q, %v; want %q", id, err, want)
	}
	if id, err := r.bot.Probe(r.ctx, to, "nonce-999"); err != nil || id != "" {
		t.Errorf("what was never sent is found: %q, %v", id, err)
	}
	to.Thread = ""
	if id, err := r.bot.Probe(r.ctx, to, "nonce-240"); err != nil || id != "" {
		t.Errorf("found outside of its thread: %q, %v", id, err)
	}
	r.Fail("conversations.history", 1, channeltest.Fault{Status: 429, RetryAfter: time.Second})
	if _, err := r.bot.Probe(r.ctx, to, "nonce-240"); channels.OutcomeOf(err) != channels.RateLimited {
		t.Error("a failed look-up is", err)
	}
}

func TestErrorsAreToldApart(t *testing.T) {
	r := start(t)
	to := r.direct()
	id := r.post(to, "one")
	for code, want := range map[string]struct {
		outcome channels.Outcome
		reason  channels.Reason
	}{
		"channel_not_found": {channels.Rejected, channels.ReasonForbidden}, "not_in_channel": {channels.Rejected, channels.ReasonForbidden},
		"is_archived": {channels.Rejected, channels.ReasonForbidden}, "restricted_action_read_only_channel": {channels.Rejected, channels.ReasonForbidden},
		"missing_scope": {channels.Rejected, channels.ReasonForbidden}, "msg_too_long": {channels.Rejected, channels.ReasonTooLong},
		"msg_blocks_too_long": {channels.Rejected, channels.ReasonTooLong}, "cant_update_message": {channels.Rejected, channels.ReasonGone},
		"message_not_found": {channels.Rejected, channels.ReasonGone}, "edit_window_closed": {channels.Rejected, channels.ReasonGone},
		"ratelimited": {channels.RateLimited, ""}, "fatal_error": {channels.Unknown, ""}, "internal_error": {channels.Unknown, ""},
		"service_unavailable": {channels.Unknown, ""}, "an_error_of_next_year": {channels.Rejected, ""},
	} {
		r.Fail("chat.update", 1, channeltest.Fault{Status: 200, Description: code})
		wantFailure(t, code, r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: "two"}), want.outcome, want.reason)
	}
	r.Fail("chat.update", 1, channeltest.Fault{Status: 429})
	err := r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: "two"})
	if e, ok := errors.AsType[*channels.SendError](err); !ok || e.Outcome != channels.RateLimited || e.RetryAfter <= 0 || !e.Global {
		t.Errorf("a limit without a time is %#v", e)
	}
	if n := r.CallCount("chat.update"); n != 16 {
		t.Errorf("%d updates were tried for 16 edits", n)
	}
}

func TestAWorkspaceWithoutMarkdownBlocksGetsSections(t *testing.T) {
	r := start(t)
	to := r.direct()
	for _, text := range []string{"**bold**", strings.Repeat("**bold** words\n\n", 500)} {
		r.Fail("chat.postMessage", 1, channeltest.Fault{Status: 200, Description: "invalid_blocks"})
		id := r.post(to, text)
		r.Fail("chat.update", 1, channeltest.Fault{Status: 200, Description: "invalid_blocks"})
		r.must(r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: text, Status: "working"}))
	}
	for _, m := range r.Messages(anaDM) {
		if m.Blocks[0].Type != "section" || !strings.Contains(m.Shown(), "*bold*") || strings.Contains(m.Shown(), "**") {
			t.Errorf("shown %.80q", m.Shown())
		}
	}
}

func TestAPrivateMessageIsShownToOnePersonWhereTheyCanSeeIt(t *testing.T) {
	r := start(t)
	to := r.thread()
	out := channels.Outgoing{Markdown: "only for you", Private: true}
	id, err := r.bot.Post(r.ctx, to, out)
	r.must(err)
	inThread := to
	inThread.ReplyTo = "1700000000.000001" // a later message of the thread
	_, err = r.bot.Post(r.ctx, inThread, out)
	r.must(err)
	hidden := r.Ephemeral(general)
	if len(r.Messages(general)) != 0 || len(hidden) != 2 || hidden[0].OnlyFor != ana || hidden[0].Thread != "" || hidden[1].Thread != to.Thread {
		t.Fatalf("shown to one: %+v, to all: %+v", hidden, r.Messages(general))
	}
	wantFailure(t, "an edit of it", r.bot.Edit(r.ctx, to, id, out), channels.Rejected, channels.ReasonGone)
	r.SetPerson(ana, channeltest.SlackPerson{Name: "Ana", Away: true})
	r.post(to, "in the open")
	_, err = r.bot.Post(r.ctx, to, out)
	r.must(err)
	if all := r.Messages(general); len(all) != 2 {
		t.Errorf("to somebody who is not in the channel it is shown as %+v", all)
	}
	direct := r.direct()
	if _, err := r.bot.Post(r.ctx, direct, out); err != nil || len(r.Messages(anaDM)) != 1 {
		t.Error("in a direct conversation everything is private:", err)
	}
}

func TestTheSignOfWorkGoesWithTheLastWordAndNotBefore(t *testing.T) {
	r := start(t)
	to := r.thread()
	again, err := r.bot.Typing(r.ctx, to)
	r.must(err)
	if again != typingStream {
		t.Errorf("an idle stream is looked for after %d s", again)
	}
	_, err = r.bot.Typing(r.ctx, to)
	r.must(err)
	if n := r.CallCount("assistant.threads.setStatus"); n != 1 {
		t.Errorf("the sign was shown %d times at once", n)
	}
	r.must(r.WaitStatus(r.ctx, general, to.Thread, func(s string) bool { return s != "" }))
	id := r.post(to, "so far")
	_, err = r.bot.Typing(r.ctx, to)
	r.must(err)
	r.must(r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: "so far so", Draft: true}))
	r.must(r.WaitStatus(r.ctx, general, to.Thread, func(s string) bool { return s != "" }))
	r.must(r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: "so far so good"}))
	r.must(r.WaitStatus(r.ctx, general, to.Thread, func(s string) bool { return s == "" }))
	calls := r.CallCount("assistant.threads.setStatus")
	r.must(r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: "so far so good."}))
	if _, err := r.bot.Typing(r.ctx, r.direct()); err != nil || r.CallCount("assistant.threads.setStatus") != calls {
		t.Error("a sign is shown, or taken away, where there is none:", err)
	}
	r.Fail("assistant.threads.setStatus", 1, channeltest.Fault{Status: 200, Description: "missing_scope"})
	for range 3 {
		if _, err := r.bot.Typing(r.ctx, to); err != nil {
			t.Error("a sign that the app may not show:", err)
		}
	}
	if n := r.CallCount("assistant.threads.setStatus"); n != calls+1 {
		t.Errorf("it was tried %d times", n-calls)
	}
}

func TestAReactionReplacesTheOneBefore(t *testing.T) {
	r := start(t)
	to := r.direct()
	ts := r.next("hello there").MessageID
	for _, step := range []struct {
		emoji string
		want  []string
	}{{"👀", []string{"eyes"}}, {"👀", []string{"eyes"}}, {"✅", []string{"white_check_mark"}}, {"🪐", []string{"white_check_mark"}}, {"❤️", []string{"heart"}}, {":shipit:", []string{"shipit"}}, {"", nil}} {
		r.must(r.bot.React(r.ctx, to, ts, step.emoji))
		r.must(r.WaitReactions(r.ctx, anaDM, ts, step.want...))
	}
	r.Delete(anaDM, ts)
	r.must(r.bot.React(r.ctx, to, ts, "👀"))
}

func TestARefusedConnectionIsNoUnknownOutcome(t *testing.T) {
	r := newRig(t, channeltest.SlackConfig{}, Config{})
	r.Close()
	_, err := r.bot.Post(r.ctx, channels.Target{Chat: anaDM}, channels.Outgoing{Markdown: "x"})
	wantFailure(t, "slack is away", err, channels.RateLimited, "")
	if err == nil || strings.Contains(err.Error(), r.BotToken()) {
		t.Error("the error shows the token:", err)
	}
}

func TestTokensAreInNoLog(t *testing.T) {
	r := start(t)
	to := r.direct()
	r.Fail("chat.postMessage", 1, channeltest.Fault{Status: 500, Body: "oops " + r.BotToken()})
	_, _ = r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "x"})
	r.DropSockets(2)
	r.RevokeTokens()
	err := r.end()
	for _, secret := range []string{r.BotToken(), r.AppToken(), r.SigningSecret()} {
		if strings.Contains(r.log.String(), secret) || err == nil || strings.Contains(err.Error(), secret) {
			t.Error("a secret is in the log, or in", err)
		}
	}
}

func TestSlackIsWaitedForWhenItIsAwayAtTheStart(t *testing.T) {
	r := newRig(t, channeltest.SlackConfig{}, Config{})
	for i := range 3 {
		r.Fail("auth.test", i+1, channeltest.Fault{Status: 503})
	}
	r.Fail("apps.connections.open", 1, channeltest.Fault{Status: 429, RetryAfter: time.Second})
	r.Fail("apps.connections.open", 2, channeltest.Fault{Status: 200, Description: "internal_error"})
	r.receive()
	r.must(r.WaitSockets(r.ctx, connections))
}

func TestAWrongTokenEndsReceivingAtOnceWithARemedy(t *testing.T) {
	for code, want := range map[string]string{
		"invalid_auth": "SLACK_BOT_TOKEN", "token_expired": "token rotation", "account_inactive": "removed from the workspace", "not_allowed_token_type": "xoxb-",
	} {
		r := newRig(t, channeltest.SlackConfig{}, Config{})
		r.Fail("auth.test", 1, channeltest.Fault{Status: 200, Description: code})
		r.receive()
		if err := r.end(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Receive returned %v", code, err)
		}
	}
	r := newRig(t, channeltest.SlackConfig{}, Config{})
	r.Fail("apps.connections.open", 1, channeltest.Fault{Status: 200, Description: "missing_scope"})
	r.receive()
	if err := r.end(); err == nil || !strings.Contains(err.Error(), "connections:write") {
		t.Errorf("Receive returned %v", err)
	}
}

func BenchmarkRender10kB(b *testing.B) {
	text := strings.Repeat("Some **bold** text with `code` and a [link](https://example.org/path).\n\n", 140)
	b.ReportAllocs()
	for b.Loop() {
		if c := render(channels.Outgoing{Markdown: text, Draft: true}); c.length == 0 {
			b.Fatal("nothing is rendered")
		}
	}
}

// BenchmarkGrowing10kB is what a draft of a stream costs beside its rendering.
func BenchmarkGrowing10kB(b *testing.B) {
	text := strings.Repeat("Some **bold** text with `code` and a [link](https://example.org/path).\n\n", 140) + "and **more"
	body := render(channels.Outgoing{Markdown: text, Draft: true}).body
	b.ReportAllocs()
	for b.Loop() {
		if growing(text, body) == "" {
			b.Fatal("nothing is certain")
		}
	}
}

func BenchmarkReadMessage(b *testing.B) {
	bot, err := newChannel(Config{BotToken: "xoxb-1", AppToken: "xapp-1"})
	if err != nil {
		b.Fatal(err)
	}
	bot.me.Store(&identity{team: "T0TEAM", user: "U0CLAW", bot: "B0CLAW"})
	payload := []byte(`{"team_id":"T0TEAM","api_app_id":"A0CLAW","type":"event_callback","event_id":"Ev1","event":{"type":"message","channel":"C1","channel_type":"channel","user":"U1","text":"<@U0CLAW> what is up?","ts":"1700000000.000001","event_ts":"1700000000.000001","team":"T0TEAM","blocks":[{"type":"rich_text","elements":[]}]}}`)
	b.ReportAllocs()
	for b.Loop() {
		if len(bot.read("events_api", payload)) != 1 {
			b.Fatal("not read")
		}
	}
}
