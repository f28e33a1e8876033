package discord

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

// The reports that people filed against other bots of Discord, one test each.

// bwmarrin/discordgo#513: op 7 right after identify or resume was a deadlock.
func TestRow38AskedToReconnectRightAfterIdentifyOrResumeTheBotDoes(t *testing.T) {
	r := newRig(t, channeltest.DiscordConfig{}, Config{})
	r.FailGateway(channeltest.GatewayFault{On: "connect", Op7: true})
	r.FailGateway(channeltest.GatewayFault{On: "identify", Op7: true})
	r.FailGateway(channeltest.GatewayFault{On: "identify", Op7: true})
	r.receive()
	r.must(r.WaitConnected(r.ctx))
	r.SendText(r.DM("71"), "71", "hello")
	r.next("hello")
	r.FailGateway(channeltest.GatewayFault{On: "resume", Op7: true})
	r.FailGateway(channeltest.GatewayFault{On: "resume", Op7: true})
	r.AskToReconnect()
	r.must(r.WaitGateway(r.ctx, 7, 3, 1))
	r.SendText(r.DM("71"), "71", "still there?")
	r.next("still there?")
}

// bwmarrin/discordgo#1683, #1562: a component of an unknown type lost the
// message and its author.
func TestRow39AMessageWithComponentsThatNobodyKnowsIsRead(t *testing.T) {
	r := start(t)
	for _, kind := range []any{16, 20, 99, "hologram", nil, []int{1}} {
		text := fmt.Sprintf("component %v", kind)
		r.Send(channeltest.DiscordIncoming{Channel: r.DM("71"), User: "71", Text: text, Fields: map[string]any{
			"components": []any{map[string]any{"type": kind, "components": []any{map[string]any{"type": kind}}, "items": 7}},
		}})
		in := r.next(text)
		if in.Text != text || in.Sender.ID != "71" || in.Sender.Name != "Person" {
			t.Errorf("%v: read as %+v", kind, in)
		}
	}
	first := r.SendText(r.DM("71"), "71", "a poll with one")
	r.Send(channeltest.DiscordIncoming{Channel: r.DM("71"), User: "71", Text: "a reply to one", Type: 19, Fields: map[string]any{
		"referenced_message": map[string]any{
			"id": first, "content": "odd", "author": map[string]any{"id": "72"}, "components": []any{map[string]any{"type": 20}}, "embeds": "none",
		},
	}})
	if in := r.next("a reply to one"); in.Quote != "odd" {
		t.Errorf("read as %+v", in)
	}
}

// openclaw#74967, #91415: a mention of the bot's own role was ignored, and
// @everyone woke the bot.
func TestRow40TheBotsRoleMeansTheBotAndEveryoneDoesNot(t *testing.T) {
	r := start(t)
	room := channeltest.DiscordRoom(1)
	r.SendText(room, "71", "<@&"+channeltest.DiscordBotRole+"> by role")
	if in := r.next("by role"); !in.Addressed || in.Text != "by role" {
		t.Errorf("a mention of the bot's role is read as %+v", in)
	}
	r.SetRole(channeltest.DiscordGuild, "95001", channeltest.DiscordRole{Name: "crew"})
	r.SetRole(channeltest.DiscordGuild, "95002", channeltest.DiscordRole{Name: "other bot", BotID: "8888"})
	for _, text := range []string{"@everyone come", "@here come", "<@&95001> crew come", "<@&95002> other come", "`<@" + r.BotID() + "` come"} {
		r.SendText(room, "71", text)
	}
	all, err := r.host.WaitEvents(r.ctx, 6)
	r.must(err)
	for _, in := range all[1:] {
		if in.Addressed {
			t.Errorf("%q wakes the bot", in.Text)
		}
	}
	// After a restart the roles are asked for.
	r.must(r.stop())
	fresh := rigOn(t, r.Discord, Config{})
	fresh.host = r.host
	fresh.receive()
	fresh.SendText(room, "71", "<@&"+channeltest.DiscordBotRole+"> once more")
	if in := fresh.next("once more"); !in.Addressed {
		t.Errorf("after a restart it is read as %+v", in)
	}
}

