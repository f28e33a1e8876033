package discord

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"clawbot/channels"
	"clawbot/channels/channeltest"
)

func TestAConversationIsNamedAfterItsThread(t *testing.T) {
	for name, cfg := range map[string]Config{"discord": {}, "discord.work": {Name: "discord.work"}} {
		r := startWith(t, channeltest.DiscordConfig{}, cfg)
		room := channeltest.DiscordRoom(1)
		id := r.SendText(room, "71", r.at("start one"))
		in := r.next("start one")
		want := channels.Target{Conversation: name + ":" + channeltest.DiscordGuild + ":" + id, Chat: room, ReplyTo: id, User: "71"}
		if diff := cmp.Diff(want, in.Target); diff != "" {
			t.Error(diff)
		}
		r.post(in.Target, "answer")
		inside := r.SendText(id, "71", "go on")
		in = r.next("go on")
		want.Thread, want.ReplyTo = id, inside
		if diff := cmp.Diff(want, in.Target); diff != "" || !in.Addressed {
			t.Error(in.Addressed, diff)
		}
		dm := r.DM("71")
		r.SendText(dm, "71", "in private")
		if diff := cmp.Diff(channels.Target{Conversation: name + ":@me:" + dm, Chat: dm, Direct: true, User: "71"}, r.next("in private").Target); diff != "" {
			t.Error(diff)
		}
	}
}

func TestReplyInChannelMakesTheRoomOneConversation(t *testing.T) {
	r := startWith(t, channeltest.DiscordConfig{}, Config{ReplyIn: InChannel})
	room := channeltest.DiscordRoom(1)
	id := r.SendText(room, "71", r.at("first"))
	to := r.next("first").Target
	r.post(to, "answer")
	r.SendText(room, "72", r.at("second"))
	if other := r.next("second").Target; to.Conversation != "discord:"+channeltest.DiscordGuild+":"+room || other.Conversation != to.Conversation {
		t.Errorf("the conversations are %q and %q", to.Conversation, other.Conversation)
	}
	if all := r.Messages(room); len(all) != 1 || all[0].ReplyTo != id {
		t.Errorf("the room shows %+v", all)
	}
}

func TestOneChannelMayBeAnsweredOtherwiseThanTheRest(t *testing.T) {
	one, two := channeltest.DiscordRoom(1), channeltest.DiscordRoom(2)
	r := startWith(t, channeltest.DiscordConfig{}, Config{ReplyInRooms: map[string]string{one: InChannel}})
	for room, want := range map[string]bool{one: true, two: false} {
		text := "in " + room
		r.SendText(room, "71", r.at(text))
		to := r.next(text).Target
		r.post(to, "answer")
		if inRoom := len(r.Messages(room)) == 1; inRoom != want {
			t.Errorf("%s is answered in the room: %v", room, inRoom)
		}
	}
}

func TestAReplyToTheBotIsMeantForItAndQuotes(t *testing.T) {
	r := startWith(t, channeltest.DiscordConfig{}, Config{ReplyIn: InChannel})
	room := channeltest.DiscordRoom(1)
	r.SendText(room, "71", r.at("hi"))
	id := r.post(r.next("hi").Target, "hello *Bob*")
	r.Send(channeltest.DiscordIncoming{Channel: room, User: "71", Text: "and you?", ReplyTo: id})
	if in := r.next("and you?"); !in.Addressed || !strings.Contains(in.Quote, "hello") {
		t.Errorf("a reply is read as %+v", in)
	}
	other := r.SendText(room, "72", "not to you")
	r.Send(channeltest.DiscordIncoming{Channel: room, User: "71", Text: "to seventy-two", ReplyTo: other})
	if in := r.next("to seventy-two"); in.Addressed || in.Quote != "not to you" {
		t.Errorf("a reply to someone else is read as %+v", in)
	}
}

