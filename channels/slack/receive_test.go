package slack

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/channels/channeltest"
)

func TestAMentionInAChannelBeginsAThreadAndADirectMessageDoesNot(t *testing.T) {
	r := start(t)
	r.SetPerson(ana, channeltest.SlackPerson{Name: "Ana 🙂"})
	ts := r.SendText(general, ana, r.Mention()+": what is 1 < 2 & 3?")
	in := r.next("what is")
	if in.Text != "what is 1 < 2 & 3?" || in.Kind != channels.Message || !in.Addressed || in.MessageID != ts {
		t.Errorf("a mention is read as %+v", in)
	}
	if to := in.Target; to.Conversation != "slack:T0TEAM:"+general+":"+ts || to.Thread != ts || to.Chat != general || to.Direct || to.User != ana {
		t.Errorf("it is answered at %+v", to)
	}
	if in.Sender.Name != "Ana 🙂" || !slices.Equal(in.Sender.Roles, []string{"member"}) || in.RoomName != "c0general" {
		t.Errorf("the sender is %+v in %q", in.Sender, in.RoomName)
	}
	r.SendText(anaDM, ana, "in private")
	if to := r.next("in private").Target; to.Conversation != "slack:T0TEAM:"+anaDM || to.Thread != "" || !to.Direct {
		t.Errorf("a direct message is answered at %+v", to)
	}
}

func TestRow29AMentionInRootAndThreadIsOneSession(t *testing.T) {
	r := start(t)
	root := r.SendText(general, ana, r.Mention()+" first")
	first := r.next("first").Target
	r.Send(channeltest.SlackIncoming{Channel: general, User: ana, Thread: root, Text: r.Mention() + " second"})
	second := r.next("second").Target
	r.Send(channeltest.SlackIncoming{Channel: general, User: ben, Thread: root, Text: "third, to nobody"})
	third := r.next("third")
	if first.Conversation != second.Conversation || third.Target.Conversation != first.Conversation || second.Thread != root {
		t.Errorf("one thread is %q, %q and %q", first.Conversation, second.Conversation, third.Target.Conversation)
	}
	if third.Addressed || !third.Continues {
		t.Errorf("a reply in the thread is read as %+v", third)
	}
}

func TestRow29TwinsAreOneMessageWhicheverComesFirst(t *testing.T) {
	r := start(t)
	for i := range 20 {
		first := []string{"message", "app_mention"}[i%2]
		r.Send(channeltest.SlackIncoming{Channel: general, User: ana, Text: fmt.Sprint(r.Mention(), " question ", i), First: first,
			File: &channeltest.File{Name: "a.txt", MIME: "text/plain", Data: []byte("x")}})
	}
	all := r.settled()
	if len(all) != 20 {
		t.Fatalf("20 mentions are %d messages", len(all))
	}
	for _, in := range all {
		if !in.Addressed || len(in.Attachments) != 1 {
			t.Errorf("read as %+v", in)
		}
	}
}

func TestRow29ALateTwinIsOnlyAcknowledged(t *testing.T) {
	for _, first := range []string{"message", "app_mention"} {
		r := start(t)
		r.Send(channeltest.SlackIncoming{Channel: general, User: ana, Text: r.Mention() + " question", Only: first})
		in := r.next("question")
		r.must(r.WaitAcked(r.ctx))
		other := "message"
		if first == other {
			other = "app_mention"
		}
		r.Event(map[string]any{"type": other, "channel": general, "user": ana, "text": r.Mention() + " question", "ts": in.MessageID, "event_ts": in.MessageID})
		if all := r.settled(); len(all) != 1 {
			t.Errorf("after %s, its twin is accepted, too: %+v", first, all)
		}
		r.must(r.stop())
	}
}

func TestAMentionIsReceivedAlthoughOnlyOneOfTheTwinsComes(t *testing.T) {
	r := start(t)
	for _, only := range []string{"message", "app_mention"} {
		r.Send(channeltest.SlackIncoming{Channel: general, User: ana, Text: r.Mention() + " by " + only, Only: only})
		if in := r.next("by " + only); !in.Addressed {
			t.Errorf("%s alone is read as %+v", only, in)
		}
	}
}