// openclaw#26612: one send, two messages, for it was sent again after an unknown
// outcome.
func TestRow41ASendOfUnknownOutcomeIsOneMessage(t *testing.T) {
	for name, fault := range map[string]channeltest.Fault{
		"lost answer": {Lost: true}, "dropped": {Drop: true}, "bad gateway": {Status: 502, Body: "<html>"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			r.SendText(r.DM("71"), "71", "hello")
			to := r.next("hello").Target
			r.Fail("createMessage", 1, fault)
			answer := reply.New(reply.Config{Channel: r.bot, Target: to})
			done := make(chan error, 1)
			go func() { done <- answer.Run(r.ctx) }()
			answer.Write("the answer")
			r.must(answer.Finish(r.ctx))
			r.must(<-done)
			if all := r.Messages(to.Chat); len(all) != 1 || all[0].Text != "the answer" {
				t.Errorf("the chat shows %+v", all)
			}
		})
	}
}

// The same nonce is the same message, whichever process asks.
func TestTwoAttemptsWithOneNonceAreOneMessage(t *testing.T) {
	r := start(t)
	r.SendText(r.DM("71"), "71", "hello")
	to := r.next("hello").Target
	r.Fail("createMessage", 1, channeltest.Fault{Lost: true})
	out := channels.Outgoing{Markdown: "one", Nonce: "NONCE0123456789ABCDEFGHIJ"[:24]}
	if _, err := r.bot.Post(r.ctx, to, out); channels.OutcomeOf(err) != channels.Unknown {
		t.Fatal(err)
	}
	r.must(r.WaitConfirmed(r.ctx))
	id, err := r.bot.Probe(r.ctx, to, out.Nonce)
	r.must(err)
	other := rigOn(t, r.Discord, Config{}) // it receives nothing
	if found, err := other.bot.Probe(r.ctx, to, out.Nonce); found != "" || err != nil {
		t.Errorf("a history without nonces gives %q, %v", found, err)
	}
	again, err := other.bot.Post(r.ctx, to, out)
	r.must(err)
	if all := r.Messages(to.Chat); len(all) != 1 || all[0].ID != id || again != id {
		t.Errorf("probed %q, posted %q, the chat shows %+v", id, again, all)
	}
	if id, err := r.bot.Probe(r.ctx, to, "another"); id != "" || err != nil {
		t.Errorf("an unknown nonce gives %q, %v", id, err)
	}
}

// openclaw#30816: a listener that took long was given up, and the event came
// again.
func TestRow43AHostThatTakesLongGetsEveryEventOnce(t *testing.T) {
	r := startWith(t, channeltest.DiscordConfig{Heartbeat: 100 * time.Millisecond}, Config{})
	r.host.FailAccept(errors.New("the store is away"))
	for i := range 2 * window { // more than are read ahead
		r.SendText(r.DM("71"), "71", fmt.Sprintf("m%03d", i))
	}
	r.must(r.host.WaitAttempts(r.ctx, 100))
	r.host.FailAccept(nil)
	all, err := r.host.WaitEvents(r.ctx, 2*window)
	r.must(err)
	r.must(r.WaitConfirmed(r.ctx))
	if all = r.host.Events(); len(all) != 2*window {
		t.Errorf("%d events for %d messages", len(all), 2*window)
	}
	for i, in := range all {
		if in.Text != fmt.Sprintf("m%03d", i) {
			t.Fatalf("event %d is %q", i, in.Text)
		}
	}
	if _, identified, _ := r.Gateway(); identified != 1 {
		t.Errorf("%d sessions were begun", identified)
	}
}

