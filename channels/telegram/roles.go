package telegram

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"clawbot/channels"
)

// The roles that this channel tells.
const (
	roleAdmin  = "admin"
	roleMember = "member"
)

const (
	adminsKept    = 10 * time.Minute
	adminsTimeout = 2 * time.Second
	adminChats    = 10_000
)

// adminCache knows the administrators of groups for a while.
type adminCache struct {
	mu    sync.Mutex
	chats map[string]adminList
}

type adminList struct {
	ids   map[string]bool
	until time.Time
}

// addRoles tells whether the sender of a message to the bot in a group is an
// administrator there. Telegram has to be asked for it, at most once in ten
// minutes a group; while it can't be, the sender is a member.
func (c *Channel) addRoles(ctx context.Context, in *channels.Inbound) {
	if in.Target.Direct || !in.Addressed || len(in.Sender.Roles) > 0 {
		return
	}
	in.Sender.Roles = []string{roleMember}
	if c.administrators(ctx, in.Target)[in.Sender.ID] {
		in.Sender.Roles = []string{roleAdmin}
	}
}

func (c *Channel) administrators(ctx context.Context, to channels.Target) map[string]bool {
	now := time.Now()
	c.admins.mu.Lock()
	known, ok := c.admins.chats[to.Chat]
	c.admins.mu.Unlock()
	if ok && now.Before(known.until) {
		return known.ids
	}
	var members []models.ChatMember
	err := c.call(ctx, adminsTimeout, &attempt{}, "getChatAdministrators", func(ctx context.Context) (err error) {
		members, err = c.api.GetChatAdministrators(ctx, &bot.GetChatAdministratorsParams{ChatID: c.chat(to)})
		return err
	})
	list := adminList{ids: known.ids, until: now.Add(adminsKept)}
	if err != nil {
		c.log.Debug("the administrators of a group are not known", "chat", to.Chat, "error", err)
		list.until = now.Add(time.Minute)
	} else {
		list.ids = adminIDs(members)
	}
	c.admins.mu.Lock()
	defer c.admins.mu.Unlock()
	if c.admins.chats == nil || len(c.admins.chats) >= adminChats {
		c.admins.chats = map[string]adminList{}
	}
	c.admins.chats[to.Chat] = list
	return list.ids
}

func adminIDs(members []models.ChatMember) map[string]bool {
	ids := map[string]bool{}
	for _, m := range members {
		switch {
		case m.Owner != nil && m.Owner.User != nil:
			ids[strconv.FormatInt(m.Owner.User.ID, 10)] = true
		case m.Administrator != nil:
			ids[strconv.FormatInt(m.Administrator.User.ID, 10)] = true
		}
	}
	return ids
}
