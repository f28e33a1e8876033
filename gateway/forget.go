package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"clawbot/channels"
	"clawbot/gateway/memory"
	"clawbot/store"
)

// memory shows a person what is remembered about them, or forgets it. In a room
// it does neither: not every platform can show a notice to one person alone.
func (h *host) memory(ctx context.Context, in *channels.Inbound, args string) string {
	if !in.Target.Direct {
		return "I speak of what I remember about you in private only: send me `/memory` in a direct conversation."
	}
	user := userKey(h.channel.Name(), in.Sender.ID)
	verb, what, _ := strings.Cut(args, " ")
	what = strings.TrimSpace(what)
	switch strings.ToLower(verb) {
	case "":
		facts, err := h.g.book().List(ctx, user)
		if err != nil {
			return h.memoryFailed(err)
		}
		return listFacts(facts)
	case "delete", "forget":
	default:
		return "`/memory` shows what I remember about you, `/memory delete ID` forgets one fact, `/memory delete all` everything."
	}
	switch strings.ToLower(what) {
	case "":
		return "Which one? `/memory delete ID` forgets the fact with that id, `/memory delete all` everything."
	case "all":
		n, err := h.g.book().DeleteUser(ctx, user)
		if err != nil {
			return h.memoryFailed(err)
		}
		return fmt.Sprintf("Forgotten: %s. What we said stays in our conversations; `/new` begins a fresh one.", count(n, "fact"))
	}
	fact, err := h.g.book().Remove(ctx, user, what)
	switch {
	case errors.Is(err, memory.ErrUnknown):
		return fmt.Sprintf("I remember nothing with the id `%s`. `/memory` shows the ids.", clip(displayName(what), 40))
	case err != nil:
		return h.memoryFailed(err)
	}
	return "Forgotten: " + quoted(fact.Text)
}

func (h *host) memoryFailed(err error) string {
	h.log.Error("what is remembered about a person can't be read or changed", "err", err)
	return "That did not work: what I remember can't be read or changed now. My log says why; please try again."
}

// listFacts is the memory as its owner reads it.
func listFacts(facts []memory.Fact) string {
	if len(facts) == 0 {
		return "I remember nothing about you. Tell me what I should remember, in your own words."
	}
	var b strings.Builder
	total := 0
	b.WriteString("What I remember about you:\n")
	for _, f := range facts {
		total += len(f.Text)
		fmt.Fprintf(&b, "\n- `%s` %s (%s)", f.ID, quoted(f.Text), f.At.UTC().Format("2 January 2006"))
	}
	fmt.Fprintf(&b, "\n\n%s of %s bytes. `/memory delete ID` forgets one, `/memory delete all` everything.", thousands(int64(total)), thousands(memory.MaxTotal))
	return b.String()
}

// quoted shows a fact as it is written, not as Markdown.
func quoted(text string) string {
	return strings.NewReplacer("\\", "\\\\", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "]", "\\]", "<", "\\<", "#", "\\#", "~", "\\~", "|", "\\|").Replace(text)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// DeleteMemory forgets all that is remembered about a person and returns how
// many facts that were. The sender is as the channel names them.
func DeleteMemory(ctx context.Context, s store.Store, channel, sender string) (facts int, err error) {
	return memory.Book{State: s.State()}.DeleteUser(ctx, userKey(channel, sender))
}
