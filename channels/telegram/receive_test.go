package telegram

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"clawbot/channels"
	"clawbot/channels/channeltest"
)

const (
	group = -1001
	bob   = 7
)

func TestInAGroupAReplyToTheBotIsAddressed(t *testing.T) {
	r := start(t)
	r.SendText(group, bob, "@clawbot_bot hi")
	to := r.next("hi").Target
	if to.ReplyTo == "" || to.Direct || to.User != "7" {
		t.Errorf("the target is %+v", to)
	}
	id := r.post(to, "hello *Bob*")
	r.Send(channeltest.Incoming{Chat: group, User: bob, Text: "and you?", ReplyTo: mustInt(t, id)})
	in := r.next("and you?")
	if !in.Addressed || in.Quote != "hello Bob" {
		t.Errorf("a reply is read as %+v", in)
	}
	other := r.SendText(group, 8, "not to you")
	r.Send(channeltest.Incoming{Chat: group, User: bob, Text: "to eight", ReplyTo: other.MessageID})
	if in := r.next("to eight"); in.Addressed || in.Quote != "not to you" {
		t.Errorf("a reply to someone else is read as %+v", in)
	}
	if got := r.Messages(group)[0].ReplyTo; got == 0 {
		t.Error("the answer in a group refers to no message")
	}
}

func mustInt(t *testing.T, id string) int {
	t.Helper()
	n, err := messageID(id)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAnAnswerInAGroupRefersToTheQuestionUnlessItIsToStandByItself(t *testing.T) {
	for _, cfg := range []Config{{ReplyIn: InChannel}, {ReplyInRooms: map[string]string{strconv.Itoa(group): InChannel}}} {
		r := newRig(t, channeltest.TelegramConfig{}, cfg).receive()
		r.SendText(group, bob, "@clawbot_bot hi")
		r.SendText(-200, bob, "@clawbot_bot there")
		r.post(r.next("hi").Target, "hello")
		r.post(r.next("there").Target, "hello there")
		if got := r.Messages(group)[0].ReplyTo; got != 0 {
			t.Errorf("the answer refers to %d", got)
		}
		if got := r.Messages(-200)[0].ReplyTo; got == 0 && cfg.ReplyIn == "" {
			t.Error("in another group it refers to nothing")
		}
	}
}

func TestAMessageInATopicOpenedByTheBotIsNotAReplyToIt(t *testing.T) {
	r := start(t)
	r.AddChat(group, channeltest.ChatOptions{Forum: true})
	r.Send(channeltest.Incoming{Chat: group, User: bob, Text: "chatting", Topic: 33})
	in := r.next("chatting")
	if in.Addressed || in.Quote != "" || in.Target.Thread != "33" || in.Target.Conversation != "telegram:4711:-1001:33" {
		t.Errorf("read as %+v", in)
	}
}

func TestAThreadIDThatIsNoTopicIsIgnored(t *testing.T) {
	r := start(t)
	r.Send(channeltest.Incoming{Chat: group, User: bob, Text: "@clawbot_bot one", PseudoThread: 99})
	to := r.next("one").Target
	if to.Thread != "" || to.Conversation != "telegram:4711:-1001" {
		t.Errorf("a reply thread is taken for a topic: %+v", to)
	}
	r.post(to, "answer")
}

func TestTheGeneralTopicIsNamedWhenTypingOnly(t *testing.T) {
	r := start(t)
	r.AddChat(group, channeltest.ChatOptions{Forum: true})
	r.Send(channeltest.Incoming{Chat: group, User: bob, Text: "@clawbot_bot one", PseudoThread: 99})
	to := r.next("one").Target
	if to.Conversation != "telegram:4711:-1001" {
		t.Errorf("General is the conversation %q", to.Conversation)
	}
	r.post(to, "answer")
	again, err := r.bot.Typing(r.ctx, to)
	r.must(err)
	if a := r.Actions(group); len(a) != 1 || a[0].Thread != 1 || again != 4 {
		t.Errorf("typing is %+v, again after %d s", a, again)
	}
}

func TestPrivateTopicsCountOnlyIfTheBotHasThem(t *testing.T) {
	for _, has := range []bool{true, false} {
		r := newRig(t, channeltest.TelegramConfig{DMTopics: has}, Config{}).receive()
		r.Send(channeltest.Incoming{Chat: 42, User: 42, Text: "hi", Topic: 5})
		want := map[bool]string{true: "telegram:4711:42:5", false: "telegram:4711:42"}[has]
		in := r.next("hi")
		if in.Target.Conversation != want || !in.Target.Direct {
			t.Errorf("with topics %v the conversation is %+v", has, in.Target)
		}
		r.post(in.Target, "answer")
		_, err := r.bot.Typing(r.ctx, in.Target)
		r.must(err)
	}
}

func TestAGroupThatMovesKeepsItsConversation(t *testing.T) {
	r := start(t)
	r.AddChat(-5, channeltest.ChatOptions{Kind: "group"})
	r.SendText(-5, bob, "@clawbot_bot one")
	before := r.next("one").Target
	r.Migrate(-5, -1009)
	r.SendText(-1009, bob, "@clawbot_bot two")
	after := r.next("two").Target
	if after.Conversation != before.Conversation || after.Chat != "-1009" {
		t.Errorf("before %+v, after %+v", before, after)
	}
	r.post(before, "to the old address") // a reply that was under way
	if all := r.Messages(-1009); len(all) != 1 {
		t.Errorf("the new chat shows %+v", all)
	}
	// The next process knows of it, too.
	r.must(r.stop())
	next := newRig(t, channeltest.TelegramConfig{}, Config{})
	next.host = r.host
	next.receive()
	next.SendText(-1009, bob, "@clawbot_bot three")
	if to := next.next("three").Target; to.Conversation != before.Conversation {
		t.Errorf("after a restart the conversation is %q", to.Conversation)
	}
}

func TestAWriteToAMovedChatTellsTheNewAddress(t *testing.T) {
	r := start(t)
	to := channels.Target{Chat: "-5"}
	r.Migrate(-5, -1009)
	fresh := newRig(t, channeltest.TelegramConfig{}, Config{}) // a bot that did not see it
	fresh.Migrate(-5, -1009)
	_, err := fresh.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "x"})
	if e := sendError(t, err); e.Outcome != channels.Rejected || e.Reason != channels.ReasonMigrated || e.To != "-1009" {
		t.Errorf("got %#v", e)
	}
}