func TestRow27AnEnvelopeIsAcknowledgedOnceWhateverItHolds(t *testing.T) {
	r := startWith(t, channeltest.SlackConfig{}, Config{})
	r.Event(map[string]any{"type": "message", "subtype": "channel_join", "channel": general, "user": ana, "ts": "1.000001", "text": "joined"})
	r.Event(map[string]any{"type": "an_event_of_next_year", "channel": map[string]any{"id": general}})
	r.Event(map[string]any{"type": "message", "channel": 7, "ts": []string{"odd"}, "user": map[string]any{}})
	r.Interact(map[string]any{"type": "shortcut_of_next_year", "team": map[string]any{"id": r.Team()}})
	r.SendFrame(map[string]any{"type": "a_type_of_next_year", "payload": 1})
	r.SendText(anaDM, ana, "after them")
	r.next("after them")
	r.must(r.WaitAcked(r.ctx))
	if n, gone := r.Acked(), r.GaveUp(); n != 5 || gone != 0 {
		t.Errorf("%d deliveries were acknowledged and %d given up", n, gone)
	}
}

func TestRow27NothingIsAcknowledgedBeforeItIsAccepted(t *testing.T) {
	r := start(t)
	r.host.FailAccept(errors.New("the store is away"))
	r.SendText(anaDM, ana, "wait for me")
	r.must(r.host.WaitAttempts(r.ctx, 3))
	if r.Acked() != 0 {
		t.Fatal("it was acknowledged")
	}
	if r.bot.Check(r.ctx) == nil {
		t.Error("the trouble is not reported")
	}
	r.host.FailAccept(nil)
	r.next("wait for me")
	r.must(r.WaitAcked(r.ctx))
	if err := r.bot.Check(r.ctx); err != nil {
		t.Error("the trouble is over, and still reported:", err)
	}
}

func TestRow43ARedeliveryJoinsTheEventThatIsStillBeingAccepted(t *testing.T) {
	r := startWith(t, channeltest.SlackConfig{AckTimeout: 20 * time.Millisecond}, Config{})
	r.host.FailAccept(errors.New("slow"))
	r.SendText(anaDM, ana, "once")
	r.must(r.WaitGaveUp(r.ctx, 1)) // every delivery has come by now
	r.host.FailAccept(nil)
	r.next("once")
	r.SendText(anaDM, ana, "the next")
	r.next("the next")
	n := 0
	for _, in := range r.host.Events() {
		if in.Text == "once" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("it was accepted %d times", n)
	}
}

func TestRow22And23TheBotsOwnMessagesAndTheirChangesAreIgnored(t *testing.T) {
	r := start(t)
	to := r.thread()
	id := r.post(to, "see https://example.org, "+r.Mention())
	for i := range 20 {
		r.must(r.bot.Edit(r.ctx, to, id, channels.Outgoing{Markdown: fmt.Sprint("draft ", i, " ", r.Mention()), Draft: true}))
	}
	r.Unfurl(general, id)
	r.Touch(general, id)
	r.Delete(general, id)
	own := map[string]any{"user": r.BotUser(), "bot_id": "B0CLAW", "text": "changed " + r.Mention(), "ts": id, "edited": map[string]any{"ts": "1700000000.000009"}}
	for i := range 50 { // and what is marked as edited, because it has no blocks
		r.Event(map[string]any{"type": "message", "subtype": "message_changed", "hidden": true, "channel": general, "channel_type": "channel",
			"ts": fmt.Sprintf("1700000000.%06d", i), "message": own, "previous_message": map[string]any{"bot_id": "B0CLAW", "text": "before", "ts": id}})
	}
	if all := r.settled(); len(all) != 1 {
		t.Errorf("the bot hears itself: %+v", all[1:])
	}
}