func TestInAThreadThatItTalksInTheBotIsMeantUnlessOthersAre(t *testing.T) {
	r := start(t)
	room := channeltest.DiscordRoom(1)
	thread := r.StartThread(room, "", "71", "plans")
	r.SendText(thread, "71", "among ourselves")
	if in := r.next("among ourselves"); in.Addressed {
		t.Error("a thread of others wakes the bot")
	}
	r.SendText(thread, "71", r.at("join us"))
	r.next("join us")
	r.SendText(thread, "71", "what do you think?")
	if in := r.next("what do you think"); in.Addressed || !in.Continues {
		t.Errorf("what goes on in a thread is read as %+v", in)
	}
	said := r.SendText(thread, "72", "me first")
	r.next("me first")
	r.SendText(thread, "71", "<@72> what about you")
	r.SendText(thread, "71", "@everyone what about you")
	r.Send(channeltest.DiscordIncoming{Channel: thread, User: "71", Text: "what about you, there", ReplyTo: said})
	r.SendText(thread, "71", "the end")
	r.next("the end")
	for _, in := range r.host.Events() {
		if strings.Contains(in.Text, "what about you") && (in.Addressed || in.Continues) {
			t.Errorf("%q is taken for meant", in.Text)
		}
	}
	// A thread that the bot started is its own.
	asked := r.SendText(room, "71", r.at("a question"))
	r.post(r.next("a question").Target, "an answer")
	r.SendText(asked, "72", "and why?")
	if in := r.next("and why?"); !in.Addressed {
		t.Error("the bot must be named in its own thread")
	}
	r.SendText(asked, "72", "<@71> do you understand that?")
	if in := r.next("do you understand that?"); in.Addressed {
		t.Error("what people say to each other is taken for meant")
	}
}

func TestAForumPostIsAConversation(t *testing.T) {
	r := start(t)
	forum := r.AddChannel("610000000000000015", channeltest.DiscordChannelOptions{Kind: channeltest.DiscordForum, Name: "help"})
	post := r.ForumPost(forum, "71", "It does not start", r.at("what now?"))
	in := r.next("what now?")
	if in.Target.Thread != post || in.Target.Chat != forum || in.Target.ReplyTo != "" || !in.Addressed {
		t.Errorf("a forum post is read as %+v", in)
	}
	r.post(in.Target, "press the button")
	if all := r.Messages(post); len(all) != 1 {
		t.Errorf("the post shows %+v", all)
	}
	r.must(r.bot.React(r.ctx, in.Target, post, "👀"))
	if m := r.Message(post, post); len(m.Reactions) != 1 {
		t.Errorf("the reactions to the post are %v", m.Reactions)
	}
}

func TestWhatAThreadWasStartedFromIsContext(t *testing.T) {
	r := start(t)
	room := channeltest.DiscordRoom(1)
	about := r.SendText(room, "72", "the build is broken")
	thread := r.StartThread(room, about, "71", "the build")
	r.SendText(thread, "71", r.at("why?"))
	in := r.next("why?")
	all := r.host.Events()
	i := slices.IndexFunc(all, func(e channels.Inbound) bool { return e.Kind == channels.Context })
	if i < 0 || all[i].Text != "the build is broken" || all[i].Sender.ID != "72" || all[i].Target.Thread != thread || in.Target.Thread != thread {
		t.Errorf("the thread's head is read as %+v", all)
	}
}

func TestOnlyEditsThatChangeSomethingAreEdits(t *testing.T) {
	r := start(t)
	room := channeltest.DiscordRoom(1)
	id := r.SendText(room, "71", r.at("look at https://example.org"))
	r.next("look at")
	r.Unfurl(room, id)
	r.Edit(room, id, r.at("look at https://example.com"))
	edit := r.next("example.com")
	r.Unfurl(room, id)
	r.Edit(room, id, r.at("look at https://example.com")) // a new time, the same text
	r.SendText(room, "71", "after all that")
	r.next("after all that")
	r.must(r.WaitConfirmed(r.ctx))
	all := r.host.Events()
	if len(all) != 3 || edit.Kind != channels.Edit || edit.MessageID != id || !edit.Addressed || edit.Target.Conversation != all[0].Target.Conversation {
		t.Errorf("the events are %+v", all)
	}
	r.Edit(room, id, "never mind, no mention")
	if in := r.next("never mind"); !in.Addressed {
		t.Error("an edit that takes the mention away is lost")
	}
}

