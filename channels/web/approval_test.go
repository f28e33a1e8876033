package web

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"clawbot/channels"
)

func TestAQuestionIsANoticeWithButtonsUntilItIsDecided(t *testing.T) {
	h := &hub{session: "web:c", epoch: "e", clients: map[*client]struct{}{}, tail: 4, used: time.Now()}
	tell := func(ev channels.LiveEvent) {
		t.Helper()
		data, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		h.onLive("", data)
	}
	asks := channels.LiveEvent{Type: "approval", At: time.Now(), Text: "may I?", Approval: &channels.LiveApproval{ID: "abc", State: "pending", Always: true}}
	tell(asks)
	asks.At = asks.At.Add(time.Second)
	tell(asks)
	if len(h.notices) != 1 || len(h.ring) != 1 {
		t.Fatalf("%d notices, %d frames", len(h.notices), len(h.ring))
	}
	snapshot := string(h.snapshot())
	for _, want := range []string{`"may I?"`, `"approve:abc"`, `"deny:abc"`, `"always:abc"`} {
		if !strings.Contains(snapshot, want) {
			t.Errorf("snapshot lacks %s: %s", want, snapshot)
		}
	}
	tell(channels.LiveEvent{Type: "approval", Text: "approved", Approval: &channels.LiveApproval{ID: "abc", State: "approve"}})
	if len(h.notices) != 1 || len(h.notices[0].Buttons) != 0 || h.notices[0].Text != "approved" {
		t.Errorf("notices: %+v", h.notices)
	}
	tell(channels.LiveEvent{Type: "approval"})
	if h.run != nil {
		t.Error("a question opened a run")
	}
}
