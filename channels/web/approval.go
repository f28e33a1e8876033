package web

import "clawbot/channels"

// approval turns a question for an approval into a notice with buttons, which
// pages that come later get too. While it waits it is told again and again, for
// hints may be lost. h.mu is held.
func (h *hub) approval(ev *channels.LiveEvent) {
	a := ev.Approval
	if a == nil || a.ID == "" {
		return // not from this program
	}
	n := notice{ID: "approval-" + a.ID, At: ev.At, Text: ev.Text, Position: h.tail}
	if a.State == "pending" {
		n.Buttons = [][]noticeButton{{
			{Label: "Approve", Data: "approve:" + a.ID, Style: "primary"},
			{Label: "Deny", Data: "deny:" + a.ID, Style: "danger"},
		}}
		if a.Always {
			n.Buttons[0] = append(n.Buttons[0], noticeButton{Label: "Always allow this", Data: "always:" + a.ID})
		}
	}
	for _, known := range h.notices {
		if known.ID == n.ID && known.Text == n.Text {
			return
		}
	}
	h.keep(&n)
	h.broadcast("notice", n)
}
