package telegram

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/channels/channeltest"
	"clawbot/internal/redact"
)

func TestARevokedTokenEndsReceivingWithARemedy(t *testing.T) {
	r := start(t)
	r.RevokeToken()
	if err := r.end(); !errors.Is(err, errToken) || !strings.Contains(err.Error(), "@BotFather") {
		t.Errorf("Receive returned %v", err)
	}
	if err := r.bot.Check(r.ctx); !errors.Is(err, errToken) {
		t.Error("Check says", err)
	}
}

func TestAWrongTokenEndsReceivingWithARemedy(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	r.RevokeToken()
	r.receive()
	if err := r.end(); !errors.Is(err, errToken) {
		t.Errorf("Receive returned %v", err)
	}
}

func TestAnotherPollerIsToldOfAndOutlived(t *testing.T) {
	log := newLogRecorder()
	r := newRig(t, channeltest.TelegramConfig{}, Config{Logger: slog.New(log)}).receive()
	r.must(r.WaitPoll(r.ctx))
	other(t, r)
	r.SendText(42, 42, "hello")
	r.next("hello")
	if !strings.Contains(log.String(), "another program polls this bot") {
		t.Error("nothing was logged:", log)
	}
	r.must(r.WaitPoll(r.ctx))
	r.must(r.bot.Check(r.ctx))
}

