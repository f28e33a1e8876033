package gateway

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"clawbot/agentcore"
	"clawbot/channels"
)

func TestANewConfigurationHoldsForWhatComesNextAndAWrongOneChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		cfg := Config{Store: s, Channels: []channels.Channel{c}, Model: &script{otherwise: func(*agentcore.Request) step { return say("old") }},
			Access: Access{DMPolicy: dmAllowlist}}
		b := start(t, cfg)
		ask := func(id, want string) {
			t.Helper()
			c.send(t, direct(sess, id, "hello"))
			settled(t, b)
			texts := c.texts()
			if got := strings.Join(texts, "|"); want == "" && len(texts) > 0 && !strings.HasSuffix(got, "old") && !strings.Contains(got, "owner") || want != "" && !strings.HasSuffix(got, want) {
				t.Errorf("message %s was answered %q, want %q", id, got, want)
			}
		}
		ask("1", "")
		next := Config{Model: cfg.Model, Access: Access{DMPolicy: dmAllowlist, Owners: []string{"chat:7"}}}
		if err := b.Reconfigure(next); err != nil {
			t.Fatal(err)
		}
		ask("2", "old")
		next.Model = &script{otherwise: func(*agentcore.Request) step { return say("new") }}
		next.Agents = map[string]Profile{"other": {}}
		next.Routes = []Route{{Agent: "nobody"}}
		if err := b.Reconfigure(next); err == nil {
			t.Error("a route to nobody was taken")
		}
		ask("3", "old")
		next.Routes[0].Agent = "other"
		if err := b.Reconfigure(next); err != nil {
			t.Fatal(err)
		}
		ask("4", "new")
		if err := b.Reconfigure(Config{Access: next.Access}); err == nil {
			t.Error("a configuration without a model was taken")
		}
		ask("5", "new")
	})
}

func TestConfigurationsChangeWhileManyAreAnswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		model := &script{otherwise: echo}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: model})
		<-c.ready
		var group sync.WaitGroup
		group.Go(func() {
			for i := range 50 {
				next := Config{Model: model, Access: Access{DMPolicy: dmOpen, Owners: []string{fmt.Sprint("chat:", i)}},
					Queue: Queue{Cap: 5 + i}, Agents: map[string]Profile{fmt.Sprint("a", i): {Agent: Agent{Name: "x"}}}}
				if err := b.Reconfigure(next); err != nil {
					t.Error(err)
				}
			}
		})
		for i := range 20 {
			session := fmt.Sprintf("chat:%d", i)
			group.Go(func() {
				for j := range 5 {
					if err := c.host.Accept(t.Context(), direct(session, fmt.Sprint(j), "hello")); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		settled(t, b)
		for i := range 20 {
			valid(t, s, fmt.Sprintf("chat:%d", i))
		}
	})
}
