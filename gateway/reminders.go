package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"clawbot/channels"
	"clawbot/gateway/schedule"
	"clawbot/store"
	"clawbot/tools"
)

// Schedule implements [tools.Conversation].
func (c *conversation) Schedule(ctx context.Context, spec json.RawMessage) (json.RawMessage, error) {
	var req tools.ScheduleRequest
	if err := json.Unmarshal(spec, &req); err != nil {
		return nil, fmt.Errorf("what is to be scheduled can't be read: %w", err)
	}
	var answer string
	var err error
	switch req.Action {
	case "set":
		answer, err = c.setSchedule(ctx, &req)
	case "list":
		answer, err = c.listSchedules(ctx)
	case "cancel":
		answer, err = c.cancelSchedule(ctx, req.ID)
	default:
		err = fmt.Errorf("action %q is none of set, list and cancel", req.Action)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(tools.ScheduleAnswer{Text: answer})
}

func (c *conversation) setSchedule(ctx context.Context, req *tools.ScheduleRequest) (string, error) {
	g, who := c.host.g, c.env.r.who.setter()
	if who.Sender.ID == "" {
		return "", errors.New("nobody is known here for whom something could be scheduled")
	}
	now, least := time.Now(), g.config().Schedules.MinInterval
	it, err := schedule.Plan{Text: cleanText(req.Text), At: req.At, In: req.In, Cron: req.Cron, Zone: req.Zone}.Resolve(now, g.config().zone(), least)
	if err != nil {
		return "", err
	}
	if !who.asked && it.Cron == "" && it.Next.Sub(now) < least {
		return "", fmt.Errorf("a scheduled task may schedule something for %s from now at the earliest (schedules.min_interval)", least)
	}
	it.Channel, it.Target, it.Room = c.host.channel.Name(), c.to, c.env.room
	it.Sender, it.Role, it.With = who.Sender, who.role, who.with
	if it, err = g.agenda().Add(ctx, it); err != nil {
		return "", err
	}
	c.host.log.Info("something was scheduled", "session", it.Target.Conversation, "sender", it.Sender.ID, "schedule", it.ID, "cron", it.Cron, "next", it.Next)
	if c.env.r.told.Load() {
		// What was read may be what asks for it: the person sees that it was set,
		// whatever the answer says.
		c.host.notice(ctx, c.to, who.Sender, "⏰ Scheduled, after I had read something from outside: "+unmark.Replace(it.Line())+"\n\n`/schedules cancel "+it.ID+"` takes it back.")
	}
	g.lookAtSchedules()
	if err := g.cfg.Store.Bus().Publish(ctx, schedulesTopic, nil); err != nil {
		g.log.Debug("a hint was lost; other processes see the schedule a little later", "err", err)
	}
	return fmt.Sprintf("Set, with the id %s: %s. It is now %s.", it.ID, it.When(), it.Clock(now)), nil
}

// visible are the schedules that are shown in a conversation: in private those
// of the person, wherever they are, in a room those of the room.
func (h *host) visible(ctx context.Context, to channels.Target, sender string) ([]schedule.Item, error) {
	if to.Direct {
		return h.g.agenda().OfUser(ctx, h.channel.Name(), sender)
	}
	return h.g.agenda().OfConversation(ctx, to.Conversation)
}

func (c *conversation) listSchedules(ctx context.Context) (string, error) {
	items, err := c.host.visible(ctx, c.to, c.env.r.who.setter().Sender.ID)
	if err != nil {
		return "", err
	}
	if len(items) == 0 {
		return "Nothing is scheduled here.", nil
	}
	return scheduleLines(items, c.to.Direct), nil
}

func scheduleLines(items []schedule.Item, direct bool) string {
	var b strings.Builder
	for i := range items {
		b.WriteString("- " + unmark.Replace(items[i].Line()))
		if !direct {
			b.WriteString(" · for " + displayName(items[i].Sender.Name))
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (c *conversation) cancelSchedule(ctx context.Context, id string) (string, error) {
	who := c.env.r.who.setter()
	it, err := c.host.cancel(ctx, c.to, who.Sender.ID, id, who.role == RoleOwner)
	if err != nil {
		return "", err
	}
	return "Cancelled: " + it.Line(), nil
}

// Why nothing was cancelled.
var (
	errNoSchedule    = errors.New("nothing with that id is scheduled here: list what is")
	errNotTheirs     = errors.New("somebody else has set that: they can cancel it, whoever moderates this room with /schedules cancel, or my owner")
	errWhichSchedule = errors.New("say which: the id stands before each in the list")
)

// cancel removes a schedule for its person or, if all, for anybody.
func (h *host) cancel(ctx context.Context, to channels.Target, sender, id string, all bool) (schedule.Item, error) {
	id = strings.ToLower(strings.Trim(id, " `#"))
	if id == "" {
		return schedule.Item{}, errWhichSchedule
	}
	items, err := h.visible(ctx, to, sender)
	if err != nil {
		return schedule.Item{}, err
	}
	i := slices.IndexFunc(items, func(it schedule.Item) bool { return it.ID == id })
	if i < 0 {
		return schedule.Item{}, errNoSchedule
	}
	if items[i].Sender.ID != sender && !all {
		return schedule.Item{}, errNotTheirs
	}
	gone, ok, err := h.g.agenda().Remove(ctx, items[i].Channel, items[i].Sender.ID, id)
	if err == nil && !ok {
		err = errNoSchedule
	}
	if err == nil {
		h.log.Info("a schedule was cancelled", "session", gone.Target.Conversation, "by", sender, "schedule", id)
	}
	return gone, err
}

// schedules answers /schedules.
func (h *host) schedules(ctx context.Context, in *channels.Inbound, role, args string) string {
	what, id, _ := strings.Cut(args, " ")
	switch strings.ToLower(what) {
	case "":
		items, err := h.visible(ctx, in.Target, in.Sender.ID)
		if err != nil {
			return h.noSchedules(err)
		}
		if len(items) == 0 {
			return "Nothing is scheduled here. Ask me: \"remind me in 20 minutes to …\", \"every weekday at 9, …\"."
		}
		return scheduleLines(items, in.Target.Direct) + "\n\n`/schedules cancel ID` cancels one, `/schedules cancel all` yours."
	case "cancel", "delete", "remove":
		if strings.EqualFold(strings.TrimSpace(id), "all") {
			return h.cancelAll(ctx, in)
		}
		it, err := h.cancel(ctx, in.Target, in.Sender.ID, id, role == RoleOwner || moderates(in))
		switch {
		case errors.Is(err, errNoSchedule), errors.Is(err, errNotTheirs), errors.Is(err, errWhichSchedule):
			return "I cancelled nothing: " + err.Error() + "."
		case err != nil:
			return h.noSchedules(err)
		}
		return "Cancelled: " + unmark.Replace(it.Line())
	}
	return "`/schedules` lists what I am to do here later, `/schedules cancel ID` cancels one of it, `/schedules cancel all` all that you have set."
}

// cancelAll cancels what the sender has set: in private everything, in a room
// what they have there.
func (h *host) cancelAll(ctx context.Context, in *channels.Inbound) string {
	items, err := h.visible(ctx, in.Target, in.Sender.ID)
	n := 0
	for i := range items {
		if err != nil || items[i].Sender.ID != in.Sender.ID {
			continue
		}
		var ok bool
		if _, ok, err = h.g.agenda().Remove(ctx, h.channel.Name(), in.Sender.ID, items[i].ID); ok {
			n++
		}
	}
	if err != nil {
		return h.noSchedules(err)
	}
	return fmt.Sprintf("Cancelled all that you had scheduled here: %d.", n)
}

func (h *host) noSchedules(err error) string {
	h.log.Error("schedules can't be read or changed", "err", err)
	return "That did not work: the store does not answer. Please try again."
}

// setter is for whom something is scheduled in a run: whoever has the fewest
// rights in it, and the others that limit them.
type setter struct {
	channels.Sender
	role string
	with []channels.Sender
	// asked is set if a person's own message is in the run.
	asked bool
}

// zone is the time zone of people who name none.
func (c *Config) zone() *time.Location {
	if c.Agent.Zone != nil {
		return c.Agent.Zone
	}
	return schedule.HostZone()
}

// deleteSchedules removes what is scheduled in a session that is deleted.
func deleteSchedules(ctx context.Context, s store.Store, session string) error {
	_, err := schedule.Book{State: s.State()}.DeleteConversation(ctx, session)
	return err
}
