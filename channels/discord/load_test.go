package discord

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/channels"
	"clawbot/channels/channeltest"
	"clawbot/channels/reply"
	"clawbot/internal/redact"
)

// loaded runs a test in a bubble, with a bot on a fake that has its limits on and
// is called without a network.
func loaded(t *testing.T, run func(t *testing.T, fake *channeltest.Discord, bot *Channel)) {
	synctest.Test(t, func(t *testing.T) {
		fake := channeltest.NewDiscord(channeltest.DiscordConfig{RateLimits: true, InProcess: true})
		defer fake.Close()
		bot, err := New(Config{Token: redact.Secret(fake.Token()), APIURL: fake.URL()})
		if err != nil {
			t.Fatal(err)
		}
		bot.http.Transport.(*transport).next.RegisterProtocol("http", channeltest.Direct{Handler: fake})
		run(t, fake, bot)
	})
}

// load has a bot write many replies at once, each in a private channel, of n
// deltas, one a pause.
func load(t *testing.T, fake *channeltest.Discord, bot *Channel, replies, deltas int, pause time.Duration) (stats reply.Stats) {
	t.Helper()
	pacer := reply.NewPacer()
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		chats []string
	)
	for i := range replies {
		chat := fake.DM(fmt.Sprint(700000000000100000 + i))
		chats = append(chats, chat)
		to := channels.Target{Chat: chat, Direct: true, Conversation: "discord:@me:" + chat}
		r := reply.New(reply.Config{Channel: bot, Target: to, Pacer: pacer})
		wg.Go(func() { _ = r.Run(context.Background()) })
		wg.Go(func() {
			for j := range deltas {
				r.Write(fmt.Sprint("word", j, " "))
				time.Sleep(pause)
			}
			if err := r.Finish(context.Background()); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			s := r.Stats()
			stats.Posts, stats.Edits, stats.Refused = stats.Posts+s.Posts, stats.Edits+s.Edits, stats.Refused+s.Refused
		})
	}
	wg.Wait()
	for _, chat := range chats {
		var text strings.Builder
		for _, m := range fake.Messages(chat) {
			text.WriteString(m.Text + " ")
		}
		if got := len(strings.Fields(text.String())); got != deltas {
			t.Fatalf("channel %s shows %d of %d words", chat, got, deltas)
		}
	}
	return stats
}

func TestAThousandRepliesAtOnceKeepToDiscordsLimitsAfterTheFirstMinute(t *testing.T) {
	loaded(t, func(t *testing.T, fake *channeltest.Discord, bot *Channel) {
		start := time.Now()
		stats := load(t, fake, bot, 1000, 80, time.Second)
		late := map[string]int{}
		for _, c := range fake.Calls() {
			if c.Status == http.StatusTooManyRequests && c.At.Sub(start) > time.Minute {
				late[c.Method]++
			}
		}
		t.Logf("%s, %+v, %d refused", time.Since(start), stats, fake.Refused())
		if len(late) > 0 {
			t.Errorf("refused after the first minute: %v", late)
		}
	})
}

func TestAStreamedReplyCostsAtMostAsManyCallsAsThePaceAllows(t *testing.T) {
	loaded(t, func(t *testing.T, fake *channeltest.Discord, bot *Channel) {
		start := time.Now()
		stats := load(t, fake, bot, 1, 200, 50*time.Millisecond)
		took := time.Since(start)
		writes := len(fake.Calls("createMessage")) + len(fake.Calls("editMessage"))
		if most := int(took/(1200*time.Millisecond)) + 2; writes > most || fake.Refused() > 0 {
			t.Errorf("%d calls in %s, want at most %d; %d refused; %+v", writes, took, most, fake.Refused(), stats)
		}
	})
}