func TestFilesArriveAsAttachmentsAndCanBeFetched(t *testing.T) {
	r := start(t)
	send := func(kind, caption string, f channeltest.File) channels.Attachment {
		r.Send(channeltest.Incoming{Chat: 42, User: 42, Text: caption, File: &f, FileKind: kind})
		in := r.next(caption)
		if len(in.Attachments) != 1 {
			t.Fatalf("%s: %+v", kind, in)
		}
		return in.Attachments[0]
	}
	for _, c := range []struct {
		kind, want, mime, name string
	}{
		{"photo", "image", "image/jpeg", "photo.jpg"}, {"voice", "voice", "audio/ogg", "voice.ogg"},
		{"document", "file", "application/pdf", "a.pdf"}, {"document", "image", "image/png", "a.png"},
	} {
		a := send(c.kind, "see "+c.kind+c.name, channeltest.File{Name: c.name, MIME: c.mime, Data: []byte("bytes of " + c.name)})
		if a.Kind != c.want || a.MIMEType != c.mime || a.Name != c.name || a.Size == 0 {
			t.Errorf("%s arrives as %+v", c.kind, a)
		}
		body, err := r.bot.Fetch(r.ctx, a)
		r.must(err)
		data, err := io.ReadAll(body)
		r.must(err)
		r.must(body.Close())
		if string(data) != "bytes of "+c.name {
			t.Errorf("%s: fetched %q", c.kind, data)
		}
	}
}

func TestAFileThatIsTooBigIsRefusedBeforeItIsFetched(t *testing.T) {
	r := start(t)
	r.Send(channeltest.Incoming{Chat: 42, User: 42, Text: "big", File: &channeltest.File{Name: "big.bin"}, FileSize: 21 << 20})
	a := r.next("big").Attachments[0]
	for _, size := range []int64{a.Size, 0} {
		a.Size = size
		if _, err := r.bot.Fetch(r.ctx, a); err == nil || !strings.Contains(err.Error(), "20 MB") {
			t.Errorf("got %v", err)
		}
	}
}

