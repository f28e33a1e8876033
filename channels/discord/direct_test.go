package discord

import (
	"testing"

	"clawbot/channels"
)

func TestTheDirectChannelWithAPersonIsTheOneTheyWriteIn(t *testing.T) {
	r := start(t)
	const person = "100000000000000042"
	to, err := r.bot.OpenDirect(r.ctx, person)
	r.must(err)
	_, err = r.bot.Post(r.ctx, to, channels.Outgoing{Markdown: "hello"})
	r.must(err)
	r.SendText(r.DM(person), person, "who is that?")
	if in := r.next("who is that?"); in.Target != to {
		t.Errorf("they write in %+v, the bot in %+v", in.Target, to)
	}
	if to, err := r.bot.OpenDirect(r.ctx, ""); err == nil {
		t.Errorf("nobody is in %+v", to)
	}
}
