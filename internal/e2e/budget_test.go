package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
	"clawbot/store/redis"
)

// A token of an answer costs a millionth of a dollar, and answers may have 8192.
const priced = `[providers.test.models."scripted-1"]
price = { input = 0, output = 1 }
[budget]
`

// spending is a model whose every answer takes so many tokens.
func spending(tokens int64) modeltest.Script {
	return func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		turn := modeltest.Say("answer to " + number(req.LastUser()))
		turn.Usage = modeltest.Usage{Input: 100, Output: min(tokens, req.MaxTokens)}
		return turn
	}
}

// sayingTo waits for a message of the bot in a chat that contains all texts.
func (w *world) sayingTo(chat int64, texts ...string) {
	w.t.Helper()
	w.waitIn(chat, func(messages []channeltest.SentMessage) bool {
		for _, m := range messages {
			all := true
			for _, text := range texts {
				all = all && strings.Contains(m.Text, text)
			}
			if all {
				return true
			}
		}
		return false
	})
}

func TestABudgetIsReachedToldAndRaised(t *testing.T) {
	w := newWorld(t, options{config: priced + "daily_usd = 0.0185\nuser_usd = 5\n", script: spending(6000)})
	ask := func(text string) { w.telegram.SendText(ben, ben, text) }
	for i := range 3 {
		ask(fmt.Sprintf("question #%d.", i))
		w.sayingTo(ben, fmt.Sprintf("answer to #%d.", i))
	}
	w.sayingTo(ben, "$0.018 of $0.0185 of today's budget for everybody are used (97 %)", "00:00 UTC")
	w.sayingTo(ana, "today's budget for everybody are used (97 %)", "/budget")
	ask("question #3.")
	w.sayingTo(ben, "Today's budget of $0.0185 for everybody is reached: $0.018 are spent", "00:00 UTC", "/budget raise day", "Nothing is lost")
	w.sayingTo(ana, "I did not answer telegram:2 whole", "is reached")
	if n := w.model.Count(); n != 3 {
		t.Errorf("the model was asked %d times", n)
	}

	ask("/budget raise day 1")
	w.sayingTo(ben, "Only my owner can do that")
	ask("/usage")
	w.sayingTo(ben, "This conversation: 300 tokens in, 18,000 out, 3 model calls.", "You today: $0.018, 18,300 tokens in 3 model calls", "for everybody today: $0.018 of $0.0185", "for telegram:2 today: $0.018 of $5.00")
	for _, bad := range []string{"0", "-3", "NaN", "much"} {
		w.say("/budget raise day " + bad)
		w.sayingTo(ana, "no amount", bad)
	}
	w.say("/budget raise day 0.01")
	w.sayingTo(ana, "Raised for everybody today: $0.018 of $0.0285 (raised by $0.01)")

	// The raise and what was spent outlive the process.
	must(t, w.bot.stop())
	w.start()
	ask("go on with #4.")
	w.sayingTo(ben, "answer to #4.")
	requests := w.model.Requests()
	if last := requests[len(requests)-1]; !last.Mentions("question #3.") {
		t.Errorf("what could not be answered is lost: %+v", last.Messages)
	}
	w.say("/usage")
	w.sayingTo(ana, "You today: nothing", "Everybody today: $0.024, 24,400 tokens in 4 model calls", "test/scripted-1: $0.024")
	if out := w.cli("sessions", "show", "telegram:4711:2"); !strings.Contains(out, "$0.006") || !strings.Contains(out, "$0.024") {
		t.Errorf("the costs are not shown:\n%s", out)
	}
	if _, metrics := w.bot.get("/metrics"); !strings.Contains(metrics, `clawbot_cost_usd_total{model="test/scripted-1"} 0.006`) {
		t.Errorf("the metrics do not have the cost since the start")
	}
}