func TestADownloadThatBreaksOffIsAnError(t *testing.T) {
	r := start(t)
	r.Send(channeltest.Incoming{Chat: 42, User: 42, Text: "doc", File: &channeltest.File{Name: "x", Data: make([]byte, 100000)}})
	a := r.next("doc").Attachments[0]
	r.Fail("file", 1, channeltest.Fault{Lost: true})
	body, err := r.bot.Fetch(r.ctx, a)
	if err == nil {
		_, err = io.Copy(io.Discard, body)
		_ = body.Close()
	}
	if err == nil {
		t.Error("half a file was taken for a whole one")
	}
	r.Fail("file", 1, channeltest.Fault{Status: 404})
	if _, err := r.bot.Fetch(r.ctx, a); err == nil {
		t.Error("a missing file was fetched")
	}
}

func TestSendersAreTold(t *testing.T) {
	r := start(t)
	r.SetPerson(9, channeltest.Person{Name: "Other Bot", Username: "other_bot", Bot: true})
	r.SetPerson(bob, channeltest.Person{Name: "Bob"})
	r.AddChat(group, channeltest.ChatOptions{Admins: []int64{8}, Title: "Crew"})
	r.SendText(group, 9, "@clawbot_bot I am a bot")
	r.SendText(group, bob, "@clawbot_bot I am Bob")
	r.SendText(group, 8, "@clawbot_bot I am an admin")
	r.Send(channeltest.Incoming{Chat: group, User: 8, Text: "@clawbot_bot I am nobody", AsChat: group})
	r.Send(channeltest.Incoming{Chat: group, User: 8, Text: "@clawbot_bot I am a channel", AsChat: -77})
	for text, want := range map[string]channels.Sender{
		"I am a bot":     {ID: "9", Name: "Other Bot", Bot: true, Roles: []string{"member"}},
		"I am Bob":       {ID: "7", Name: "Bob", Roles: []string{"member"}},
		"I am an admin":  {ID: "8", Name: "Person", Roles: []string{"admin"}},
		"I am nobody":    {ID: "-1001", Name: "Crew", Roles: []string{"admin"}},
		"I am a channel": {ID: "-77", Name: "Crew", Roles: []string{"member"}},
	} {
		in := r.next(text)
		if diff := cmp.Diff(want, in.Sender); diff != "" {
			t.Error(text, diff)
		}
		if in.RoomName != "Crew" {
			t.Errorf("the room is %q", in.RoomName)
		}
	}
	if n := r.CallCount("getChatAdministrators"); n > 5 || n < 1 {
		t.Errorf("the administrators were asked for %d times", n)
	}
}

func TestWhatHasNoTextIsDescribed(t *testing.T) {
	r := start(t)
	head := `{"message":{"message_id":5,"date":1,"chat":{"id":42,"type":"private"},"from":{"id":42,"first_name":"Ann"},`
	r.SendRaw(head + `"sticker":{"file_id":"S","emoji":"🎉"}}}`)
	r.SendRaw(head + `"location":{"latitude":-12.046374,"longitude":-77.042793}}}`)
	r.SendRaw(head + `"contact":{"phone_number":"+511","first_name":"Eva"}}}`)
	r.SendRaw(head + `"poll":{"question":"Lunch?","options":[{"text":"yes"},{"text":"no"}]}}}`)
	r.SendRaw(head + `"dice":{"emoji":"🎲","value":4}}}`)
	r.SendRaw(head + `"venue":{"title":"Café","address":"Calle 1","location":{"latitude":1,"longitude":2}},"location":{"latitude":1,"longitude":2}}}`)
	for _, want := range []string{
		"[sticker 🎉]", "[location: -12.046374, -77.042793]", "[contact: Eva, +511]", "[poll: Lunch? (yes / no)]", "[dice 🎲: 4]", "[place: Café, Calle 1 (1.000000, 2.000000)]",
	} {
		if in := r.next(want); in.Text != want {
			t.Errorf("got %q, want %q", in.Text, want)
		}
	}
}

