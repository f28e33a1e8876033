package slack

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/channels"
	"clawbot/channels/channeltest"
	"clawbot/channels/reply"
	"clawbot/internal/redact"
)

// quietRig is a bot on a fake Slack in memory, in a synctest bubble.
type quietRig struct {
	*channeltest.Slack
	t    *testing.T
	net  *channeltest.Pipes
	bots []*Channel
	to   channels.Target
}

func newQuietRig(t *testing.T, fake channeltest.SlackConfig) *quietRig {
	pipes := channeltest.NewPipes()
	fake.Listener, fake.Mute = pipes, true
	r := &quietRig{Slack: channeltest.NewSlack(fake), t: t, net: pipes}
	root := r.Send(channeltest.SlackIncoming{Channel: general, User: ana, Text: "a question", Silent: true})
	r.to = channels.Target{Conversation: "slack:" + r.Team() + ":" + general + ":" + root, Chat: general, Thread: root, ReplyTo: root, User: ana}
	return r
}

// bot is a process of its own.
func (r *quietRig) bot() *Channel {
	bot, err := newChannel(Config{
		BotToken: redact.Secret(r.BotToken()), AppToken: redact.Secret(r.AppToken()), APIURL: r.URL(),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	bot.http.Transport.(*http.Transport).DialContext = r.net.Dial
	if err := bot.identify(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	r.bots = append(r.bots, bot)
	return bot
}

func (r *quietRig) close() {
	for _, bot := range r.bots {
		bot.http.CloseIdleConnections()
	}
	r.Close()
}

// bubble runs fn in a bubble with a rig.
func bubble(t *testing.T, fake channeltest.SlackConfig, fn func(r *quietRig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newQuietRig(t, fake)
		defer r.close()
		fn(r)
	})
}

// journal keeps the last state of a reply.
type journal struct{ state reply.State }

func (j *journal) Save(_ context.Context, s reply.State) error {
	s.Parts = append([]reply.Part(nil), s.Parts...)
	j.state = s
	return nil
}

// say begins a reply; finish waits until it is delivered.
func (r *quietRig) say(bot *Channel, j *journal) (rep *reply.Reply, finish func() error, kill func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	rep = reply.New(reply.Config{Channel: bot, Target: r.to, Journal: j, State: j.state})
	ran := make(chan error, 1)
	go func() { ran <- rep.Run(ctx) }()
	finish = func() error {
		defer cancel()
		err := rep.Finish(ctx)
		<-ran
		return err
	}
	return rep, finish, func() { cancel(); <-ran }
}

func (r *quietRig) shown() string {
	var all []string
	for _, m := range r.Messages(general) {
		if m.Streaming() {
			r.t.Errorf("%q is still a stream", m.Shown())
		}
		all = append(all, m.Shown())
	}
	return strings.Join(all, "\n--\n")
}

func (r *quietRig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// streamed writes n deltas, five a second.
func streamed(rep *reply.Reply, n int) string {
	var all strings.Builder
	for i := range n {
		delta := fmt.Sprintf("word%d **and** `more` ", i)
		rep.Write(delta)
		all.WriteString(delta)
		time.Sleep(200 * time.Millisecond)
	}
	return strings.TrimSpace(all.String())
}

func TestAnAnswerInAThreadGrowsAsANativeStream(t *testing.T) {
	bubble(t, channeltest.SlackConfig{}, func(r *quietRig) {
		rep, finish, _ := r.say(r.bot(), &journal{})
		want := streamed(rep, 50)
		r.must(finish())
		if got := r.shown(); got != want {
			t.Errorf("shown:\n%s\nwant:\n%s", got, want)
		}
		starts, appends, stops := r.CallCount("chat.startStream"), r.CallCount("chat.appendStream"), r.CallCount("chat.stopStream")
		if starts != 1 || stops != 1 || appends < 10 || appends > 15 || r.CallCount("chat.update")+r.CallCount("chat.postMessage") > 0 {
			t.Errorf("%d starts, %d appends, %d stops, %d updates", starts, appends, stops, r.CallCount("chat.update"))
		}
		if refused := r.Platform().Refusals(); len(refused) > 0 {
			t.Error("slack refused:", refused)
		}
		if m := r.Messages(general)[0]; m.Thread != r.to.Thread || !strings.Contains(string(m.Metadata), `"nonce"`) {
			t.Errorf("the message is %+v", m)
		}
	})
}

func TestAReplyOf200DeltasCostsNoMoreCallsThanThePaceAllows(t *testing.T) {
	bubble(t, channeltest.SlackConfig{RateLimits: true}, func(r *quietRig) {
		began := time.Now()
		rep, finish, _ := r.say(r.bot(), &journal{})
		want := streamed(rep, 200)
		r.must(finish())
		if got := r.shown(); got != want {
			t.Errorf("shown %q", got)
		}
		most := int(time.Since(began)/streamEvery) + 2
		if n := r.CallCount("chat.startStream") + r.CallCount("chat.appendStream") + r.CallCount("chat.stopStream") + r.CallCount("chat.update"); n > most {
			t.Errorf("%d calls, at most %d are allowed", n, most)
		}
		if r.Refused() > 0 {
			t.Errorf("%d calls were refused", r.Refused())
		}
	})
}

func TestRow30ALongAnswerRollsOverToANewStreamBeforeSlackEndsTheOld(t *testing.T) {
	bubble(t, channeltest.SlackConfig{}, func(r *quietRig) {
		rep, finish, _ := r.say(r.bot(), &journal{})
		var want strings.Builder
		for i := range 100 { // ten minutes
			line := fmt.Sprintf("Paragraph %d of an answer that takes its time.\n\n", i)
			rep.Write(line)
			want.WriteString(line)
			time.Sleep(6 * time.Second)
		}
		r.must(finish())
		if got := strings.ReplaceAll(r.shown(), "\n--\n", "\n\n"); got != strings.TrimSpace(want.String()) {
			t.Errorf("shown:\n%s", got)
		}
		if starts := r.CallCount("chat.startStream"); starts < 3 || starts != len(r.Messages(general)) || r.CallCount("chat.update") > 0 {
			t.Errorf("%d streams, %d messages, %d updates", starts, len(r.Messages(general)), r.CallCount("chat.update"))
		}
		for _, refusal := range r.Platform().Refusals() {
			t.Error("refused:", refusal)
		}
	})
}

func TestAStreamRollsOverBySize(t *testing.T) {
	bubble(t, channeltest.SlackConfig{}, func(r *quietRig) {
		rep, finish, _ := r.say(r.bot(), &journal{})
		var want strings.Builder
		for i := range 300 {
			line := fmt.Sprintf("Paragraph %d: %s.\n\n", i, strings.Repeat("many words ", 10))
			rep.Write(line)
			want.WriteString(line)
			time.Sleep(100 * time.Millisecond)
		}
		r.must(finish())
		if got := strings.ReplaceAll(r.shown(), "\n--\n", "\n\n"); got != strings.TrimSpace(want.String()) {
			t.Errorf("%d characters are shown, not %d", len(got), want.Len())
		}
		if starts := r.CallCount("chat.startStream"); starts < 3 || starts != len(r.Messages(general)) {
			t.Errorf("%d streams, %d messages", starts, len(r.Messages(general)))
		}
	})
}

func TestRow30TheTailIsShownAlthoughSlackEndedTheStream(t *testing.T) {
	for _, when := range []string{"an append", "the final"} {
		bubble(t, channeltest.SlackConfig{}, func(r *quietRig) {
			rep, finish, _ := r.say(r.bot(), &journal{})
			want := streamed(rep, 10)
			r.ExpireStreams()
			if when == "an append" {
				want += " " + streamed(rep, 10)
			} else {
				rep.Write("The end.")
				want += " The end."
			}
			r.must(finish())
			if got := r.shown(); got != want || len(r.Messages(general)) != 1 {
				t.Errorf("%s: shown %q, not %q", when, got, want)
			}
		})
	}
}

func TestWithoutStreamsAnswersAreEditedAndSlackIsAskedOnce(t *testing.T) {
	bubble(t, channeltest.SlackConfig{}, func(r *quietRig) {
		r.NoStreams(true)
		bot := r.bot()
		for i := range 3 {
			rep, finish, _ := r.say(bot, &journal{})
			want := streamed(rep, 20)
			r.must(finish())
			if got := r.Messages(general)[i].Shown(); got != want {
				t.Errorf("shown %q", got)
			}
		}
		if n := r.CallCount("chat.startStream"); n != 1 {
			t.Errorf("streams were asked for %d times", n)
		}
		r.NoStreams(false)
		time.Sleep(barredFor)
		rep, finish, _ := r.say(bot, &journal{})
		streamed(rep, 5)
		r.must(finish())
		if n := r.CallCount("chat.startStream"); n != 2 {
			t.Error("streams were not tried again")
		}
	})
}

func TestRow36NobodyToStreamToIsNoFailure(t *testing.T) {
	bubble(t, channeltest.SlackConfig{}, func(r *quietRig) {
		r.to.User = "" // a workflow asked
		rep, finish, _ := r.say(r.bot(), &journal{})
		want := streamed(rep, 10)
		r.must(finish())
		if got := r.shown(); got != want || r.CallCount("chat.startStream") != 0 {
			t.Errorf("shown %q after %d streams", got, r.CallCount("chat.startStream"))
		}
	})
}

func TestFaultsOfEveryCallOfAStreamAreRepaired(t *testing.T) {
	faults := map[string]channeltest.Fault{
		"rate limit": {Status: 429, RetryAfter: 2 * time.Second}, "server error": {Status: 502, Body: "<html>"},
		"lost": {Lost: true}, "dropped": {Drop: true}, "refused": {Status: 200, Description: "messaging_processing_failed"},
		"ended": {Status: 200, Description: "message_not_in_streaming_state"}, "internal": {Status: 200, Description: "internal_error"},
	}
	for _, method := range []string{"chat.startStream", "chat.appendStream", "chat.stopStream"} {
		for name, fault := range faults {
			t.Run(method+" "+name, func(t *testing.T) {
				bubble(t, channeltest.SlackConfig{}, func(r *quietRig) {
					rep, finish, _ := r.say(r.bot(), &journal{})
					r.Fail(method, 1, fault)
					want := streamed(rep, 20)
					r.must(finish())
					if got := r.shown(); got != want {
						t.Errorf("shown %q, not %q", got, want)
					}
				})
			})
		}
	}
}

func TestAStreamThatWasDeletedIsPostedAnew(t *testing.T) {
	bubble(t, channeltest.SlackConfig{}, func(r *quietRig) {
		rep, finish, _ := r.say(r.bot(), &journal{})
		want := streamed(rep, 10)
		r.Delete(general, r.Messages(general)[0].TS)
		want += " " + streamed(rep, 10)
		r.must(finish())
		if got := r.shown(); got != want {
			t.Errorf("shown %q, not %q", got, want)
		}
	})
}

func TestWhoWasThrownOutOrLostItsTokenStopsStreaming(t *testing.T) {
	for name, act := range map[string]func(*quietRig){
		"thrown out": func(r *quietRig) { r.Bar(general, "not_in_channel") },
		"archived":   func(r *quietRig) { r.Bar(general, "is_archived") },
		"revoked":    func(r *quietRig) { r.RevokeTokens() },
	} {
		bubble(t, channeltest.SlackConfig{}, func(r *quietRig) {
			rep, finish, _ := r.say(r.bot(), &journal{})
			streamed(rep, 10)
			act(r)
			before := len(r.Calls())
			streamed(rep, 50)
			if err := finish(); reason(err) != channels.ReasonForbidden && reason(err) != channels.ReasonAuth {
				t.Errorf("%s: %v", name, err)
			}
			if n := len(r.Calls()) - before; n > 2 {
				t.Errorf("%s: %d calls were made after it", name, n)
			}
		})
	}
}

func TestAfterATakeoverTheMessageGoesOn(t *testing.T) {
	for _, lost := range []bool{false, true} {
		bubble(t, channeltest.SlackConfig{}, func(r *quietRig) {
			j := &journal{}
			rep, _, kill := r.say(r.bot(), j)
			if lost { // the process dies before it knows the message
				r.Fail("chat.startStream", 1, channeltest.Fault{Lost: true})
			}
			text := "word0 **and** `more` that is long enough to be shown"
			rep.Write(text)
			if lost {
				time.Sleep(500 * time.Millisecond)
			} else {
				time.Sleep(5 * time.Second)
			}
			kill()
			rep, finish, _ := r.say(r.bot(), j)
			rep.Write(text)
			time.Sleep(3 * time.Second)
			rep.Write(" and the end")
			r.must(finish())
			if got := r.shown(); got != text+" and the end" {
				t.Errorf("start lost %v: shown %q", lost, got)
			}
		})
	}
}

func TestWhatIsWorkedOnIsAStepOfTheStreamThatTheFinalRemoves(t *testing.T) {
	bubble(t, channeltest.SlackConfig{}, func(r *quietRig) {
		rep, finish, _ := r.say(r.bot(), &journal{})
		rep.Status("reading notes.txt")
		time.Sleep(2 * time.Second)
		if m := r.Messages(general)[0]; !m.Streaming() || m.Shown() != "reading notes.txt" {
			t.Errorf("at first %q is shown", m.Shown())
		}
		rep.Status("")
		want := streamed(rep, 5)
		rep.Status("running tests")
		time.Sleep(2 * time.Second)
		if m := r.Messages(general)[0]; !m.Streaming() || !strings.Contains(m.Shown(), "running tests") || !strings.HasPrefix(m.Shown(), "word0") {
			t.Errorf("then %q is shown", m.Shown())
		}
		rep.Status("")
		r.must(finish())
		if got := r.shown(); got != want {
			t.Errorf("shown %q, not %q", got, want)
		}
	})
}

func TestAStreamThatNothingIsAddedToIsEndedBeforeSlackMarksItAsFailed(t *testing.T) {
	bubble(t, channeltest.SlackConfig{}, func(r *quietRig) {
		rep, finish, _ := r.say(r.bot(), &journal{})
		want := streamed(rep, 10)
		rep.Status("running tests")
		time.Sleep(streamIdle + 15*time.Second)
		if m := r.Messages(general)[0]; m.Streaming() {
			t.Error("it is a stream still")
		}
		rep.Status("running more tests")
		time.Sleep(5 * time.Second)
		if m := r.Messages(general)[0]; !strings.Contains(m.Shown(), "running more tests") {
			t.Errorf("shown %q", m.Shown())
		}
		want += " " + streamed(rep, 10)
		r.must(finish())
		if got := r.shown(); got != want {
			t.Errorf("shown %q", got)
		}
	})
}

func TestTheSignOfWorkIsRenewedBeforeSlackTakesItAway(t *testing.T) {
	for _, streams := range []bool{true, false} {
		bubble(t, channeltest.SlackConfig{}, func(r *quietRig) {
			bot := r.bot()
			bot.cfg.NoStreams = !streams
			_, finish, _ := r.say(bot, &journal{})
			time.Sleep(5 * time.Minute)
			if n := r.CallCount("assistant.threads.setStatus"); n < 4 || n > 6 {
				t.Errorf("streams %v: the sign was shown %d times in five minutes", streams, n)
			}
			r.must(finish())
		})
	}
}

func TestAttack54AMentionThatIsStreamedInPiecesMentionsNobody(t *testing.T) {
	for _, text := range []string{"look, <!channel> and <!here>", "see <@U0BEN> and @channel", "in <#C1> and <!subteam^S1|x>", "a <http://e.org|fake> link"} {
		bubble(t, channeltest.SlackConfig{}, func(r *quietRig) {
			rep, finish, _ := r.say(r.bot(), &journal{})
			rep.Write("A beginning that is long enough. ")
			for _, c := range text {
				rep.Write(string(c))
				time.Sleep(time.Second)
			}
			r.must(finish())
			for _, m := range r.Messages(general) {
				for _, state := range m.History {
					for _, live := range []string{"<!", "<@", "<#", " @channel", "<http"} {
						if strings.Contains(state.Shown, live) {
							t.Errorf("%q was shown as %q", text, state.Shown)
						}
					}
				}
			}
			if n := r.CallCount("chat.appendStream"); n < 5 {
				t.Errorf("it was sent in %d pieces", n)
			}
		})
	}
}

func TestARestartedAnswerReplacesWhatWasStreamed(t *testing.T) {
	bubble(t, channeltest.SlackConfig{}, func(r *quietRig) {
		rep, finish, _ := r.say(r.bot(), &journal{})
		mark := rep.Mark()
		streamed(rep, 10)
		rep.Truncate(mark)
		time.Sleep(time.Second)
		rep.Write("Something else entirely, from the beginning.")
		time.Sleep(5 * time.Second)
		r.must(finish())
		if got := r.shown(); got != "Something else entirely, from the beginning." {
			t.Errorf("shown %q", got)
		}
	})
}

func TestSeveralStreamsShareWhatSlackLetsAppend(t *testing.T) {
	bubble(t, channeltest.SlackConfig{RateLimits: true}, func(r *quietRig) {
		r.SetLatency(30 * time.Millisecond)
		finish, texts := r.crowd(r.bot(), openStreams, openStreams, 600, 400*time.Millisecond)
		r.must(finish())
		if r.Refused() > 0 || r.CallCount("chat.startStream") < openStreams-1 {
			t.Errorf("%d calls were refused, %d streams", r.Refused(), r.CallCount("chat.startStream"))
		}
		for i := range openStreams {
			shown := ""
			room := fmt.Sprintf("C0ROOM%d", i)
			for _, m := range r.Messages(room) {
				shown += m.Shown() + " "
			}
			if want := texts[r.Messages(room)[0].Thread]; strings.TrimSpace(shown) != want {
				t.Errorf("%d characters are shown, not %d", len(shown), len(want))
			}
		}
	})
}

func TestOnlySoManyStreamsAreOpenAsSlackLetsBeginAndEnd(t *testing.T) {
	bubble(t, channeltest.SlackConfig{}, func(r *quietRig) {
		bot := r.bot()
		var finish []func() error
		for range 20 {
			rep, end, _ := r.say(bot, &journal{})
			rep.Write("an answer that is long enough to be shown")
			finish = append(finish, end)
		}
		time.Sleep(5 * time.Second)
		if n := r.CallCount("chat.startStream"); n > openStreams || n == 0 {
			t.Errorf("%d streams are open", n)
		}
		for _, end := range finish {
			r.must(end())
		}
		if n := len(r.Messages(general)); n != 20 {
			t.Errorf("%d answers", n)
		}
	})
}