func TestRow23And24AChangeThatNobodyMadeIsNoEdit(t *testing.T) {
	r := start(t)
	ts := r.SendText(anaDM, ana, "see https://example.org")
	r.next("see")
	r.Unfurl(anaDM, ts)
	r.Touch(anaDM, ts)
	r.Edit(anaDM, ts, "see it")
	edit := r.next("see it")
	r.Unfurl(anaDM, ts) // carries the mark of the edit
	r.Event(map[string]any{"type": "message", "subtype": "message_changed", "hidden": true, "channel": anaDM, "channel_type": "im", "ts": "1700000000.000001",
		"message":          map[string]any{"user": ana, "text": "see it, translated", "ts": ts},
		"previous_message": map[string]any{"user": ana, "text": "see it", "ts": ts}}) // by nobody
	if all := r.settled(); len(all) != 2 || edit.Kind != channels.Edit {
		t.Errorf("accepted: %+v", all)
	}
}

func TestRow25AnEditIsAnEditAndNoNewMessage(t *testing.T) {
	r := start(t)
	ts := r.SendText(anaDM, ana, "frist")
	first := r.next("frist")
	r.Edit(anaDM, ts, "first")
	edit := r.next("first")
	r.Delete(anaDM, ts)
	all, err := r.host.WaitEvents(r.ctx, 3)
	r.must(err)
	gone := all[2]
	for _, in := range []channels.Inbound{edit, gone} {
		if in.MessageID != first.MessageID || in.Target.Conversation != first.Target.Conversation || in.EventID == first.EventID || in.Sender.ID != ana {
			t.Errorf("%+v is not about %+v", in, first)
		}
	}
	if edit.Kind != channels.Edit || gone.Kind != channels.Delete || gone.EventID == edit.EventID {
		t.Errorf("read as kinds %d and %d", edit.Kind, gone.Kind)
	}
}

func TestTheRootOfAThreadKeepsItsConversationWhenItIsEdited(t *testing.T) {
	r := start(t)
	to := r.thread()
	r.post(to, "an answer")
	root := to.Thread
	r.Event(map[string]any{
		"type": "message", "subtype": "message_changed", "channel": general, "channel_type": "channel", "event_ts": "9999999999.000001", "ts": "9999999999.000001",
		"message":          map[string]any{"user": ana, "text": r.Mention() + " changed", "ts": root, "thread_ts": root, "edited": map[string]any{"ts": "9999999999.000000"}},
		"previous_message": map[string]any{"user": ana, "text": r.Mention() + " good day", "ts": root, "thread_ts": root},
	})
	if in := r.next("changed"); in.Target.Conversation != to.Conversation || in.Kind != channels.Edit || !in.Addressed {
		t.Errorf("read as %+v, want %q", in, to.Conversation)
	}
}

func TestAMessageThatGotAThreadKeepsItsDirectConversationWhenItIsEdited(t *testing.T) {
	r := start(t)
	to := r.direct()
	ts := r.next("hello there").MessageID
	r.Event(map[string]any{
		"type": "message", "subtype": "message_changed", "channel": anaDM, "channel_type": "im", "ts": "1700000000.000001",
		"message":          map[string]any{"user": ana, "text": "changed", "ts": ts, "thread_ts": ts, "edited": map[string]any{"ts": "1700000000.000000"}},
		"previous_message": map[string]any{"user": ana, "text": "hello there", "ts": ts, "thread_ts": ts},
	})
	if in := r.next("changed"); in.Target.Conversation != to.Conversation || in.Target.Thread != "" {
		t.Errorf("read as %+v, want %q", in, to.Conversation)
	}
}

func TestAttack43EventsOfOthersAreDroppedAndAcknowledged(t *testing.T) {
	r := start(t)
	r.SetPerson("U0FAR", channeltest.SlackPerson{Name: "Far", Team: "T0OTHER"})
	message := map[string]any{"type": "message", "channel": anaDM, "channel_type": "im", "user": ana, "text": "forged", "ts": "1700000000.000001", "event_ts": "1700000000.000001"}
	r.EventFrom("T0OTHER", "A0CLAW", message)
	r.EventFrom("T0TEAM", "A0OTHER", message)
	r.SendText(general, "U0FAR", r.Mention()+" forged by a guest of another organisation")
	r.Event(map[string]any{"type": "app_mention", "channel": general, "user": "U0FAR", "text": r.Mention() + " forged, without a team", "ts": "1700000000.000002", "event_ts": "1700000000.000002"})
	r.Press(general, "U0FAR", "1700000000.000001", "forged")
	r.Interact(map[string]any{"type": "block_actions", "team": map[string]any{"id": "T0OTHER"}, "user": map[string]any{"id": ana},
		"channel": map[string]any{"id": general}, "container": map[string]any{"message_ts": "1.1"}, "actions": []any{map[string]any{"type": "button", "value": "forged"}}})
	r.SendText(anaDM, ana, "genuine")
	r.next("genuine")
	if all := r.settled(); len(all) != 1 {
		t.Errorf("accepted: %+v", all)
	}
}