func TestAPersonsAndAConversationsBudgetBindOnlyThem(t *testing.T) {
	w := newWorld(t, options{config: priced + "session_usd = 0.009\nuser_usd = 0.017\n", script: spending(8192)})
	ask := func(text string) { w.telegram.SendText(ben, ben, text) }
	ask("question #0.")
	w.sayingTo(ben, "answer to #0.")
	ask("question #1.")
	w.sayingTo(ben, "The budget of $0.009 for this conversation is reached", "/new", "/budget raise conversation")
	ask("/new")
	ask("question #2.")
	w.sayingTo(ben, "answer to #2.")
	ask("/new")
	ask("question #3.")
	w.sayingTo(ben, "Today's budget of $0.017 for telegram:2 is reached", "/budget raise telegram:2")
	w.say("question #4.")
	w.sayingTo(ana, "answer to #4.")
	w.say("/budget raise telegram:2 1")
	w.sayingTo(ana, "Raised for telegram:2 today: $0.0164 of $1.02 (raised by $1.00)")
	ask("question #5.")
	w.sayingTo(ben, "answer to #5.")
}

func TestAModelWhosePriceIsUnknownIsNotAskedWhileThereIsACap(t *testing.T) {
	w := newWorld(t, options{config: "[budget]\ndaily_usd = 5\n", script: spending(10)})
	w.bot.waitLog(`set price = { input = …, output = … } in [providers.test.models.\"scripted-1\"]`)
	w.say("question #0.")
	w.saying(`what the model test/scripted-1 costs is not known`)
	if n := w.model.Count(); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	if out := w.cli("config", "check"); !strings.Contains(out, "its price is not known") {
		t.Errorf("config check says\n%s", out)
	}
}

func TestARunIsEndedByItsTokens(t *testing.T) {
	var taken atomic.Int64
	w := newWorld(t, options{config: "[budget]\nrun_tokens = 30000\n", script: func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		turn := modeltest.Use("list_dir", `{}`)
		if strings.Contains(req.LastUser(), "#1.") {
			turn = modeltest.Say("answer to #1.")
		}
		turn.Usage = modeltest.Usage{Input: 2000, Output: min(5000, req.MaxTokens)}
		taken.Add(turn.Usage.Input + turn.Usage.Output)
		return turn
	}})
	w.say("question #0.")
	w.saying("This answer has used up its 30,000 tokens")
	if n := taken.Load(); n > 30_000 || n < 20_000 {
		t.Errorf("%d tokens were taken in %d calls", n, w.model.Count())
	}
	w.say("question #1.")
	w.saying("answer to #1.")
}

func TestAKilledReplicasCallStaysCountedAndTheCapIsNotPassed(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	f := newFleet(t, 2, "webhook", func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		turn := spending(5000)(nil, req)
		if strings.Contains(req.LastUser(), "#4.") {
			turn.Hold = hold
		}
		return turn
	})
	file := filepath.Join(f.dir, "clawbot.toml")
	config, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, append(config, priced+"daily_usd = 0.029\n"...), 0o600))
	for i := range f.bots {
		must(t, f.down(i).stop())
		f.startReplica(i)
	}
	spent := func() int64 {
		s, err := redis.Open(f.ctx, redis.Config{URL: f.redis.URL(), Prefix: "clawbot"})
		must(t, err)
		defer s.Close()
		sum, err := s.Counters().Sum(f.ctx, "budget/day/"+time.Now().UTC().Format(time.DateOnly))
		must(t, err)
		return sum / 1000 // in tokens
	}
	for i := range 4 {
		f.via(i % 2)
		f.say(fmt.Sprintf("question #%d.", i))
		f.saying(fmt.Sprintf("answer to #%d.", i))
		f.nextRequest()
	}
	if n := spent(); n != 20_000 {
		t.Fatalf("%d tokens are counted, want 20000", n)
	}
	f.via(0)
	before := f.runs()
	f.say("question #4.")
	f.nextRequest()
	runner := f.newRunner(before) // the other one, if it has not let go of the conversation yet
	if n := spent(); n != 28_192 {
		t.Errorf("with a call in flight %d tokens are counted", n)
	}
	f.via(1 - runner)
	f.down(runner).kill()
	f.saying("Today's budget of $0.029 for everybody is reached: $0.0282 are spent")
	if n := spent(); n != 28_192 {
		t.Errorf("after the kill %d tokens are counted", n)
	}
	if n := f.model.Count(); n != 5 {
		t.Errorf("the model was asked %d times", n)
	}
	f.say("/budget raise day 1")
	f.saying("Raised for everybody today")
	f.say("go on with #5.")
	f.saying("answer to #5.")
}