func TestADeletedMessageIsTold(t *testing.T) {
	r := start(t)
	room := channeltest.DiscordRoom(1)
	id := r.SendText(room, "71", r.at("forget it"))
	first := r.next("forget it")
	r.Delete(room, id)
	r.Delete(room, r.SendText(room, r.BotID(), "own"))
	all, err := r.host.WaitEvents(r.ctx, 2)
	r.must(err)
	if d := all[1]; d.Kind != channels.Delete || d.MessageID != id || d.Target.Conversation != first.Target.Conversation || !d.Addressed || d.Sender.ID != "71" {
		t.Errorf("a deletion is read as %+v", d)
	}
}

func TestSendersAndTheirRolesAreTold(t *testing.T) {
	r := start(t)
	room := channeltest.DiscordRoom(1)
	r.SetRole(channeltest.DiscordGuild, "95001", channeltest.DiscordRole{Name: "mods", Permissions: channeltest.DiscordManageMessages})
	r.SetRole(channeltest.DiscordGuild, "95002", channeltest.DiscordRole{Name: "admins", Permissions: 1 << 3})
	r.SetPerson("71", channeltest.DiscordPerson{Name: "Ann", Nick: "Annie"})
	r.SetPerson("72", channeltest.DiscordPerson{Name: "Bob", Roles: []string{"95001"}})
	r.SetPerson("73", channeltest.DiscordPerson{Name: "Cid", Roles: []string{"95002", "95001"}})
	for id, want := range map[string]channels.Sender{
		"71":                 {ID: "71", Name: "Annie", Roles: []string{"member"}},
		"72":                 {ID: "72", Name: "Bob", Roles: []string{"moderator", "member", "95001"}},
		"73":                 {ID: "73", Name: "Cid", Roles: []string{"admin", "moderator", "member", "95002", "95001"}},
		"700000000000000000": {ID: "700000000000000000", Name: "Person", Roles: []string{"admin", "moderator", "member"}}, // owns the server
	} {
		r.SendText(room, id, r.at("I am "+id))
		in := r.next("I am " + id)
		want.Since = snowflakeTime(id) // an id tells when its account was made
		if diff := cmp.Diff(want, in.Sender); diff != "" {
			t.Error(diff)
		}
		if in.RoomName != "room-0001" {
			t.Errorf("the room is %q", in.RoomName)
		}
	}
	command := r.Slash(room, "72", "help", nil)
	if in := r.next("/help"); !slices.Contains(in.Sender.Roles, "moderator") || in.MessageID != command {
		t.Errorf("a command is read as %+v", in)
	}
}