func TestAttack46BotsAreMarkedAndTheBotItselfIsNotHeard(t *testing.T) {
	r := start(t)
	r.Event(map[string]any{"type": "app_mention", "channel": general, "user": r.BotUser(), "bot_id": "B0CLAW", "text": r.Mention() + " me", "ts": "1700000000.000001"})
	r.Send(channeltest.SlackIncoming{Channel: general, Bot: "B0OTHER", Text: r.Mention() + " do it"})
	if in := r.next("do it"); !in.Sender.Bot || in.Sender.ID != "B0OTHER" {
		t.Errorf("another bot is read as %+v", in.Sender)
	}
	r.SetPerson("U0ROBOT", channeltest.SlackPerson{Name: "Robot", Bot: true})
	r.SendText(anaDM, "U0ROBOT", "from a bot's user")
	if in := r.next("from a bot"); !in.Sender.Bot {
		t.Errorf("a bot's user is read as %+v", in.Sender)
	}
	if all := r.settled(); len(all) != 2 {
		t.Errorf("accepted: %+v", all)
	}
}

func TestRow36AWorkflowsMessageNeedsNoRecipient(t *testing.T) {
	r := start(t)
	r.Send(channeltest.SlackIncoming{Channel: general, Bot: "B0WORKFLOW", Text: r.Mention() + " run the report"})
	to := r.next("run the report").Target
	r.post(to, "an answer to nobody in particular")
	if r.CallCount("chat.startStream") != 0 || len(r.Platform().Refusals()) != 0 {
		t.Error("slack refused", r.Platform().Refusals())
	}
}

func TestWhatHappenedInAChannelIsAcceptedInOrderAlthoughTwoSocketsBringIt(t *testing.T) {
	r := start(t)
	for i := range 40 {
		r.SendText(anaDM, ana, fmt.Sprintf("m%02d", i))
	}
	all, err := r.host.WaitEvents(r.ctx, 40)
	r.must(err)
	if !slices.IsSortedFunc(all, func(a, b channels.Inbound) int { return strings.Compare(a.Text, b.Text) }) {
		t.Error("the order is lost")
	}
}

func TestAHundredMessagesInASecondAreAllAcceptedOnceAndInOrder(t *testing.T) {
	r := start(t)
	for i := range 100 {
		r.SendText(general, ana, fmt.Sprintf("message %03d", i))
	}
	all := r.settled()
	if len(all) != 100 || r.GaveUp() != 0 {
		t.Fatalf("%d were accepted, %d given up", len(all), r.GaveUp())
	}
	for i, in := range all {
		if in.Text != fmt.Sprintf("message %03d", i) {
			t.Fatalf("number %d is %q", i, in.Text)
		}
	}
}

func TestARevokedTokenEndsReceivingWithARemedy(t *testing.T) {
	for what, act := range map[string]func(r *rig, to channels.Target){
		"a call":     func(r *rig, to channels.Target) { _, _ = r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "x"}) },
		"reconnects": func(*rig, channels.Target) {},
	} {
		r := start(t)
		to := r.direct()
		r.RevokeTokens()
		act(r, to)
		if err := r.end(); err == nil || !strings.Contains(err.Error(), "revoked") || !strings.Contains(err.Error(), "SLACK_BOT_TOKEN") {
			t.Errorf("%s: Receive returned %v", what, err)
		}
		if r.bot.Check(r.ctx) == nil {
			t.Error("Check finds nothing")
		}
	}
}

