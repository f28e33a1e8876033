package e2e

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

var scheduleID = regexp.MustCompile(`with the id ([a-z0-9]{6})`)

// secretary is a model that schedules what it is told to: what stands behind
// "schedule " are the arguments. A scheduled task is answered with its text.
func secretary(_ context.Context, req *modeltest.Request) modeltest.Turn {
	if last := req.Last(); last.Role == "tool" {
		return modeltest.Say("result: " + last.Text)
	}
	text := req.LastUser()
	if task, ok := strings.CutPrefix(text, "⟦scheduled task "); ok {
		return modeltest.Say("Reminder: " + strings.Split(task, "\n")[1])
	}
	if _, args, ok := strings.Cut(text, "schedule "); ok {
		return modeltest.Use("schedule", args)
	}
	return modeltest.Say("heard: " + text)
}

// said waits until that many messages contain text.
func said(text string, times int) func([]channeltest.SentMessage) bool {
	return func(messages []channeltest.SentMessage) bool {
		n := 0
		for _, m := range messages {
			if strings.Contains(m.Text, text) {
				n++
			}
		}
		return n >= times
	}
}

func TestAReminderIsSetListedDeliveredAndCancelledThroughAChat(t *testing.T) {
	w := newWorld(t, options{script: secretary})
	w.say(`schedule {"action":"set","text":"drink water","in":"1s"}`)
	w.saying("Set, with the id")
	w.saying("Reminder: drink water")
	requests := w.model.Requests()
	if last := requests[len(requests)-1].LastUser(); !strings.Contains(last, "set by the user on") || !strings.Contains(last, "It is due now; nobody has written⟧\ndrink water\n⟦") {
		t.Errorf("the agent was shown %q", last)
	}

	w.say(`schedule {"action":"set","text":"write the weekly report","cron":"0 9 * * fri","zone":"Europe/Berlin"}`)
	id := scheduleID.FindStringSubmatch(w.saying("0 9 * * fri, next Fri"))[1]
	w.say("/schedules")
	if list := w.saying("/schedules cancel ID"); !strings.Contains(list, id) || !strings.Contains(list, "write the weekly report") || !strings.Contains(list, "09:00 (Europe/Berlin)") || strings.Contains(list, "drink") {
		t.Errorf("the list is %q", list)
	}
	w.say(`schedule {"action":"list"}`)
	w.wait(said(id, 3))
	w.say(`schedule {"action":"cancel","id":"` + id + `"}`)
	w.saying("result: Cancelled: " + id)
	w.say("/schedules")
	w.saying("Nothing is scheduled here")

	for _, refused := range []struct{ args, reason string }{
		{`{"action":"set","text":"x","at":"2020-01-01T09:00","zone":"UTC"}`, "has passed: it is"},
		{`{"action":"set","text":"x","cron":"* * * * *"}`, "schedules.min_interval"},
		{`{"action":"set","text":"x","cron":"*/5 * * * * *"}`, "seconds and years can't be given"},
		{`{"action":"set","text":"x","in":"1h","zone":"Berlin"}`, `did you mean "Europe/Berlin"?`},
		{`{"action":"set","text":"x","in":"1h","room":"-100"}`, "must be asked for there"},
		{`{"action":"set","text":" ","in":"1h"}`, "say in text"},
		{`{"action":"set","text":"x"}`, "exactly one of"},
	} {
		w.say("schedule " + refused.args)
		w.saying(refused.reason)
	}
	if n := w.answers("Reminder: drink water"); n != 1 {
		t.Errorf("it came %d times", n)
	}
}

func TestAReminderThatWasDueWhileTheBotWasDeadComesOnce(t *testing.T) {
	w := newWorld(t, options{script: secretary})
	due := time.Now().Add(2 * time.Second).UTC().Truncate(time.Second)
	w.say(fmt.Sprintf(`schedule {"action":"set","text":"drink water","at":"%s"}`, due.Format(time.RFC3339)))
	w.saying("Set, with the id")
	w.bot.waitLog("run finished") // a final that was just sent is sent again
	w.bot.kill()
	<-time.After(time.Until(due) + 10*time.Millisecond)
	w.start()
	w.saying("Reminder: drink water")
	w.bot.waitLog("run finished")
	w.restart()
	w.say("still there?")
	w.answer("heard: still there?")
	if n := w.answers("Reminder: drink water"); n != 1 {
		t.Errorf("it came %d times:\n%s", n, transcript(w.telegram.Messages(ana)))
	}
	w.say("/schedules")
	w.saying("Nothing is scheduled here")
}

