package discord

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/channels/channeltest"
	"clawbot/internal/redact"
)

func TestCloseCodesThatNothingMendsEndReceivingWithTheRemedy(t *testing.T) {
	for code, remedy := range map[int]string{
		4004: "Reset Token", 4010: "shards", 4011: "shards", 4012: "newer version", 4013: "newer version", 4014: "Message Content Intent",
	} {
		r := newRig(t, channeltest.DiscordConfig{}, Config{})
		r.FailGateway(channeltest.GatewayFault{Close: code})
		r.receive()
		if err := r.end(); err == nil || !strings.Contains(err.Error(), remedy) {
			t.Errorf("%d: Receive returned %v", code, err)
		}
		if err := r.bot.Check(r.ctx); err == nil || !strings.Contains(err.Error(), remedy) {
			t.Errorf("%d: Check says %v", code, err)
		}
	}
}

func TestAnIntentThatIsOffIsNamed(t *testing.T) {
	r := newRig(t, channeltest.DiscordConfig{NoMessageContent: true}, Config{}).receive()
	if err := r.end(); !errors.Is(err, errIntent) {
		t.Error("Receive returned", err)
	}
	fresh := rigOn(t, r.Discord, Config{})
	if err := fresh.bot.Check(fresh.ctx); !errors.Is(err, errIntent) {
		t.Error("Check says", err)
	}
}

func TestATokenThatIsRevokedWhileRunningEndsReceiving(t *testing.T) {
	r := start(t)
	r.SendText(r.DM("71"), "71", "hello")
	to := r.next("hello").Target
	r.RevokeToken()
	if err := r.end(); !errors.Is(err, errToken) {
		t.Error("Receive returned", err)
	}
	_, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "x"})
	if e, ok := errors.AsType[*channels.SendError](err); !ok || e.Reason != channels.ReasonAuth {
		t.Errorf("Post failed with %v", err)
	}
	wrong := rigOn(t, r.Discord, Config{}).receive()
	if err := wrong.end(); !errors.Is(err, errToken) {
		t.Error("Receive with a revoked token returned", err)
	}
}

func TestWhateverEndsAConnectionLosesNoMessage(t *testing.T) {
	for name, cut := range map[string]func(*channeltest.Discord){
		"a cut":             func(d *channeltest.Discord) { d.Disconnect(0) },
		"a close":           func(d *channeltest.Discord) { d.Disconnect(4000) },
		"a close with 1000": func(d *channeltest.Discord) { d.Disconnect(1000) },
		"a restart":         func(d *channeltest.Discord) { d.Disconnect(1012) },
		"a wrong sequence":  func(d *channeltest.Discord) { d.Disconnect(4007) },
		"a timed out one":   func(d *channeltest.Discord) { d.Disconnect(4009) },
		"op 7":              func(d *channeltest.Discord) { d.AskToReconnect() },
		"a forgotten one":   func(d *channeltest.Discord) { d.ForgetSessions() },
		"a refused resume": func(d *channeltest.Discord) {
			d.FailGateway(channeltest.GatewayFault{On: "resume", Op9: true})
			d.Disconnect(0)
		},
		"a resume put off": func(d *channeltest.Discord) {
			d.FailGateway(channeltest.GatewayFault{On: "resume", Op9: true, Resumable: true})
			d.Disconnect(0)
		},
		"a broken resume": func(d *channeltest.Discord) {
			d.FailGateway(channeltest.GatewayFault{On: "resume", Abrupt: true})
			d.Disconnect(0)
		},
		"a broken greeting": func(d *channeltest.Discord) {
			d.FailGateway(channeltest.GatewayFault{On: "connect", Abrupt: true})
			d.Disconnect(0)
		},
		"a refused gateway": func(d *channeltest.Discord) {
			d.FailGateway(channeltest.GatewayFault{On: "connect", Close: 4000})
			d.Disconnect(0)
		},
		"two broken resumes": func(d *channeltest.Discord) {
			d.FailGateway(channeltest.GatewayFault{On: "resume", Close: 4003})
			d.Disconnect(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t)
			room := channeltest.DiscordRoom(1)
			r.SendText(r.DM("71"), "71", "before")
			r.next("before")
			r.SendText(room, "71", r.at("before in the room"))
			r.next("before in the room")
			cut(r.Discord)
			r.SendText(r.DM("71"), "71", "first")
			r.SendText(r.DM("71"), "71", "second")
			r.SendText(room, "71", r.at("in the room"))
			r.SendText(channeltest.DiscordRoom(2), "72", r.at("in a new room"))
			for _, text := range []string{"first", "second", "in the room", "in a new room"} {
				if in := r.next(text); !in.Addressed {
					t.Errorf("%q is read as %+v", text, in)
				}
			}
			r.SendText(r.DM("71"), "71", "third")
			r.next("third")
			var order []string
			for _, in := range r.host.Events() {
				if in.Target.Direct && !slices.Contains(order, in.Text) { // the gateway knows what came twice
					order = append(order, in.Text)
				}
			}
			if got := strings.Join(order, " "); got != "before first second third" {
				t.Errorf("the order is %s", got)
			}
		})
	}
}