func TestFilesArriveAsAttachmentsAndCanBeFetched(t *testing.T) {
	r := start(t)
	dm := r.DM("71")
	for _, c := range []struct{ name, mime, kind string }{
		{"a.png", "image/png", "image"}, {"a.pdf", "application/pdf", "file"}, {"voice.ogg", "audio/ogg", "voice"}, {"a.txt", "text/plain; charset=utf-8", "file"},
	} {
		data := []byte("bytes of " + c.name)
		r.Send(channeltest.DiscordIncoming{Channel: dm, User: "71", Text: "see " + c.name, Files: []channeltest.DiscordFile{{File: channeltest.File{Name: c.name, MIME: c.mime, Data: data}}}})
		in := r.next("see " + c.name)
		if len(in.Attachments) != 1 {
			t.Fatalf("%s: %+v", c.name, in)
		}
		a := in.Attachments[0]
		mime, _, _ := strings.Cut(c.mime, ";")
		if a.Kind != c.kind || a.MIMEType != mime || a.Name != c.name || a.Size != int64(len(data)) {
			t.Errorf("%s arrives as %+v", c.name, a)
		}
		body, err := r.bot.Fetch(r.ctx, a)
		r.must(err)
		got, err := io.ReadAll(body)
		r.must(errors.Join(err, body.Close()))
		if string(got) != string(data) {
			t.Errorf("%s: fetched %q", c.name, got)
		}
	}
	r.Send(channeltest.DiscordIncoming{Channel: dm, User: "71", Files: []channeltest.DiscordFile{{File: channeltest.File{Name: "alone.png", MIME: "image/png", Data: []byte("x")}}}})
	all, err := r.host.WaitEvents(r.ctx, 5)
	r.must(err)
	if in := all[4]; in.Text != "" || len(in.Attachments) != 1 {
		t.Errorf("a file alone is read as %+v", in)
	}
}

func TestAFileThatIsTooBigBrokenGoneOrElsewhereIsAnError(t *testing.T) {
	r := start(t)
	dm := r.DM("71")
	id := r.Send(channeltest.DiscordIncoming{Channel: dm, User: "71", Text: "big", Files: []channeltest.DiscordFile{
		{File: channeltest.File{Name: "big.bin", Data: make([]byte, 100_000)}, Size: 26 << 20},
	}})
	a := r.next("big").Attachments[0]
	if _, err := r.bot.Fetch(r.ctx, a); err == nil || !strings.Contains(err.Error(), "25 MB") {
		t.Error("too big:", err)
	}
	a.Size = 0
	r.Fail("attachment", 1, channeltest.Fault{Lost: true})
	body, err := r.bot.Fetch(r.ctx, a)
	if err == nil {
		_, err = io.Copy(io.Discard, body)
		_ = body.Close()
	}
	if err == nil {
		t.Error("half a file was taken for a whole one")
	}
	r.Fail("attachment", 1, channeltest.Fault{Status: 404})
	if _, err := r.bot.Fetch(r.ctx, a); err == nil {
		t.Error("a missing file was fetched")
	}
	r.Send(channeltest.DiscordIncoming{Channel: dm, User: "71", Text: "evil", Fields: map[string]any{
		"attachments": []any{map[string]any{"id": "7", "filename": "x", "url": "http://169.254.169.254/latest"}},
	}})
	if _, err := r.bot.Fetch(r.ctx, r.next("evil").Attachments[0]); err == nil || !strings.Contains(err.Error(), "not one of Discord's") {
		t.Error("another address:", err)
	}
	r.Delete(dm, id)
	if _, err := r.bot.Fetch(r.ctx, a); err == nil {
		t.Error("a file of a deleted message was fetched")
	}
	if _, err := r.bot.Fetch(r.ctx, channels.Attachment{ID: "../../users/@me"}); err == nil {
		t.Error("nonsense was fetched")
	}
}

func TestWhatHasNoTextIsDescribed(t *testing.T) {
	r := start(t)
	for want, fields := range map[string]map[string]any{
		"[sticker wave]":             {"sticker_items": []any{map[string]any{"name": "wave"}}},
		"[forwarded] seen elsewhere": {"message_snapshots": []any{map[string]any{"message": map[string]any{"content": "seen elsewhere"}}}},
		"[poll: Lunch? (yes / no)]":  {"poll": map[string]any{"question": map[string]any{"text": "Lunch?"}, "answers": []any{map[string]any{"poll_media": map[string]any{"text": "yes"}}, map[string]any{"poll_media": map[string]any{"text": "no"}}}}},
	} {
		r.Send(channeltest.DiscordIncoming{Channel: r.DM("71"), User: "71", Fields: fields})
		if in := r.next(want); in.Text != want {
			t.Errorf("got %q, want %q", in.Text, want)
		}
	}
}

