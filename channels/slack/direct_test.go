package slack

import (
	"testing"

	"clawbot/channels"
)

func TestTheDirectConversationWithAPersonIsTheOneTheyWriteIn(t *testing.T) {
	r := start(t)
	to, err := r.bot.OpenDirect(r.ctx, "U42")
	r.must(err)
	_, err = r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "hello"})
	r.must(err)
	r.SendText(r.Direct("U42"), "U42", "who is that?")
	if in := r.next("who is that?"); in.Target != to {
		t.Errorf("they write in %+v, the bot in %+v", in.Target, to)
	}
	if to, err := r.bot.OpenDirect(r.ctx, "nobody"); err == nil {
		t.Errorf("nobody is in %+v", to)
	}
	r.SetScopes("chat:write", "im:history")
	if to, err := r.bot.OpenDirect(r.ctx, "U42"); err == nil {
		t.Errorf("without the scope: %+v", to)
	}
}
