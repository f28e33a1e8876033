package gateway

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"clawbot/channels"
)

func TestAThousandIdleConversationsCostNoGoroutine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, m := newChat("chat"), &script{otherwise: echo}
		b := start(t, Config{Store: newStore(t), Channels: []channels.Channel{c}, Model: m})
		c.send(t, direct("chat:first", "0", "hello"))
		settled(t, b)
		time.Sleep(time.Minute)
		before := runtime.NumGoroutine()
		for i := range 1000 {
			c.send(t, direct(fmt.Sprint("chat:", i), fmt.Sprint(i), "hello"))
		}
		settled(t, b)
		time.Sleep(time.Minute)
		if n := len(c.texts()); n != 1001 {
			t.Fatalf("%d answers", n)
		}
		if after := runtime.NumGoroutine(); after > before {
			t.Errorf("%d goroutines before, %d after", before, after)
		}
	})
}