func TestAProcessThatWasKilledIsGoneOnFromByTheNext(t *testing.T) {
	r := start(t)
	r.SendText(r.DM("71"), "71", "before")
	r.next("before")
	r.must(r.WaitConfirmed(r.ctx))
	state := r.host.State() // what is there when the power goes
	r.SendText(r.DM("71"), "71", "read but not kept")
	r.next("read but not kept")
	r.must(r.stop())
	next := rigOn(t, r.Discord, Config{})
	for k, v := range state {
		next.must(next.host.Put(next.ctx, k, []byte(v)))
	}
	next.SendText(next.DM("73"), "73", "a stranger's first word meanwhile")
	next.receive()
	next.next("read but not kept")
	next.next("a stranger's first word meanwhile")
	if _, identified, resumed := next.Gateway(); identified != 1 || resumed != 1 {
		t.Errorf("%d sessions were begun and %d resumed", identified, resumed)
	}
}

func TestWhatIsMissedForGoodIsNotReadForGood(t *testing.T) {
	r := start(t)
	r.SendText(r.DM("71"), "71", "before")
	r.next("before")
	for range 3 * pageSize {
		r.SendText(channeltest.DiscordRoom(1), "71", "chatter")
	}
	r.must(r.WaitConfirmed(r.ctx))
	r.ForgetSessions()
	r.SendText(channeltest.DiscordRoom(1), "71", r.at("and a question"))
	r.next("and a question")
}

func TestAGatewayThatSaysNothingIsGivenUp(t *testing.T) {
	for _, on := range []string{"connect", "identify"} {
		r := newRig(t, channeltest.DiscordConfig{}, Config{})
		r.bot.pace.hello = 50 * time.Millisecond
		r.FailGateway(channeltest.GatewayFault{On: on, Silent: true})
		r.receive()
		r.must(r.host.WaitState(r.ctx, "gateway.0", func(state string) bool { return strings.Contains(state, "session-") }))
		r.SendText(r.DM("71"), "71", "hello")
		r.next("hello")
	}
}

func TestHeartbeatsWithoutAnswerEndTheConnection(t *testing.T) {
	r := newRig(t, channeltest.DiscordConfig{Heartbeat: 20 * time.Millisecond}, Config{})
	r.FailGateway(channeltest.GatewayFault{DropAcks: true})
	r.receive()
	r.must(r.WaitGateway(r.ctx, 2, 1, 1))
	r.SendText(r.DM("71"), "71", "hello")
	r.next("hello")
}

func TestHeartbeatsConfirmOnlyWhatIsKept(t *testing.T) {
	r := startWith(t, channeltest.DiscordConfig{Heartbeat: 5 * time.Millisecond}, Config{})
	r.host.FailPut(errors.New("the store is away"))
	r.SendText(r.DM("71"), "71", "hello")
	r.next("hello")
	ctx, cancel := context.WithTimeout(r.ctx, 100*time.Millisecond)
	defer cancel()
	if err := r.WaitConfirmed(ctx); err == nil {
		t.Error("an event was confirmed from which nobody could go on")
	}
	r.host.FailPut(nil)
	r.must(r.WaitConfirmed(r.ctx))
}

func TestServersAreDividedAmongShards(t *testing.T) {
	d := channeltest.DiscordConfig{Shards: 2}
	r := newRig(t, d, Config{})
	r.AddGuild("900000000004194305", "Second") // of the other shard
	r.receive()
	r.must(r.WaitGateway(r.ctx, 2, 2, 0))
	r.AddChannel("61", channeltest.DiscordChannelOptions{Guild: "900000000004194305"})
	r.SendText("61", "71", r.at("in the second"))
	r.SendText(channeltest.DiscordRoom(1), "71", r.at("in the first"))
	r.SendText(r.DM("71"), "71", "in private")
	for _, text := range []string{"in the second", "in the first", "in private"} {
		r.next(text)
	}
	if n := len(r.host.Events()); n != 3 {
		t.Errorf("%d events for three messages", n)
	}
}

func TestNeitherLogNorErrorShowsTheToken(t *testing.T) {
	log := &lockedBuffer{}
	r := newRig(t, channeltest.DiscordConfig{}, Config{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	r.FailGateway(channeltest.GatewayFault{On: "identify", Close: 4000})
	r.Fail("getMe", 1, channeltest.Fault{Status: 500, Body: "<p>Bot " + r.Token() + "</p>"})
	r.Fail("getGatewayBot", 1, channeltest.Fault{Drop: true})
	r.receive()
	r.must(r.WaitConnected(r.ctx))
	r.RevokeToken()
	err := r.end()
	_, posted := r.bot.Post(r.ctx, channels.Target{Chat: "1", Conversation: "discord:@me:1", Direct: true}, channels.Outgoing{Markdown: "x"})
	all := log.String() + err.Error() + posted.Error()
	if strings.Contains(all, r.Token()) || strings.Contains(all, "a-token-for-the-fake") {
		t.Error("the token is in", all)
	}
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestATokenOfTheWrongKindIsRefusedWithARemedy(t *testing.T) {
	for _, token := range []string{"", "123456789012345678", "abc.def.ghi", "MTIz", strings.Repeat("f", 64)} {
		_, err := New(Config{Token: redact.Secret(token)})
		if err == nil || !strings.Contains(err.Error(), "Reset Token") {
			t.Errorf("%q: %v", token, err)
		}
	}
}

func TestASessionIsKeptBeforeAnythingHappensInIt(t *testing.T) {
	r := newRig(t, channeltest.DiscordConfig{}, Config{})
	r.bot.pace.keep = time.Hour // later than any power cut
	r.receive()
	r.must(r.host.WaitState(r.ctx, "gateway.0", func(state string) bool { return strings.Contains(state, "session-") }))
}
