package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"clawbot/channels"
	"clawbot/store"
)

// Which other bots' messages are taken.
const (
	botsOff     = "off"
	botsMention = "mention"
	botsOpen    = "open"
)

// Two bots that answer each other never stop by themselves. So another bot may
// ask for so much in a room in a minute, and so often in a row while no person
// says anything there.
const (
	botMessages = 8
	botTurns    = 3
	// botRow is after how long without another bot a row of theirs is over.
	botRow       = 30 * time.Minute
	keptBotRooms = 1000
)

// places are where something can be shown.
var places = []string{"", "all", "direct", "rooms", "off"}

// shownIn reports whether a setting out of places holds in a conversation.
func shownIn(setting string, direct bool) bool {
	switch setting {
	case "off":
		return false
	case "direct":
		return direct
	case "rooms":
		return !direct
	}
	return true
}

// RoomAccess overrides [ChannelAccess] for one room; empty fields keep it.
type RoomAccess struct {
	GroupPolicy string
	AllowFrom   []string // ids of senders, beside the channel's
}

// inRoom puts what a room has differently into the rules.
func (c *Config) inRoom(rules *ChannelAccess, channel string, in *channels.Inbound) {
	if in.Target.Direct || len(c.Access.Rooms) == 0 {
		return
	}
	room, ok := c.Access.Rooms[channel+":"+in.Target.Chat]
	if !ok {
		room = c.Access.Rooms[platformOf(channel)+":"+in.Target.Chat]
	}
	if room.GroupPolicy != "" {
		rules.GroupPolicy = room.GroupPolicy
	}
	if len(room.AllowFrom) > 0 {
		rules.AllowFrom = append(slices.Clone(rules.AllowFrom), room.AllowFrom...)
	}
}

// minds reports whether a message of another bot is looked at.
func (c *Config) minds(in *channels.Inbound) bool {
	return (c.Access.Bots == botsMention || c.Access.Bots == botsOpen) && in.Sender.ID != ""
}

// tooYoung reports whether the sender's account is younger than it must be. Where
// the platform does not tell, nobody is.
func (c *Config) tooYoung(in *channels.Inbound) bool {
	least := c.Access.Rate.MinAccountAge
	return least > 0 && !in.Sender.Since.IsZero() && time.Since(in.Sender.Since) < least
}

func (c *Config) youngText(in *channels.Inbound) string {
	from := in.Sender.Since.Add(c.Access.Rate.MinAccountAge).UTC().Format("2 January 2006")
	return fmt.Sprintf("Your account is too young for me; from %s on I answer you. Whoever runs me can let you in before: by your id %q in `allow_from`, or by `min_account_age` of `[access.rate]`.", from, in.Sender.ID)
}

// robots counts what other bots asked for in a row, by room.
type robots struct {
	mu    sync.Mutex
	rooms map[string]robotRow
}

type robotRow struct {
	n    int
	last time.Time
}

// more counts a message of a bot and reports whether it is one too many.
func (r *robots) more(room string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rooms == nil || len(r.rooms) >= keptBotRooms {
		r.rooms = map[string]robotRow{}
	}
	row := r.rooms[room]
	now := time.Now()
	if now.Sub(row.last) > botRow {
		row.n = 0
	}
	row.n, row.last = row.n+1, now
	r.rooms[room] = row
	return row.n > botTurns
}

// person ends a row: somebody is there who can stop them.
func (r *robots) person(room string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.rooms, room)
}

// loops bounds what another bot may ask for. It is told why once a day: an
// answer to each message would be the loop.
func (h *host) loops(ctx context.Context, in *channels.Inbound) (bool, error) {
	room := h.channel.Name() + "\x00" + in.Target.Chat
	if !in.Sender.Bot {
		h.g.robots.person(room)
		return false, nil
	}
	if h.g.robots.more(room) {
		h.refuse(ctx, in, fmt.Sprintf("Other bots asked me %d times in a row here. I answer them again when a person has written to me, or after a pause.", botTurns))
		return true, nil
	}
	pair := keyPart(h.channel.Name()) + "/" + keyPart(in.Target.Chat) + "/" + keyPart(in.Sender.ID)
	keys := []store.CounterKey{{Key: "rate/bots/" + pair, Limit: botMessages, Window: rateWindow}}
	err := h.g.cfg.Store.Counters().Reserve(ctx, clipID("bot/"+pair+"/"+eventID(in)), 1, keys)
	if errors.Is(err, store.ErrLimit) {
		h.refuse(ctx, in, fmt.Sprintf("I take %d messages a minute from another bot, and leave what is more.", botMessages))
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("count a bot's message: %w", err)
	}
	return false, nil
}