func TestUpdatesOfNoUseAreConfirmedAndStallNothing(t *testing.T) {
	r := start(t)
	head := `{"message":{"message_id":5,"date":1,"chat":{"id":42,"type":"private"},"from":{"id":42,"first_name":"Ann"}`
	for _, raw := range []string{
		`{"message_reaction":{"chat":{"id":1,"type":"private"},"new_reaction":[{"type":"hologram"}]}}`,
		`{"message":{"message_id":9,"date":1,"chat":{"id":1,"type":"private"},"chat_background_set":{"type":{"type":"weird"}}}}`,
		`{"something_from_the_future":{"a":[1,2,3]}}`,
		`{"message":"a string"}`,
		`{"message":{"message_id":"text","chat":7,"text":{}}}`,
		`{"message":null}`,
		`{"message":{}}`,
		`{"edited_message":{"chat":{"id":1}}}`,
		`{"callback_query":{"id":"1","from":{"id":1},"inline_message_id":"x","data":"d"}}`,
		`{"callback_query":{}}`,
		`{"my_chat_member":{"chat":{"id":1},"new_chat_member":{"status":"kicked"}}}`,
		`{"poll":{}}`,
		`{"message":{"message_id":9,"date":1,"chat":{"id":-1,"type":"supergroup"},"new_chat_members":[{"id":4711}]}}`,
		`{"message":{"message_id":9,"date":1,"chat":{"id":-1,"type":"supergroup"},"pinned_message":{"message_id":3}}}`,
		`{"edited_message":{"message_id":9,"date":1,"chat":{"id":1,"type":"private"},"from":{"id":1},"location":7}}`,
	} {
		r.SendRaw(raw)
	}
	// A known message with unknown things in it is not of no use.
	r.SendRaw(head + `,"text":"odd one","forward_origin":{"type":"from_mars"},"entities":[{"type":"new_kind","offset":0,"length":3}],"photo":"none"}}`)
	last := r.SendText(42, 42, "the next one")
	r.next("odd one")
	r.next("the next one")
	r.must(r.WaitConfirmed(r.ctx, last.UpdateID))
	if all := r.host.Events(); len(all) != 2 {
		t.Errorf("accepted %+v", all)
	}
}

func TestAnAlbumKeepsItsOrder(t *testing.T) {
	r := start(t)
	for _, name := range []string{"1", "2", "3"} {
		r.Send(channeltest.Incoming{Chat: 42, User: 42, Album: "A", File: &channeltest.File{Name: name, Data: []byte(name)}})
	}
	all, err := r.host.WaitEvents(r.ctx, 3)
	r.must(err)
	var names []string
	for _, in := range all {
		names = append(names, in.Attachments[0].Name)
	}
	if !slices.Equal(names, []string{"1", "2", "3"}) {
		t.Error(names)
	}
}

func TestABotIsNamedByItsTerm(t *testing.T) {
	r := newRig(t, channeltest.TelegramConfig{}, Config{})
	if term, err := (poller{r.bot}).Term(r.ctx); term != "tg:4711" || err != nil {
		t.Error(term, err)
	}
}

func FuzzAnyUpdateIsReadOrSkipped(f *testing.F) {
	f.Add([]byte(`{"update_id":1,"message":{"message_id":2,"chat":{"id":3,"type":"group"},"text":"🙂 /stop@clawbot_bot","entities":[{"type":"bot_command","offset":3,"length":17}]}}`))
	f.Add([]byte(`{"update_id":1,"edited_message":{"message_id":2,"chat":{"id":3},"caption":"x","caption_entities":[{"type":"mention","offset":-1,"length":2}]}}`))
	f.Add([]byte(`{"update_id":1,"callback_query":{"id":"x","data":"y","message":{"message_id":1,"chat":{"id":1}}}}`))
	f.Add([]byte(`{"update_id":1,"message":{"reply_to_message":{"from":null},"sender_chat":{},"quote":{}}}`))
	bot, err := newChannel(Config{Token: "4711:x"})
	if err != nil {
		f.Fatal(err)
	}
	bot.me.Store(testBot)
	f.Fuzz(func(t *testing.T, data []byte) {
		a := bot.read(data)
		if a.in != nil && (a.in.EventID == "" || a.in.MessageID == "" || a.in.Target.Conversation == "" || a.in.Kind == 0) {
			t.Errorf("%q is read as %+v", data, a.in)
		}
	})
}

func BenchmarkReadUpdate(b *testing.B) {
	bot, err := newChannel(Config{Token: "4711:x"})
	if err != nil {
		b.Fatal(err)
	}
	bot.me.Store(testBot)
	raw := []byte(`{"update_id":100000,"message":{"message_id":11,"from":{"id":42,"is_bot":false,"first_name":"Ann","username":"ann","language_code":"en"},"chat":{"id":-1001,"type":"supergroup","title":"Crew"},"date":1760000000,"text":"@clawbot_bot what is the weather?","entities":[{"type":"mention","offset":0,"length":12}]}}`)
	b.ReportAllocs()
	for b.Loop() {
		if a := bot.read(raw); a.in == nil {
			b.Fatal("not read")
		}
	}
}
