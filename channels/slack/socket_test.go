package slack

import (
	"fmt"
	"strings"
	"testing"

	"clawbot/channels/channeltest"
)

func TestADisconnectLosesNothingAndKeepsTheCount(t *testing.T) {
	for _, reason := range []string{"warning", "refresh_requested", "link_disabled", "a reason of next year"} {
		r := start(t)
		for round := range 3 {
			r.Disconnect(reason)
			r.SendText(anaDM, ana, fmt.Sprintf("round %d", round))
			r.next(fmt.Sprintf("round %d", round))
			r.must(r.WaitOpened(r.ctx, 2*(round+2)))
		}
		r.DropSockets(2)
		r.SendText(anaDM, ana, "after the cut")
		r.next("after the cut")
		r.settled()
		r.must(r.stop())
	}
}

func TestSocketModeThatIsSwitchedOffIsNamedUntilItIsBack(t *testing.T) {
	r := start(t)
	for i := range 50 { // longer than the test looks
		r.Fail("apps.connections.open", i+1, channeltest.Fault{Status: 503})
	}
	r.Disconnect("link_disabled")
	r.must(r.WaitCalls(r.ctx, "apps.connections.open", 5))
	if err := r.bot.Check(r.ctx); err == nil {
		t.Error("Check finds nothing wrong")
	}
	if !strings.Contains(r.log.String(), "link_disabled") {
		t.Error("the reason is not in the log")
	}
	r.must(r.WaitSockets(r.ctx, connections))
	r.SendText(anaDM, ana, "back again")
	r.next("back again")
	if err := r.bot.Check(r.ctx); err != nil {
		t.Error("the trouble is over, and still reported:", err)
	}
}

func TestASocketTooManyIsTriedAgain(t *testing.T) {
	r := newRig(t, channeltest.SlackConfig{}, Config{})
	r.Crowd(10)
	r.receive()
	r.must(r.WaitCalls(r.ctx, "apps.connections.open", 6))
	r.Crowd(0)
	r.must(r.WaitSockets(r.ctx, connections))
}
