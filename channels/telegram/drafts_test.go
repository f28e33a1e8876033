package telegram

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-telegram/bot"

	"clawbot/channels"
	"clawbot/channels/channeltest"
	"clawbot/channels/reply"
)

func drafting(t *testing.T) *rig {
	return newRig(t, channeltest.TelegramConfig{}, Config{Drafts: true})
}

func growing(text string) channels.Outgoing { return channels.Outgoing{Markdown: text, Draft: true} }

func draftNumber(t *testing.T, id string) string {
	t.Helper()
	number, ok := strings.CutPrefix(id, draftPrefix)
	if !ok {
		t.Fatalf("%q is no draft", id)
	}
	return number
}

func TestAnAnswerInPrivateIsADraftUntilItIsComplete(t *testing.T) {
	r := drafting(t)
	to := r.target(42)
	id, err := r.bot.Post(r.ctx, to, growing("one **two"))
	r.must(err)
	r.must(r.bot.Edit(r.ctx, to, id, growing("one two three")))
	if got := r.Draft(42, draftNumber(t, id)); got != "one two three" {
		t.Errorf("the draft shows %q", got)
	}
	if all := r.Messages(42); len(all) != 0 {
		t.Errorf("there are messages while the answer is written: %+v", all)
	}
	r.must(r.bot.Edit(r.ctx, to, id, outgoing("one two three four")))
	r.must(r.bot.Edit(r.ctx, to, id, outgoing("one two three four five")))
	if all := r.Messages(42); len(all) != 1 || all[0].Text != "one two three four five" {
		t.Errorf("in the end there is %+v", all)
	}
	r.must(r.bot.Delete(r.ctx, to, id))
	if all := r.Messages(42); len(all) != 0 {
		t.Errorf("the message was not deleted: %+v", all)
	}
}

func TestGroupsAndMessagesWithButtonsHaveNoDrafts(t *testing.T) {
	r := drafting(t)
	id, err := r.bot.Post(r.ctx, r.target(-100), growing("in a group"))
	r.must(err)
	if strings.HasPrefix(id, draftPrefix) {
		t.Error("a group has a draft")
	}
	out := growing("choose")
	out.Buttons = [][]channels.Button{{{Label: "a", Data: "a"}}}
	if id, err = r.bot.Post(r.ctx, r.target(42), out); err != nil || strings.HasPrefix(id, draftPrefix) {
		t.Errorf("a question is the draft %q, %v", id, err)
	}
	if l := r.bot.Limits(r.target(42)); l.FirstAfter > 700*time.Millisecond || l.EditEvery > 1200*time.Millisecond {
		t.Errorf("drafts come late: %+v", l)
	}
}

func TestWhereDraftsAreRefusedTheAnswerIsAnEditedMessage(t *testing.T) {
	for _, fault := range []channeltest.Fault{
		{Status: 400, Description: "Bad Request: TEXTDRAFT_PEER_INVALID"},
		{Status: 404, Description: "Not Found: method not found"},
	} {
		for at := 1; at <= 2; at++ {
			r := drafting(t)
			to := r.target(42)
			r.Fail("sendMessageDraft", at, fault)
			id, err := r.bot.Post(r.ctx, to, growing("one"))
			r.must(err)
			r.must(r.bot.Edit(r.ctx, to, id, growing("one two")))
			if all := r.Messages(42); len(all) != 1 || all[0].Text != "one two" {
				t.Fatalf("refused at %d: %+v", at, all)
			}
			r.must(r.bot.Edit(r.ctx, to, id, outgoing("one two three")))
			if all := r.Messages(42); len(all) != 1 || all[0].Text != "one two three" {
				t.Errorf("refused at %d, in the end: %+v", at, all)
			}
			if r.bot.drafted(to) {
				t.Error("drafts are tried again")
			}
			if err := r.bot.health.get(); err != nil {
				t.Error("a server without drafts is taken for a wrong token:", err)
			}
		}
	}
}

func TestADraftWhoseAnswerIsLostIsNoSecondMessage(t *testing.T) {
	r := drafting(t)
	to := r.target(42)
	r.Fail("sendMessageDraft", 1, channeltest.Fault{Lost: true})
	id, err := r.bot.Post(r.ctx, to, growing("one"))
	r.must(err)
	r.must(r.bot.Edit(r.ctx, to, id, growing("one two")))
	if got := r.Draft(42, draftNumber(t, id)); got != "one two" || len(r.Messages(42)) != 0 {
		t.Errorf("shown: %q, %+v", got, r.Messages(42))
	}
	r.Fail("sendMessageDraft", 1, channeltest.Fault{Status: 429, RetryAfter: 3 * time.Second})
	if e := sendError(t, r.bot.Edit(r.ctx, to, id, growing("one two three"))); e.Outcome != channels.RateLimited || e.RetryAfter != 3*time.Second {
		t.Errorf("a limit reads %+v", e)
	}
}

func TestAFinalOfUnknownOutcomeIsSentOnceMoreAndNoOftener(t *testing.T) {
	r := drafting(t)
	to := r.target(42)
	id, err := r.bot.Post(r.ctx, to, growing("one"))
	r.must(err)
	r.Fail("sendMessage", 1, channeltest.Fault{Lost: true})
	r.Fail("sendMessage", 2, channeltest.Fault{Lost: true})
	for range 2 {
		if e := sendError(t, r.bot.Edit(r.ctx, to, id, outgoing("done"))); e.Outcome != channels.Unknown {
			t.Fatalf("outcome %v", e)
		}
	}
	if e := sendError(t, r.bot.Edit(r.ctx, to, id, outgoing("done"))); e.Outcome != channels.Rejected {
		t.Errorf("a third time: %v", e)
	}
	if all := r.Messages(42); len(all) != 2 {
		t.Errorf("%d messages", len(all))
	}
}

