package channeltest

import (
	"errors"
	"fmt"
	"testing"

	"clawbot/channels"
)

func runReceiving(t *testing.T, o Options) {
	t.Run("a direct message is addressed and complete", o.directMessage)
	t.Run("in a room only a mention addresses the bot", o.mention)
	t.Run("a conversation has one key and no two share one", o.keys)
	t.Run("the order of a conversation is kept", o.order)
	t.Run("an edit is an event of its own for the same message", o.personEdits)
	t.Run("a redelivery has the ids of the first delivery", o.redelivery)
	t.Run("what the host could not take is delivered again and in order", o.acceptFails)
	t.Run("what was not accepted when receiving stopped is delivered to the next", o.stopUnaccepted)
	t.Run("Receive returns nil when it is told to stop, and can start again", o.stopAndStart)
	if !o.NoThreads {
		t.Run("a thread is a conversation of its own and is answered in", o.thread)
	}
	if !o.NoButtons {
		t.Run("a pressed button is a click with its data", o.click)
	}
}

func (o Options) directMessage(t *testing.T) {
	b := o.start(t)
	text := "Grüße, 世界 👨‍👩‍👧 & <b>*_`~"
	id := b.Direct(1, text)
	in := b.next("Grüße")
	if in.Text != text {
		t.Errorf("the text is %q", in.Text)
	}
	if in.Kind != channels.Message || !in.Addressed || !in.Target.Direct {
		t.Errorf("a direct message is read as %+v", in)
	}
	if in.EventID == "" || in.MessageID != id || in.Target.Conversation == "" || in.Target.Chat == "" {
		t.Errorf("ids are missing: %+v", in)
	}
	if in.Sender.ID == "" || in.Sender.Name == "" || in.Sender.Bot || in.At.IsZero() {
		t.Errorf("the sender or the time is missing: %+v", in)
	}
}

func (o Options) mention(t *testing.T) {
	b := o.start(t)
	b.Room(1, 1, "just talking", false)
	in := b.next("just talking")
	if in.Addressed || in.Target.Direct {
		t.Errorf("a message to nobody is read as %+v", in)
	}
	for _, text := range []string{"what is up", "🙂 what", "二 👍🏽 three"} {
		b.Room(1, 1, text, true)
		in = b.next(text)
		if in.Text != text || !in.Addressed || in.Target.Direct {
			t.Errorf("a mention is read as %+v", in)
		}
	}
}

func (o Options) keys(t *testing.T) {
	b := o.start(t)
	b.Direct(1, "a1")
	b.Direct(1, "a2")
	b.Direct(2, "b1")
	b.Room(1, 1, "c1", true)
	first := b.next("a1").Target.Conversation
	if second := b.next("a2").Target.Conversation; second != first {
		t.Errorf("one conversation has the keys %q and %q", first, second)
	}
	seen := map[string]bool{first: true}
	for _, text := range []string{"b1", "c1"} {
		key := b.next(text).Target.Conversation
		if seen[key] {
			t.Errorf("the key %q is shared", key)
		}
		seen[key] = true
	}
}

func (o Options) order(t *testing.T) {
	b := o.start(t)
	const n = 60
	for i := range n {
		b.Direct(1+i%2, fmt.Sprintf("m%03d", i))
	}
	all, err := b.host.WaitEvents(b.ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]string{}
	for _, in := range all {
		if in.Text <= last[in.Target.Conversation] {
			t.Errorf("%s came after %s", in.Text, last[in.Target.Conversation])
		}
		last[in.Target.Conversation] = in.Text
	}
}

func (o Options) personEdits(t *testing.T) {
	b := o.start(t)
	id := b.Direct(1, "frist")
	first := b.next("frist")
	b.EditDirect(1, id, "first")
	edit := b.next("first")
	if edit.Kind != channels.Edit || edit.MessageID != first.MessageID || edit.EventID == first.EventID || edit.EventID == "" {
		t.Errorf("an edit is read as %+v, the message was %+v", edit, first)
	}
	if edit.Target.Conversation != first.Target.Conversation {
		t.Error("the edit is in another conversation")
	}
}