func TestPeopleChannelsAndEmojiAreNamed(t *testing.T) {
	r := start(t)
	room := channeltest.DiscordRoom(1)
	r.AddChannel("62", channeltest.DiscordChannelOptions{Name: "general"})
	r.SetPerson("72", channeltest.DiscordPerson{Name: "Bob"})
	me, n := "<@"+r.BotID()+">", 0
	for text, want := range map[string]string{
		me + ", ask <@72> in <#62> <:party:123>!":      "ask @Bob in #general :party:!",
		"hey " + me + ", are you there?":               "hey, are you there?",
		"one <@!" + r.BotID() + "> two":                "one two",
		me + " `a < b` <b> <@99 <#77> <https://e.org>": "`a < b` <b> <@99 <#77> <https://e.org>",
		me + " a <a:dance:55> b":                       "a :dance: b",
		"three\n" + me + "\nfour":                      "three\n\nfour",
	} {
		n++
		r.SendText(room, "71", text)
		all, err := r.host.WaitEvents(r.ctx, n)
		r.must(err)
		if in := all[n-1]; in.Text != want || !in.Addressed {
			t.Errorf("%q is read as %q, want %q", text, in.Text, want)
		}
	}
}

func TestEventsOfNoUseStallNothing(t *testing.T) {
	r := start(t)
	for _, e := range []struct{ kind, body string }{
		{"SOMETHING_FROM_THE_FUTURE", `{"a":[1]}`}, {"MESSAGE_CREATE", `{}`}, {"MESSAGE_CREATE", `{"id":7,"author":"x"}`},
		{"MESSAGE_CREATE", `{"id":"1","channel_id":"2","author":{"id":"3"},"content":{"a":1},"mentions":"none","attachments":{"x":1}}`},
		{"MESSAGE_CREATE", `{"id":"1","channel_id":"2","author":null,"content":"no author"}`},
		{"MESSAGE_CREATE", `{"id":"1","channel_id":"2","type":7,"author":{"id":"3"},"content":"joined"}`},
		{"MESSAGE_UPDATE", `{"id":"1","channel_id":"2"}`}, {"MESSAGE_UPDATE", `{"id":"1","channel_id":"2","author":{"id":"3"},"edited_timestamp":5}`},
		{"MESSAGE_DELETE", `{"id":["x"]}`}, {"MESSAGE_DELETE_BULK", `{"ids":["1","2"],"channel_id":"2"}`},
		{"INTERACTION_CREATE", `{}`}, {"INTERACTION_CREATE", `{"id":"5","token":"t","type":3,"channel_id":"2"}`}, {"INTERACTION_CREATE", `{"id":"6","token":"t","type":99}`},
		{"GUILD_CREATE", `{"id":5}`}, {"GUILD_DELETE", `{}`}, {"CHANNEL_CREATE", `[]`[:0] + `{"id":{}}`}, {"THREAD_LIST_SYNC", `{"threads":5}`}, {"GUILD_ROLE_UPDATE", `{"role":[]}`},
	} {
		r.Dispatch(e.kind, "", e.body)
	}
	r.SendText(r.DM("71"), "71", "the next one")
	r.next("the next one")
	r.must(r.WaitConfirmed(r.ctx))
	if all := r.host.Events(); len(all) != 1 {
		t.Errorf("accepted %+v", all)
	}
}

func TestTheOrderOfManyChannelsIsKeptInEach(t *testing.T) {
	r := start(t)
	const each, rooms = 40, 8
	for i := range each {
		for room := range rooms {
			r.SendText(channeltest.DiscordRoom(room), "71", fmt.Sprintf("m%03d", i))
		}
	}
	all, err := r.host.WaitEvents(r.ctx, each*rooms)
	r.must(err)
	last := map[string]string{}
	for _, in := range all {
		if in.Text <= last[in.Target.Chat] {
			t.Fatalf("%s came after %s", in.Text, last[in.Target.Chat])
		}
		last[in.Target.Chat] = in.Text
	}
}
