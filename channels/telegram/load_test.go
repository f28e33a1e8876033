package telegram

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
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

// load has a bot write many replies at once to a fake with its limits on. Each
// is n deltas, one a pause.
func load(t *testing.T, fake *channeltest.Telegram, bot *Channel, replies, deltas int, pause time.Duration) (start time.Time, stats reply.Stats) {
	t.Helper()
	start = time.Now()
	pacer := reply.NewPacer()
	var (
		wg sync.WaitGroup
		mu sync.Mutex
	)
	for i := range replies {
		chat := int64(1000 + i)
		fake.AddChat(chat, channeltest.ChatOptions{})
		to := channels.Target{Chat: strconv.FormatInt(chat, 10), Direct: true, Conversation: fmt.Sprint("telegram:4711:", chat)}
		r := reply.New(reply.Config{Channel: bot, Target: to, Pacer: pacer})
		wg.Go(func() { _ = r.Run(context.Background()) })
		wg.Go(func() {
			for j := range deltas {
				r.Write("word" + strconv.Itoa(j) + " ")
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
	for i := range replies {
		var text strings.Builder
		for _, m := range fake.Messages(int64(1000 + i)) {
			text.WriteString(m.Text + " ")
		}
		if got := len(strings.Fields(text.String())); got != deltas {
			t.Fatalf("chat %d shows %d of %d words", i, got, deltas)
		}
	}
	return start, stats
}

// loaded runs a test in a bubble, with a bot on a fake that has its limits on and
// is called without a network.
func loaded(t *testing.T, cfg Config, run func(t *testing.T, fake *channeltest.Telegram, bot *Channel)) {
	synctest.Test(t, func(t *testing.T) {
		fake := channeltest.NewTelegram(channeltest.TelegramConfig{RateLimits: true, InProcess: true})
		defer fake.Close()
		cfg.Token, cfg.APIURL = redact.Secret(fake.Token()), fake.URL()
		bot, err := newChannel(cfg)
		if err != nil {
			t.Fatal(err)
		}
		bot.http.Transport = channeltest.Direct{Handler: fake}
		run(t, fake, bot)
	})
}

func TestAThousandRepliesAtOnceKeepToTelegramsLimitsAfterTheFirstMinute(t *testing.T) {
	for drafts, replies := range map[bool]int{false: 1000, true: 200} {
		loaded(t, Config{Drafts: drafts}, func(t *testing.T, fake *channeltest.Telegram, bot *Channel) {
			start, stats := load(t, fake, bot, replies, 80, time.Second)
			late := map[string]int{}
			for _, c := range fake.Calls() {
				if c.Status == http.StatusTooManyRequests && c.At.Sub(start) > time.Minute {
					late[c.Method]++
				}
			}
			t.Logf("drafts %v: %s, %+v, %d refused", drafts, time.Since(start), stats, fake.Refused())
			if len(late) > 0 {
				t.Errorf("refused after the first minute: %v", late)
			}
		})
	}
}

func TestAStreamedReplyCostsAtMostAsManyCallsAsThePaceAllows(t *testing.T) {
	for _, drafts := range []bool{false, true} {
		loaded(t, Config{Drafts: drafts}, func(t *testing.T, fake *channeltest.Telegram, bot *Channel) {
			start, stats := load(t, fake, bot, 1, 200, 50*time.Millisecond)
			took := time.Since(start)
			writes := 0
			for _, c := range fake.Calls() {
				if c.Method != "sendChatAction" {
					writes++
				}
			}
			if most := int(took/time.Second) + 2; writes > most || fake.Refused() > 0 {
				t.Errorf("drafts %v: %d calls in %s, want at most %d; %d refused; %+v", drafts, writes, took, most, fake.Refused(), stats)
			}
		})
	}
}

func TestRefusalsOfSeveralChatsAreTheBotsOwnLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f floods
		for i, c := range []struct {
			chat  any
			after time.Duration
			want  bool
		}{{int64(1), 0, false}, {int64(1), time.Second, false}, {int64(2), time.Second, true}, {int64(1), 2 * floodRow, false}} {
			time.Sleep(c.after)
			if got := f.another(c.chat, time.Now()); got != c.want {
				t.Errorf("refusal %d: %v", i, got)
			}
		}
		if !f.busy(time.Now()) {
			t.Error("a bot at its limit is not busy")
		}
		time.Sleep(floodMemory)
		if f.busy(time.Now()) {
			t.Error("a bot is busy for ever")
		}
	})
}