func TestADraftOfAnotherProcessIsGoneOnWith(t *testing.T) {
	r := drafting(t)
	to := r.target(42)
	id, err := r.bot.Post(r.ctx, to, growing("one"))
	r.must(err)
	next, err := newChannel(r.bot.cfg)
	r.must(err)
	defer next.http.CloseIdleConnections()
	r.must(next.Edit(r.ctx, to, id, growing("one two")))
	if got := r.Draft(42, draftNumber(t, id)); got != "one two" {
		t.Errorf("the draft shows %q", got)
	}
	r.must(next.Edit(r.ctx, to, id, outgoing("one two three")))
	if all := r.Messages(42); len(all) != 1 || all[0].Text != "one two three" {
		t.Errorf("in the end: %+v", all)
	}
}

func TestADraftThatWouldFadeIsShownOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r drafts
		params := &bot.SendMessageDraftParams{Text: "text"}
		r.show("c", "draft:1", params)
		if r.stale("c", time.Now()) != nil {
			t.Error("a fresh draft is shown once more")
		}
		time.Sleep(draftStale)
		if r.stale("c", time.Now()) != params || r.stale("c", time.Now()) != nil {
			t.Error("a draft is shown once more, once, when it gets old")
		}
		time.Sleep(draftGone)
		if r.stale("c", time.Now()) != nil || len(r.live) != 0 {
			t.Error("a draft that has faded belongs to nobody")
		}
		r.show("c", "draft:2", params)
		r.replace("draft:2", "c", "7")
		time.Sleep(draftStale)
		if r.stale("c", time.Now()) != nil {
			t.Error("a draft is shown beside its message")
		}
	})
}

func TestDraftsAreRememberedWithinBounds(t *testing.T) {
	var d drafts
	for range 3 * keptDrafts {
		d.show("c", newDraftID(), &bot.SendMessageDraftParams{})
	}
	if len(d.all) > keptDrafts || len(d.order) > keptDrafts || len(d.live) > 1 {
		t.Errorf("%d drafts, %d in order, %d live", len(d.all), len(d.order), len(d.live))
	}
}

func TestAReplyOfSeveralMessagesIsWrittenByDrafts(t *testing.T) {
	r := drafting(t)
	to := r.target(42)
	written := reply.New(reply.Config{Channel: r.bot, Target: to})
	done := make(chan error, 1)
	go func() { done <- written.Run(r.ctx) }()
	text := strings.Repeat("A sentence of a long answer, which goes on. ", 150)
	for i := 0; i < len(text); i += 500 {
		written.Write(text[i:min(i+500, len(text))])
	}
	ctx, cancel := context.WithTimeout(r.ctx, 15*time.Second)
	defer cancel()
	r.must(written.Finish(ctx))
	r.must(<-done)
	var got strings.Builder
	for _, m := range r.Messages(42) {
		got.WriteString(m.Text + " ")
		if len(m.History) > 1 {
			t.Errorf("a message of a drafted reply was edited: %d states", len(m.History))
		}
	}
	if strings.Join(strings.Fields(got.String()), " ") != strings.Join(strings.Fields(text), " ") {
		t.Errorf("shown: %.200q", got.String())
	}
}

// Whatever becomes of single calls, a drafted reply ends as messages that say
// all of it in order; a part is there twice only if an answer was lost.
func TestADraftedReplyEndsWholeWhateverHappens(t *testing.T) {
	for seed := range 15 {
		loaded(t, Config{Drafts: true}, func(t *testing.T, fake *channeltest.Telegram, bot *Channel) {
			fake.SetRateLimits(false)
			random := rand.New(rand.NewPCG(uint64(seed), 7))
			lost := false
			for range 12 {
				method := []string{"sendMessage", "sendMessageDraft", "editMessageText"}[random.IntN(3)]
				fault := []channeltest.Fault{
					{Status: 429, RetryAfter: 2 * time.Second}, {Status: 502, Body: "<html>"}, {Lost: true}, {Status: 400, Description: "Bad Request: TEXTDRAFT_PEER_INVALID"},
				}[random.IntN(4)]
				if method != "sendMessageDraft" && fault.Status == 400 {
					continue
				}
				lost = lost || method == "sendMessage" && (fault.Lost || fault.Status == 502)
				fake.Fail(method, 1+random.IntN(6), fault)
			}
			fake.AddChat(42, channeltest.ChatOptions{})
			r := reply.New(reply.Config{Channel: bot, Target: channels.Target{Chat: "42", Direct: true, Conversation: "telegram:4711:42"}})
			go func() { _ = r.Run(context.Background()) }()
			words := 400 + random.IntN(1200)
			for i := range words {
				r.Write(fmt.Sprintf("w%04d ", i))
				if random.IntN(4) == 0 {
					time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
				}
				if random.IntN(300) == 0 {
					r.Freeze()
				}
			}
			err := r.Finish(context.Background())
			next, twice, seen := 0, 0, map[string]bool{}
			for _, m := range fake.Messages(42) {
				for _, w := range numbered.FindAllString(m.Text, -1) {
					seen[w] = true
					switch n, _ := strconv.Atoi(w[1:]); {
					case n == next:
						next++
					case n < next:
						twice++
					case !lost:
						t.Fatalf("seed %d: %s stands where w%04d should", seed, w, next)
					}
				}
			}
			if err == nil && len(seen) != words || !lost && (next != words && err == nil || twice > 0) {
				t.Errorf("seed %d: %d of %d words, %d twice, %v", seed, next, words, twice, err)
			}
		})
	}
}
