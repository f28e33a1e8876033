package gateway

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/gateway/budget"
	"clawbot/store"
)

// sickChat is a chat that may be down.
type sickChat struct {
	openChat
	err *atomic.Pointer[error]
}

func newSickChat(name string) sickChat {
	return sickChat{newOpenChat(name), &atomic.Pointer[error]{}}
}

func (c sickChat) Health() error {
	if err := c.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (c sickChat) down(text string) { err := errors.New(text); c.err.Store(&err) }
func (c sickChat) up()              { c.err.Store(nil) }

// mail is what an owner was told in private.
func (c *chat) mail(user string) (texts []string) {
	for _, p := range c.letters(user) {
		texts = append(texts, p.text)
	}
	return texts
}

// alerting starts a bot with two channels and an owner on each.
func alerting(t *testing.T, s store.Store) (*bot, sickChat, sickChat) {
	one, two := newSickChat("one"), newSickChat("two")
	b := start(t, Config{Store: s, Channels: []channels.Channel{one, two}, Model: &script{otherwise: echo},
		Access: Access{Owners: []string{"one:7", "two:8"}}})
	<-one.ready
	<-two.ready
	return b, one, two
}

func TestOwnersAreToldOnceThatSomethingFailsAndOnceThatItIsOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		b1, one, two := alerting(t, s)
		b2, one2, _ := alerting(t, s)
		a := Alert{Key: "model/x", Text: "the key fails", Over: "it works"}
		for range 10 {
			b1.cfg.Alerts.Raise(a)
			b2.cfg.Alerts.Raise(a)
			time.Sleep(time.Minute)
		}
		told := slices.Concat(one.mail("7"), one2.mail("7"))
		if !slices.Equal(told, []string{"the key fails"}) {
			t.Fatalf("told: %q", told)
		}
		time.Sleep(time.Hour)
		b2.cfg.Alerts.Clear(a)
		b1.cfg.Alerts.Clear(a)
		time.Sleep(time.Hour)
		if told = slices.Concat(one.mail("7"), one2.mail("7")); len(told) != 2 || told[1] != "it works" && told[0] != "it works" {
			t.Errorf("told: %q", told)
		}
		if n := len(two.mail("8")); n > 2 {
			t.Errorf("the other owner: %d", n)
		}
		settled(t, b1, b2)
	})
}

func TestWhatComesAndGoesIsNoFlood(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		b, one, _ := alerting(t, s)
		a := Alert{Key: "model/x", Text: "fails", Over: "works"}
		for range 6 * 30 { // three hours, a change a minute
			b.cfg.Alerts.Raise(a)
			time.Sleep(30 * time.Second)
			b.cfg.Alerts.Clear(a)
			time.Sleep(30 * time.Second)
		}
		if n := len(one.mail("7")); n < 4 || n > 14 {
			t.Errorf("%d messages in three hours", n)
		}
		// What stays is told after all.
		b.cfg.Alerts.Raise(a)
		time.Sleep(time.Hour)
		if list := one.mail("7"); list[len(list)-1] != "fails" {
			t.Errorf("told last: %q", list[len(list)-1])
		}
	})
}

func TestAChannelThatIsDownForFiveMinutesIsToldOnAnother(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		_, one, two := alerting(t, s)
		one.down("the token was revoked")
		time.Sleep(4 * time.Minute)
		one.up()
		time.Sleep(2 * time.Minute)
		one.down("the token was revoked")
		time.Sleep(4*time.Minute + 30*time.Second)
		if n := len(two.mail("8")); n != 0 {
			t.Fatal("told of what was no five minutes")
		}
		time.Sleep(2 * time.Minute)
		if list := two.mail("8"); len(list) != 1 || !strings.Contains(list[0], "The channel `one` is down since") || !strings.Contains(list[0], "the token was revoked") {
			t.Errorf("told: %q", list)
		}
		time.Sleep(time.Hour)
		one.up()
		time.Sleep(2 * time.Minute)
		if list := two.mail("8"); len(list) != 2 || !strings.Contains(list[1], "works again") {
			t.Errorf("told: %q", list)
		}
		if n := len(one.mail("7")); n != 0 {
			t.Errorf("the channel that was down was written to %d times", n)
		}
	})
}

func TestWhatNobodyCouldBeToldIsToldLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		b, one, two := alerting(t, s)
		refuse := func(err error) {
			for _, c := range []sickChat{one, two} {
				c.mu.Lock()
				c.refuse = err
				c.mu.Unlock()
			}
		}
		refuse(errors.New("no network"))
		b.cfg.Alerts.Raise(Alert{Key: "disk/x", Text: "full", Over: "room", Local: true})
		time.Sleep(10 * time.Minute)
		refuse(nil)
		time.Sleep(2 * time.Minute)
		if list := one.mail("7"); !slices.Equal(list, []string{"full"}) {
			t.Errorf("told: %q", list)
		}
	})
}

func TestWhatADeadProcessNoticedIsEndedByAnother(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		b1, _, _ := alerting(t, s)
		b2, one, _ := alerting(t, s)
		a := Alert{Key: "disk/x", Text: "full", Over: "room", Local: true}
		b1.cfg.Alerts.Raise(a)
		b2.cfg.Alerts.Clear(a)
		look := func(minutes int) {
			for range minutes {
				time.Sleep(time.Minute)
				b2.cfg.Alerts.Clear(a)
			}
		}
		look(20)
		if n := len(one.mail("7")); n != 0 {
			t.Error("a process that sees nothing wrong ended what another sees")
		}
		if err := b1.stop(); err != nil {
			t.Fatal(err)
		}
		look(12)
		if list := one.mail("7"); !slices.Equal(list, []string{"room"}) {
			t.Errorf("told: %q", list)
		}
	})
}

func TestOwnersAreToldWhenTheDaysBudgetHasRoomAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStore(t)
		c := newOpenChat("chat")
		b, purse := spender(t, s, c.chat, budget.Limits{DailyUSD: 0.0001}, &script{otherwise: echo}, func(cfg *Config) {
			cfg.Channels = []channels.Channel{c}
		})
		c.send(t, from(direct("chat:5", "1", "work"), "5"))
		settled(t, b)
		time.Sleep(time.Hour)
		if list := c.mail("7"); len(list) != 1 || !strings.Contains(list[0], "a budget is reached") {
			t.Fatalf("told: %q", list)
		}
		if err := purse.SetLimits(budget.Limits{DailyUSD: 5}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if list := c.mail("7"); len(list) != 2 || !strings.Contains(list[1], "has room again") {
			t.Errorf("told: %q", list)
		}
		time.Sleep(48 * time.Hour)
		if n := len(c.mail("7")); n != 2 {
			t.Errorf("%d messages", n)
		}
	})
}
