package discord

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"clawbot/channels"
)

var (
	errToken = errors.New("discord refuses the bot's token: it was reset or is mistyped; " +
		"get a new one at https://discord.com/developers/applications, page Bot, \"Reset Token\", and set channels.discord.token or DISCORD_BOT_TOKEN")
	errIntent = errors.New("discord refuses the intent \"Message Content\", without which the bot can't read what people write: " +
		"switch on \"Message Content Intent\" at https://discord.com/developers/applications, page Bot, \"Privileged Gateway Intents\", and start the bot again")
)

func unreachable(err error) error {
	return fmt.Errorf("discord can't be reached: %w; check the network, channels.discord.api_url and channels.discord.proxy", err)
}

// fatalClose says what no new connection mends, see
// https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes.
func fatalClose(err error) error {
	e, ok := errors.AsType[*websocket.CloseError](err)
	if !ok {
		return nil
	}
	switch e.Code {
	case 4004:
		return errToken
	case 4010:
		return errors.New("discord refuses the shard: remove channels.discord.shards, so that Discord is asked how many there are to be")
	case 4011:
		return errors.New("the bot is in too many servers for one connection: remove channels.discord.shards, so that Discord is asked how many there are to be")
	case 4012:
		return errors.New("discord does not know this version of its gateway any more: use a newer version of this program")
	case 4013:
		return errors.New("discord does not know the intents that are asked for: use a newer version of this program")
	case 4014:
		return errIntent
	}
	return nil
}

// health is the last known trouble of receiving.
type health struct {
	mu  sync.Mutex
	err error
}

func (h *health) set(err error) { h.mu.Lock(); h.err = err; h.mu.Unlock() }
func (h *health) clear()        { h.set(nil) }

func (h *health) get() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// applicationInfo is what the developer portal says of the bot.
type applicationInfo struct {
	ID    string `json:"id"`
	Flags int64  `json:"flags"`
}

// The flags of applications that may read messages: of verified bots, and of
// those in few servers.
const messageContentFlags = 1<<18 | 1<<19

func (c *Channel) getApplication(ctx context.Context) (applicationInfo, error) {
	var app applicationInfo
	err := c.call(ctx, request{op: "application", method: "GET", address: discordgo.EndpointApplication("@me")}, &app)
	return app, err
}

// needed are the permissions that the bot uses, in the words of Discord's
// settings.
var needed = []struct {
	bit  int64
	name string
}{
	{discordgo.PermissionViewChannel, "View Channels"},
	{discordgo.PermissionSendMessages, "Send Messages"},
	{discordgo.PermissionCreatePublicThreads, "Create Public Threads"},
	{discordgo.PermissionSendMessagesInThreads, "Send Messages in Threads"},
	{discordgo.PermissionReadMessageHistory, "Read Message History"},
	{discordgo.PermissionEmbedLinks, "Embed Links"},
	{discordgo.PermissionAttachFiles, "Attach Files"},
	{discordgo.PermissionAddReactions, "Add Reactions"},
}

// Health implements [channels.Health].
func (c *Channel) Health() error { return c.health.get() }

var _ channels.Health = (*Channel)(nil)

// Check reports trouble of receiving, whether Discord knows the token, and
// which intent or permissions the bot lacks.
func (c *Channel) Check(ctx context.Context) error {
	if err := c.health.get(); err != nil {
		return err
	}
	app, err := c.getApplication(ctx)
	if err != nil {
		return remedy(err)
	}
	if app.Flags&messageContentFlags == 0 {
		return errIntent
	}
	return c.checkPermissions(ctx, app.ID)
}

// invitation is the link that adds the bot to a server with all it needs.
func invitation(app string) string {
	var all int64
	for _, p := range needed {
		all |= p.bit
	}
	return fmt.Sprintf("https://discord.com/oauth2/authorize?client_id=%s&scope=bot+applications.commands&permissions=%d", app, all)
}

const mostNamed = 3 // servers named in one error

func (c *Channel) checkPermissions(ctx context.Context, app string) error {
	var guilds []struct {
		Name        string `json:"name"`
		Permissions string `json:"permissions"`
	}
	err := c.call(ctx, request{op: "servers", method: "GET", address: discordgo.EndpointUserGuilds("@me")}, &guilds)
	if err != nil {
		return remedy(err)
	}
	var lacking []string
	for _, g := range guilds {
		has, err := strconv.ParseInt(g.Permissions, 10, 64)
		if err != nil || has&discordgo.PermissionAdministrator != 0 {
			continue
		}
		var names []string
		for _, p := range needed {
			if has&p.bit == 0 {
				names = append(names, strconv.Quote(p.name))
			}
		}
		if len(names) > 0 {
			lacking = append(lacking, fmt.Sprintf("in %q %s", g.Name, strings.Join(names, ", ")))
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	more := ""
	if n := len(lacking) - mostNamed; n > 0 {
		more = fmt.Sprintf(", and some in %d more", n)
	}
	return fmt.Errorf("the bot lacks permissions: %s%s; give them to its role in the server's settings, or invite it once more: %s",
		strings.Join(lacking[:min(len(lacking), mostNamed)], "; "), more, invitation(app))
}

// remedy says what to do about a failed call that is not about a message.
func remedy(err error) error {
	e, ok := errors.AsType[*channels.SendError](err)
	switch {
	case ok && e.Reason == channels.ReasonAuth:
		return errToken
	case ok && e.Outcome == channels.Rejected:
		return err
	}
	return unreachable(err)
}

// identify finds out whether the token is good, however long Discord is away.
func (c *Channel) identify(ctx context.Context) error {
	return c.persist(ctx, func(ctx context.Context) error {
		return c.call(ctx, request{op: "who am I", method: "GET", address: discordgo.EndpointUser("@me")}, nil)
	})
}

// persist repeats a call until it succeeds, the token is refused or ctx ends.
func (c *Channel) persist(ctx context.Context, do func(context.Context) error) error {
	var wait backoff
	for {
		err := do(ctx)
		if err == nil {
			c.health.clear()
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e, ok := errors.AsType[*channels.SendError](err)
		if err = remedy(err); errors.Is(err, errToken) {
			return err
		}
		pause := wait.next(c.pace.again/2, c.pace.againMax/2)
		if ok && e.Outcome == channels.RateLimited && e.RetryAfter > connectAgain {
			pause = max(pause, e.RetryAfter)
		}
		c.health.set(err)
		c.log.Warn("discord does not answer as it should; trying again", "error", err, "wait", pause)
		pauseFor(ctx, pause)
	}
}