func (o Options) redelivery(t *testing.T) {
	b := o.start(t)
	b.Direct(1, "once")
	b.next("once")
	if err := b.WaitConfirmed(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.RedeliverAll()
	all, err := b.host.WaitEvents(b.ctx, 2)
	if err != nil {
		t.Fatal("the redelivery did not arrive at the host:", err)
	}
	if all[0].EventID != all[1].EventID || all[0].MessageID != all[1].MessageID {
		t.Errorf("a redelivery differs: %+v, %+v", all[0], all[1])
	}
}

func (o Options) acceptFails(t *testing.T) {
	b := o.start(t)
	b.host.FailAccept(errors.New("the store is away"))
	for i := range 5 {
		b.Direct(1, fmt.Sprintf("m%d", i))
	}
	if err := b.host.WaitAttempts(b.ctx, 3); err != nil {
		t.Fatal("the adapter does not try again:", err)
	}
	if len(b.host.Events()) != 0 {
		t.Fatal("something was accepted")
	}
	b.host.FailAccept(nil)
	all, err := b.host.WaitEvents(b.ctx, 5)
	if err != nil {
		t.Fatal(err)
	}
	for i, in := range all[:5] {
		if in.Text != fmt.Sprintf("m%d", i) {
			t.Fatalf("event %d is %q", i, in.Text)
		}
	}
}

func (o Options) stopUnaccepted(t *testing.T) {
	b := o.start(t)
	b.Direct(1, "taken")
	b.next("taken")
	b.host.FailAccept(errors.New("the store is away"))
	b.Direct(1, "first")
	b.Direct(2, "second")
	if err := b.host.WaitAttempts(b.ctx, 3); err != nil {
		t.Fatal(err)
	}
	if err := b.stop(); err != nil {
		t.Error("Receive returned", err)
	}
	b.host.FailAccept(nil)
	b.receive()
	b.next("first")
	b.next("second")
}

func (o Options) stopAndStart(t *testing.T) {
	b := o.start(t)
	b.Direct(1, "before")
	b.next("before")
	if err := b.stop(); err != nil {
		t.Error("Receive returned", err)
	}
	b.Direct(1, "meanwhile")
	b.receive()
	b.next("meanwhile")
	b.Direct(1, "after")
	b.next("after")
}

func (o Options) thread(t *testing.T) {
	b := o.start(t)
	b.Room(1, 1, "in the room", true)
	room := b.next("in the room").Target
	b.Thread(1, 1, 1, "in a thread")
	in := b.next("in a thread")
	b.Thread(1, 2, 1, "elsewhere")
	other := b.next("elsewhere")
	if !in.Addressed || in.Target.Conversation == room.Conversation || in.Target.Conversation == other.Target.Conversation {
		t.Errorf("the thread's conversation is %q, the room's %q, another thread's %q",
			in.Target.Conversation, room.Conversation, other.Target.Conversation)
	}
	b.post(in.Target, "answer")
	if got := b.shown(in.Target); got.Text != "answer" {
		t.Errorf("the thread shows %+v", got)
	}
	if all := b.Shown(other.Target); len(all) != 0 {
		t.Errorf("another thread shows %+v", all)
	}
}

func (o Options) click(t *testing.T) {
	b := o.start(t)
	to := b.direct()
	id, err := b.channel.Post(b.ctx, to, channels.Outgoing{
		Markdown: "May I?", Buttons: [][]channels.Button{{{Label: "Yes", Data: "yes-1", Style: "primary"}, {Label: "No", Data: "no-1", Style: "danger"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.shown(to); got.Buttons != 2 {
		t.Errorf("the message has %d buttons", got.Buttons)
	}
	b.Press(to, 1, id, "yes-1")
	in := b.next("yes-1")
	if in.Kind != channels.Click || in.Text != "yes-1" || !in.Addressed || in.MessageID != id || in.EventID == "" ||
		in.Target.Conversation != to.Conversation || in.Sender.ID == "" {
		t.Errorf("a click is read as %+v", in)
	}
	if err := b.channel.Edit(b.ctx, to, id, channels.Outgoing{Markdown: "Approved."}); err != nil {
		t.Fatal(err)
	}
	if got := b.shown(to); got.Buttons != 0 || got.Text != "Approved." {
		t.Errorf("after the decision the message is %+v", got)
	}
}
