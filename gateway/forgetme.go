package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"clawbot/channels"
	"clawbot/gateway/schedule"
	"clawbot/store"
)

// keptForYou is [Kept] as the person themselves reads it.
const keptForYou = "What stays: what you wrote in rooms, which is part of other people's conversations, until my owner deletes those; " +
	"sums of what models cost, without your name; files in the workspace; the audit log, the program's log and backups of whoever runs me. " +
	"Messages in this chat are the platform's: you can delete them yourself."

// forgetMe shows a person what would be deleted, and has it deleted once they
// have said so.
func (h *host) forgetMe(ctx context.Context, in *channels.Inbound, args string) string {
	if !in.Target.Direct || in.Sender.ID == "" {
		return "I do that in private only: send me `/forgetme` in a direct conversation."
	}
	s, name := h.g.cfg.Store, h.channel.Name()
	if strings.EqualFold(strings.Trim(args, "`*_\"'!. "), "yes") {
		to := in.Target
		err := RequestErasure(ctx, s, Erasure{Channel: name, Sender: in.Sender.ID, By: name + ":" + in.Sender.ID, Tell: &to})
		if err != nil {
			return h.notErased(err)
		}
		h.log.Info("a person asks to be forgotten", "sender", in.Sender.ID)
		return "I am deleting it, and end what I am doing for you in private. I tell you when it is done, and what it was."
	}
	if args != "" {
		return "`/forgetme` shows what I would delete, `/forgetme yes` deletes it."
	}
	user := userKey(name, in.Sender.ID)
	sessions, err := SessionsOf(ctx, s, user)
	facts, err2 := h.g.book().List(ctx, user)
	items, err3 := schedule.Book{State: s.State()}.OfUser(ctx, name, in.Sender.ID)
	if err := errors.Join(err, err2, err3); err != nil && !errors.Is(err, store.ErrNotFound) {
		return h.notErased(err)
	}
	return fmt.Sprintf("This would delete what I keep about you, on every machine that I run on: %s with their files, %s that I remember, %s, your name in what models cost, "+
		"and that you were let in. It can't be brought back.\n\n%s\n\n**Send `/forgetme yes` to delete it.**",
		count(len(sessions), "direct conversation"), count(len(facts), "fact"), count(len(items), "scheduled task"), keptForYou)
}

func (h *host) notErased(err error) string {
	h.log.Error("what is kept about a person can't be read or deleted", "err", err)
	return "That did not work: the store can't be read or written now, and nothing was deleted. Please try again."
}
