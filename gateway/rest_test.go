package gateway

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"clawbot/channels"
)

// picture is one part of an album.
func picture(id, group, caption string) channels.Inbound {
	in := withFiles(direct(sess, id, caption), channels.Attachment{ID: "p" + id, Name: "p" + id + ".png", Kind: "image"})
	in.Group = group
	return in
}

func pictures(n int) *filing {
	c := newFiling()
	for i := range n {
		c.files[fmt.Sprint("p", i)] = pngBytes
	}
	return c
}

func TestAnAlbumIsOneTurnInEveryMode(t *testing.T) {
	for _, mode := range queueModes {
		t.Run(mode, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, s, m := pictures(4), newStore(t), &script{}
				b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Queue: Queue{Mode: mode}})
				for i := range 4 {
					caption := ""
					if i == 0 {
						caption = "which is best?"
					}
					c.send(t, picture(fmt.Sprint(i), "g", caption))
					time.Sleep(300 * time.Millisecond)
				}
				settled(t, b)
				if reqs := m.asked(); len(reqs) != 1 || len(reqs[0].Messages) != 4 {
					t.Fatalf("%d requests", len(reqs))
				}
				if got := c.texts(); len(got) != 1 {
					t.Errorf("posts: %q", got)
				}
				valid(t, s, sess)
			})
		})
	}
}

func TestTheRestOfALongTextIsAwaitedAndNotLonger(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, m := newChat("chat"), newStore(t), &script{otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		first := direct(sess, "1", strings.Repeat("x", 4090))
		first.Unfinished = true
		c.send(t, first)
		time.Sleep(time.Second)
		if len(m.asked()) != 0 {
			t.Fatal("the model was asked about half a message")
		}
		began := time.Now()
		c.send(t, direct(sess, "2", "and the rest"))
		settled(t, b)
		if took := time.Since(began); took > 200*time.Millisecond {
			t.Errorf("the rest was there, and the answer took %v", took)
		}
		if reqs := m.asked(); len(reqs) != 1 || len(reqs[0].Messages) != 2 {
			t.Errorf("%d requests", len(reqs))
		}
		// One that nothing follows is answered all the same.
		alone := direct(sess, "3", strings.Repeat("y", 4090))
		alone.Unfinished = true
		began = time.Now()
		c.send(t, alone)
		settled(t, b)
		if took := time.Since(began); len(m.asked()) != 2 || took < cutRest || took > cutRest+time.Second {
			t.Errorf("%d requests, the last after %v", len(m.asked()), took)
		}
	})
}

func TestAnAlbumThatSteersIsTakenWhole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := pictures(3), newStore(t)
		m := &script{steps: []step{words(30)}}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		c.send(t, direct(sess, "q", "work"))
		time.Sleep(2500 * time.Millisecond)
		for i := range 3 {
			c.send(t, picture(fmt.Sprint(i), "g", ""))
			time.Sleep(300 * time.Millisecond)
		}
		settled(t, b)
		reqs := m.asked()
		if len(reqs) != 2 || len(reqs[1].Messages) != 5 {
			t.Errorf("%d requests, the last of %d messages", len(reqs), len(reqs[len(reqs)-1].Messages))
		}
		valid(t, s, sess)
	})
}

func TestWaitingForTheRestIsStoppedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, m := pictures(30), newStore(t), &script{otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		c.send(t, picture("0", "g", "look"))
		time.Sleep(100 * time.Millisecond)
		began := time.Now()
		c.send(t, direct(sess, "s", "/stop"))
		settled(t, b)
		if took := time.Since(began); took > 200*time.Millisecond || len(m.asked()) != 0 {
			t.Errorf("stopped after %v, %d requests", took, len(m.asked()))
		}
		// An endless album does not hold the bot for ever.
		began = time.Now()
		for i := range 20 {
			c.send(t, picture(fmt.Sprint(i+1), "h", ""))
			time.Sleep(500 * time.Millisecond)
			if len(m.asked()) > 0 {
				break
			}
		}
		if took := time.Since(began); took > mostRest+time.Second {
			t.Errorf("the model was asked after %v", took)
		}
		settled(t, b)
		valid(t, s, sess)
	})
}

func TestInARoomAnAlbumComesWithTheCaptionThatNamesTheBot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s, m := pictures(3), newStore(t), &script{}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		send := func(id, sender, group string, addressed bool) {
			in := withFiles(inRoom(id, sender, "", addressed), channels.Attachment{ID: "p" + id, Kind: "image"})
			in.Group = group
			c.send(t, in)
		}
		send("0", "7", "g", true)
		send("1", "7", "g", false)
		send("2", "8", "g", false)
		send("2", "7", "other", false)
		settled(t, b)
		if reqs := m.asked(); len(reqs) != 1 || len(reqs[0].Messages) != 2 {
			t.Errorf("%d requests, the first of %d messages", len(reqs), len(reqs[0].Messages))
		}
	})
}