// other polls once as another program would, without waiting.
func other(t *testing.T, r *rig) {
	t.Helper()
	resp, err := http.Post(r.URL()+"/bot"+r.Token()+"/getUpdates", "application/json", strings.NewReader(`{"timeout":0}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
}

func TestAConflictIsSeenByCheckAsLongAsItLasts(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	synctest.Test(t, func(t *testing.T) {
		var wait backoff
		for i, want := range []time.Duration{5, 10, 20, 40, 60, 60} {
			began := time.Now()
			r.bot.pace = normalPace
			if err := r.bot.mend(t.Context(), &pollError{code: 409, text: "Conflict: terminated by other getUpdates request"}, &wait); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(began); got != want*time.Second {
				t.Errorf("pause %d is %s", i, got)
			}
		}
	})
	if err := r.bot.Check(r.ctx); !errors.Is(err, errOtherPoller) {
		t.Error("Check says", err)
	}
}

func TestPausesFollowWhatTelegramAsksFor(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	r.bot.pace = normalPace
	synctest.Test(t, func(t *testing.T) {
		var wait backoff
		began := time.Now()
		if err := r.bot.mend(t.Context(), &pollError{code: 429, text: "Too Many Requests", retryAfter: 7 * time.Second}, &wait); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(began); got != 7*time.Second {
			t.Errorf("after a 429 the pause is %s", got)
		}
		began = time.Now()
		for range 10 {
			if err := r.bot.mend(t.Context(), errors.New("broken pipe"), &wait); err != nil {
				t.Fatal(err)
			}
		}
		if got := time.Since(began); got < 30*time.Second || got > 5*time.Minute {
			t.Errorf("ten failures take %s", got)
		}
	})
}

func TestTroubleWithTelegramPassesAndNothingIsLost(t *testing.T) {
	r := start(t)
	for i, f := range []channeltest.Fault{
		{Status: 500}, {Status: 502, Body: "<html>Bad Gateway</html>"}, {Drop: true}, {Lost: true}, {Status: 200, Body: "not json"},
		{Status: 200, Body: `{"ok":true,"result":"no list"}`}, {Status: 200, Body: `{"ok":true,"result":[{"no_id":1}]}`}, {Status: 200, Body: `{"ok":true}`},
	} {
		r.Fail("getUpdates", i+1, f)
	}
	var last channeltest.Delivered
	for i := range 10 {
		last = r.SendText(42, 42, fmt.Sprintf("message %d", i))
	}
	all, err := r.host.WaitEvents(r.ctx, 10)
	r.must(err)
	r.must(r.WaitConfirmed(r.ctx, last.UpdateID))
	for i, in := range all {
		if in.Text != fmt.Sprintf("message %d", i) {
			t.Errorf("event %d is %q", i, in.Text)
		}
	}
}

func TestOnceTelegramIsBackCheckSaysSoWithoutAMessage(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	r.Fail("getUpdates", 1, channeltest.Fault{Status: 502, Body: "<html>"})
	r.receive()
	r.must(r.WaitCalls(r.ctx, "getUpdates", 2))
	r.must(r.WaitPoll(r.ctx))
	r.must(r.bot.Check(r.ctx))
	if r.bot.health.get() != nil {
		t.Error("still", r.bot.health.get())
	}
}

func TestAPollThatNeverEndsIsGivenUp(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{PollTimeout: time.Second})
	r.bot.pace.grace = 10 * time.Millisecond
	r.Fail("getUpdates", 1, channeltest.Fault{Delay: time.Hour})
	r.receive()
	r.SendText(42, 42, "hello")
	r.next("hello")
}

func TestNothingIsConfirmedBeforeTheOffsetIsStored(t *testing.T) {
	r := start(t)
	r.host.FailPut(errors.New("fenced"))
	sent := r.SendText(42, 42, "hello")
	r.next("hello")
	r.must(r.host.WaitAttempts(r.ctx, 1))
	for _, c := range r.Calls("getUpdates") {
		if c.Params["offset"] == fmt.Sprint(sent.UpdateID+1) {
			t.Fatal("the update was confirmed")
		}
	}
	r.host.FailPut(nil)
	r.must(r.WaitConfirmed(r.ctx, sent.UpdateID))
	if got := r.host.State()["offset"]; got != fmt.Sprint(sent.UpdateID+1) {
		t.Errorf("the stored offset is %q", got)
	}
}

func TestTheNextProcessGoesOnFromTheStoredOffset(t *testing.T) {
	r := start(t)
	sent := r.SendText(42, 42, "hello")
	r.next("hello")
	want := fmt.Sprint(sent.UpdateID + 1)
	r.must(r.host.WaitState(r.ctx, "offset", func(v string) bool { return v == want }))
	r.must(r.stop())
	before := len(r.Calls("getUpdates"))
	r.receive()
	r.SendText(42, 42, "again")
	r.next("again")
	if all := r.host.Events(); len(all) != 2 {
		t.Errorf("accepted %+v", all)
	}
	if calls := r.Calls("getUpdates"); len(calls) <= before || calls[before].Params["offset"] != want {
		t.Errorf("the first poll asks from %+v, want %s", calls[before:], want)
	}
}

func TestADamagedOffsetIsNotTheEnd(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	r.must(r.host.Put(r.ctx, "offset", []byte("garbage")))
	r.receive()
	r.SendText(42, 42, "hello")
	r.next("hello")
}

func TestAWebhookIsRemovedAndWhatWaitsIsKept(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	setWebhook(t, r)
	r.SendText(42, 42, "sent before the start")
	r.receive()
	r.next("sent before the start")
	setWebhook(t, r) // someone sets one while the bot polls
	r.SendText(42, 42, "sent meanwhile")
	r.next("sent meanwhile")
}

func setWebhook(t *testing.T, r *rig) {
	t.Helper()
	resp, err := http.Post(r.URL()+"/bot"+r.Token()+"/setWebhook", "application/json", strings.NewReader(`{"url":"http://127.0.0.1:1/nobody"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
}

func TestOneChatThatIsSlowDoesNotReorderAnother(t *testing.T) {
	r := start(t)
	const chats, each = 40, 5
	for i := range each {
		for c := range chats {
			r.SendText(int64(100+c), int64(100+c), fmt.Sprintf("%d", i))
		}
	}
	all, err := r.host.WaitEvents(r.ctx, chats*each)
	r.must(err)
	last := map[string]string{}
	for _, in := range all {
		if in.Text < last[in.Target.Chat] {
			t.Fatalf("in chat %s %q came after %q", in.Target.Chat, in.Text, last[in.Target.Chat])
		}
		last[in.Target.Chat] = in.Text
	}
}

func TestTheTokenIsInNoErrorAndNoLog(t *testing.T) {
	log := newLogRecorder()
	r := newRig(t, channeltest.TelegramConfig{}, Config{Logger: slog.New(log)})
	secret := strings.SplitN(r.Token(), ":", 2)[1]
	check := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Fatal(what, "did not fail")
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			if strings.Contains(e.Error(), secret) || strings.Contains(fmt.Sprintf("%+v %#v", e, e), secret) {
				t.Errorf("%s tells the token: %#v", what, e)
			}
		}
	}
	r.receive()
	r.must(r.WaitPoll(r.ctx))
	to := r.target(42)
	for _, f := range []channeltest.Fault{{Drop: true}, {Lost: true}, {Status: 500, Body: "upstream http://x/bot" + r.Token() + "/ failed"}, {Status: 302, Body: "moved"}} {
		r.Fail("sendMessage", 1, f)
		_, err := r.bot.Post(r.ctx, to, outgoing("x"))
		check("Post", err)
	}
	r.Fail("getMe", 1, channeltest.Fault{Drop: true})
	check("Check", r.bot.Check(r.ctx))
	r.must(r.stop())
	r.Close()
	check("Check of a server that is away", r.bot.Check(r.ctx))
	_, err := r.bot.Fetch(r.ctx, attachment("x"))
	check("Fetch", err)
	_, err = r.bot.download(r.ctx, attachment("x"), "documents/x")
	check("download", err)
	_, err = r.bot.fetch(r.ctx, 1, 0)
	check("fetch", err)
	_, err = New(Config{Token: redact.Secret("not a token " + secret)})
	check("New", err)
	_, err = New(Config{Token: "1:x", Proxy: "ftp://user:" + secret + "@host"})
	check("New with a proxy", err)
	_, err = New(Config{Token: "1:x", Proxy: "http://user:" + secret + "%zz@host"})
	check("New with a broken proxy", err)
	if strings.Contains(log.String(), secret) {
		t.Error("the log tells the token:", log)
	}
}