// TestAReminderThatIsDueAsAReplicaIsKilledComesOnce kills one of two replicas
// right before, at and after the moment, be it the one that takes care of it or
// not. What the model answers is held back until then, so that nobody can be
// killed between a message and knowing that it was sent.
func TestAReminderThatIsDueAsAReplicaIsKilledComesOnce(t *testing.T) {
	var hold atomic.Value // of chan struct{}
	f := newFleet(t, 2, "webhook", func(ctx context.Context, req *modeltest.Request) modeltest.Turn {
		turn := secretary(ctx, req)
		if strings.Contains(req.LastUser(), "⟦scheduled task ") {
			turn.Hold = hold.Load().(chan struct{})
		}
		return turn
	})
	f.waitReady(http.StatusOK, "")
	for round := range 6 {
		held := make(chan struct{})
		hold.Store(held)
		victim := round % 2
		due := time.Now().Add(2 * time.Second).UTC().Truncate(time.Second)
		f.say(fmt.Sprintf(`schedule {"action":"set","text":"glass number #%d.","at":"%s"}`, round, due.Format(time.RFC3339)))
		f.wait(said("Set, with the id", round+1))
		<-time.After(time.Until(due) + time.Duration(round/2*15-10)*time.Millisecond)
		f.down(victim).kill()
		close(held)
		want := fmt.Sprintf("Reminder: glass number #%d.", round)
		f.saying(want)
		f.startReplica(victim)
		f.waitReady(http.StatusOK, "")
		f.say(fmt.Sprintf("hello %d", round))
		f.answer(fmt.Sprintf("heard: hello %d", round))
		if n := f.answers(want); n != 1 {
			t.Fatalf("round %d: it came %d times:\n%s\n%s", round, n, transcript(f.telegram.Messages(ana)), f.logs())
		}
	}
	requests, occurrences := f.model.Requests(), 0
	for _, m := range requests[len(requests)-1].Messages {
		occurrences += strings.Count(m.Text, "⟦scheduled task ")
	}
	if occurrences != 6 {
		t.Errorf("%d occurrences entered the conversation, want 6", occurrences)
	}
}

func TestOnDiscordAReminderComesInTheThreadWhereItWasSetAlsoAfterARestart(t *testing.T) {
	s := newServer(t, secretary, channeltest.DiscordConfig{RateLimits: true}, "")
	thread := s.SendText(lobby, eve, s.at(`schedule {"action":"set","text":"take the bread out","in":"1s"}`))
	s.saying(thread, "Set, with the id")
	s.saying(thread, "Reminder: take the bread out")
	due := time.Now().Add(3 * time.Second).UTC()
	s.SendText(thread, eve, s.at(fmt.Sprintf(`schedule {"action":"set","text":"let it cool","at":"%s"}`, due.Format(time.RFC3339))))
	s.saying(thread, due.Truncate(time.Second).Format("15:04:05"))
	must(t, s.bot.stop())
	<-time.After(time.Until(due))
	s.start()
	s.saying(thread, "Reminder: let it cool")
	for _, m := range s.Messages(lobby) {
		if strings.Contains(m.Text, "Reminder") {
			t.Errorf("in the room itself: %q", m.Text)
		}
	}
	if requests := s.model.Requests(); !requests[len(requests)-1].Mentions("Begin with their name, Eve⟧") {
		t.Errorf("the agent was shown %q", requests[len(requests)-1].LastUser())
	}
}

func TestOnSlackAReminderComesInTheThreadWhereItWasSetAndAGuestHasNone(t *testing.T) {
	w := newSlackWorld(t, secretary, "")
	root := w.mention(`schedule {"action":"set","text":"take the bread out","in":"1s"}`)
	w.saying(lounge, "Set, with the id")
	if m := w.saying(lounge, "Reminder: take the bread out"); m.Thread != root {
		t.Errorf("it came in thread %q, not %q", m.Thread, root)
	}
	// The tool is the owner's in rooms.
	w.slack.SendText(lounge, tom, w.slack.Mention()+` schedule {"action":"set","text":"x","in":"1s"}`)
	w.saying(lounge, "not found")
}
