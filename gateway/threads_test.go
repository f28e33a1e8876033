package gateway

import (
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
)

// inThread is a message in a thread of a room; the one that begins it is its
// root.
func inThread(root, id, sender, text string, addressed bool) channels.Inbound {
	in := inRoom(id, sender, text, addressed)
	in.Target.Thread, in.Target.ReplyTo, in.Target.Conversation = root, id, "chat:room:"+root
	in.Continues = id != root
	return in
}

func TestAThreadThatTheBotTakesPartInNeedsNoMention(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, m := newChat("chat"), newStore(t), &script{otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		c.send(t, inThread("5", "6", "8", "among people", false))
		c.send(t, inThread("1", "1", "7", "question", true))
		settled(t, b)
		c.send(t, inThread("1", "2", "7", "and further", false))
		settled(t, b)
		aside := inThread("1", "3", "7", "to somebody else", false)
		aside.Continues = false
		c.send(t, aside)
		settled(t, b)
		if got := c.texts(); len(got) != 2 || !strings.HasSuffix(got[1], "and further") {
			t.Errorf("answered: %q", got)
		}
		time.Sleep(partFor)
		c.send(t, inThread("1", "4", "7", "the day after", false))
		settled(t, b)
		if got := c.texts(); len(got) != 2 {
			t.Errorf("a thread is not left: %q", got)
		}
	})
}

func TestWhoMayNotSpeakIsNotToldSoForTalkingInAThread(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, m := newChat("chat"), newStore(t), &script{otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Access: Access{
			GroupPolicy: groupAllowlist, Channels: map[string]ChannelAccess{"chat": {AllowFrom: []string{"7"}}},
		}})
		c.send(t, inThread("1", "1", "7", "question", true))
		settled(t, b)
		c.send(t, inThread("1", "2", "8", "chatter", false))
		settled(t, b)
		if got := c.texts(); len(got) != 1 {
			t.Errorf("said: %q", got)
		}
	})
}

func TestTheRoomsTalkGoesAlongWithAMentionThatBeginsAThread(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, m := newChat("chat"), newStore(t), &script{otherwise: func(*agentcore.Request) step { return say("ok") }}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		c.send(t, inThread("1", "1", "8", "chatter", false))
		c.send(t, inThread("2", "2", "7", "what did they say?", true))
		settled(t, b)
		if text := users(m.asked()[0])[0]; !strings.Contains(text, "chatter") {
			t.Errorf("the model saw %q", text)
		}
	})
}
