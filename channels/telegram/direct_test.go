package telegram

import (
	"testing"

	"clawbot/channels"
)

func TestTheDirectChatWithAPersonIsTheOneTheyWriteIn(t *testing.T) {
	r := start(t)
	r.SendText(42, 42, "hello")
	in := r.next("hello")
	to, err := r.bot.OpenDirect(r.ctx, "42")
	r.must(err)
	if in.Target != to {
		t.Errorf("they write in %+v, the bot in %+v", in.Target, to)
	}
	_, err = r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "hello yourself"})
	r.must(err)
	if shown := r.Messages(42); len(shown) != 1 || shown[0].Text != "hello yourself" {
		t.Errorf("shown: %+v", shown)
	}
	for _, user := range []string{"", "ana", "-100", "0"} {
		if to, err := r.bot.OpenDirect(r.ctx, user); err == nil {
			t.Errorf("%q is in %+v", user, to)
		}
	}
}