// letta-ai/lettabot#459: more than 2000 characters were refused, and the user
// saw nothing.
func TestRow45AnAnswerOfManyMessagesIsShownWhole(t *testing.T) {
	r := start(t)
	r.SendText(r.DM("71"), "71", "hello")
	to := r.next("hello").Target
	var text strings.Builder
	for i := range 400 {
		fmt.Fprintf(&text, "Line %03d says 👍 and *something*.\n\n", i)
	}
	answer := reply.New(reply.Config{Channel: r.bot, Target: to})
	done := make(chan error, 1)
	go func() { done <- answer.Run(r.ctx) }()
	answer.Write(text.String())
	r.must(answer.Finish(r.ctx))
	r.must(<-done)
	var whole strings.Builder
	for _, m := range r.Messages(to.Chat) {
		whole.WriteString(m.Text + "\n")
	}
	for i := range 400 {
		if !strings.Contains(whole.String(), fmt.Sprintf("Line %03d", i)) {
			t.Fatalf("line %d is missing", i)
		}
	}
	if refused := r.Platform().Refusals(); len(refused) > 0 {
		t.Error("refused:", refused)
	}
}

// A bot that answers itself, or another bot that answers it, goes on for ever.
func TestOwnMessagesAreNotReadAndOtherBotsAreTold(t *testing.T) {
	r := start(t)
	room := channeltest.DiscordRoom(1)
	r.SetPerson("99", channeltest.DiscordPerson{Name: "Other", Bot: true})
	r.SendText(room, r.BotID(), r.at("I am myself"))
	r.SendText(room, "99", r.at("I am a bot"))
	r.Send(channeltest.DiscordIncoming{Channel: room, User: "55", Webhook: "55", Text: r.at("I am a hook")})
	for _, text := range []string{"I am a bot", "I am a hook"} {
		if in := r.next(text); !in.Sender.Bot {
			t.Errorf("read as %+v", in)
		}
	}
	for _, in := range r.host.Events() {
		if strings.Contains(in.Text, "myself") {
			t.Error("the bot hears itself")
		}
	}
}

// What a model writes notifies nobody, whatever it looks like.
func TestWhatTheBotWritesNotifiesNobody(t *testing.T) {
	r := start(t)
	r.SendText(channeltest.DiscordRoom(1), "71", r.at("go"))
	to := r.next("go").Target
	text := "@everyone @here <@71> <@!71> <@&95001> [@everyone](https://example.org) `@everyone` <#600>"
	id := r.post(to, text)
	r.must(r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: text + " again", Draft: true, Status: "@everyone <@71>"}))
	_, err := r.bot.Upload(r.ctx, to, "@everyone.txt", "text/plain", strings.NewReader("x"))
	r.must(err)
	for _, m := range r.Messages(r.bot.shownIn(to)) {
		if len(m.Pings) > 0 {
			t.Errorf("%q notifies %v", m.Text, m.Pings)
		}
		if strings.Contains(strings.ReplaceAll(m.Text, "`@everyone`", ""), "@everyone") {
			t.Errorf("%q looks like a mention", m.Text)
		}
	}
	for _, c := range r.Calls("createMessage", "editMessage") {
		if !strings.Contains(c.Params["body"], `"allowed_mentions":{"parse":[],"replied_user":false}`) {
			t.Errorf("%s is sent with %s", c.Method, c.Params["body"])
		}
	}
}

func TestAHundredMessagesInASecondArriveInOrder(t *testing.T) {
	r := start(t)
	dm := r.DM("71")
	for i := range 100 {
		r.SendText(dm, "71", fmt.Sprint("message ", i))
	}
	r.next("message 99")
	r.must(r.WaitConfirmed(r.ctx))
	for i, in := range r.host.Events() {
		if in.Text != fmt.Sprint("message ", i) {
			t.Fatalf("message %d is %q", i, in.Text)
		}
	}
}