func TestATokenThatACallFindsRevokedEndsReceivingAlthoughTheSocketsAreOpen(t *testing.T) {
	r := start(t)
	to := r.direct()
	r.Fail("chat.postMessage", 1, channeltest.Fault{Status: 200, Description: "account_inactive"})
	_, err := r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "x"})
	wantFailure(t, "post", err, channels.Rejected, channels.ReasonAuth)
	if err := r.end(); err == nil || !strings.Contains(err.Error(), "removed from the workspace") {
		t.Errorf("Receive returned %v", err)
	}
}

func TestMissingScopesAreNamed(t *testing.T) {
	r := start(t)
	r.must(r.bot.Check(r.ctx))
	r.SetScopes("chat:write", "app_mentions:read", "channels:history", "groups:history", "mpim:history")
	err := r.bot.Check(r.ctx)
	if err == nil || !strings.Contains(err.Error(), "lacks the scopes im:history;") || !strings.Contains(err.Error(), "files:read") {
		t.Errorf("Check says %v", err)
	}
}

func TestSlacksOwnStopButtonStops(t *testing.T) {
	r := start(t)
	to := r.thread()
	r.Event(map[string]any{"type": "agent_session_stopped", "channel": general, "thread_ts": to.Thread, "user": ana, "event_ts": "1700000000.000009"})
	if in := r.next("/stop"); in.Target.Conversation != to.Conversation || !in.Addressed || in.Sender.ID != ana {
		t.Errorf("read as %+v", in)
	}
}

func TestWhereAChannelIsAnsweredCanBeSaidOfItAlone(t *testing.T) {
	r := startWith(t, channeltest.SlackConfig{}, Config{ReplyInRooms: map[string]string{general: ReplyInChannel}})
	r.SendText(general, ana, r.Mention()+" in one")
	r.SendText("C0OTHER", ana, r.Mention()+" elsewhere")
	if here, there := r.next("in one").Target, r.next("elsewhere").Target; here.Thread != "" || there.Thread == "" {
		t.Errorf("answered in %q and %q", here.Thread, there.Thread)
	}
}

func TestRepliesInTheChannelAreOneConversation(t *testing.T) {
	r := startWith(t, channeltest.SlackConfig{}, Config{ReplyIn: ReplyInChannel})
	r.SendText(general, ana, r.Mention()+" one")
	one := r.next("one").Target
	r.SendText(general, ben, r.Mention()+" two")
	if two := r.next("two").Target; one.Conversation != two.Conversation || one.Thread != "" || one.Conversation != "slack:T0TEAM:"+general {
		t.Errorf("answered at %+v and %+v", one, two)
	}
	root := one
	r.Send(channeltest.SlackIncoming{Channel: general, User: ana, Thread: r.post(root, "an answer"), Text: "in its thread"})
	if in := r.next("in its thread"); in.Target.Conversation == one.Conversation || in.Target.Thread == "" || !in.Addressed {
		t.Errorf("a reply to the bot's message is read as %+v", in)
	}
}

func TestAMessageToSomebodyElseInAThreadDoesNotContinueIt(t *testing.T) {
	r := start(t)
	to := r.thread()
	r.SetPerson(ben, channeltest.SlackPerson{Name: "Ben"})
	r.Send(channeltest.SlackIncoming{Channel: general, User: ana, Thread: to.Thread, Raw: true, Text: "<@" + ben + "> what do you think?"})
	in := r.next("what do you think")
	if in.Continues || in.Addressed || in.Text != "@Ben what do you think?" {
		t.Errorf("read as %+v", in)
	}
}

func TestASharedMessageIsAQuote(t *testing.T) {
	r := start(t)
	r.Send(channeltest.SlackIncoming{Channel: anaDM, User: ana, Text: "what of this?", Extra: map[string]any{
		"attachments": []any{map[string]any{"is_share": true, "text": "the &lt;old&gt; words"}},
	}})
	if in := r.next("what of this"); in.Quote != "the <old> words" {
		t.Errorf("the quote is %q", in.Quote)
	}
}
