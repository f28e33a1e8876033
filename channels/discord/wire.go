package discord

import (
	"encoding/json"
	"strconv"
	"time"
)

// The fields of events that matter here, see
// https://discord.com/developers/docs/resources/message#message-object. The
// typed client's own types refuse a message with a component that they don't
// know; these leave out what they don't need.
type message struct {
	ID           string        `json:"id"`
	ChannelID    string        `json:"channel_id"`
	GuildID      string        `json:"guild_id"`
	Type         int           `json:"type"`
	Content      *string       `json:"content"`
	Author       *user         `json:"author"`
	Member       *member       `json:"member"`
	WebhookID    string        `json:"webhook_id"`
	Timestamp    string        `json:"timestamp"`
	Edited       string        `json:"edited_timestamp"`
	Mentions     []user        `json:"mentions"`
	MentionRoles []string      `json:"mention_roles"`
	Everyone     bool          `json:"mention_everyone"`
	Attachments  []attachment  `json:"attachments"`
	Stickers     []named       `json:"sticker_items"`
	Snapshots    []snapshot    `json:"message_snapshots"`
	Reference    *reference    `json:"message_reference"`
	Referenced   *message      `json:"referenced_message"`
	Poll         *poll         `json:"poll"`
	Nonce        any           `json:"nonce"`
	Reactions    []ownReaction `json:"reactions"`
}

// The types of messages that people write; all others are Discord's own.
const (
	typeDefault = 0
	typeReply   = 19
	typeStarter = 21 // stands for the message that a thread was started from
)

type user struct {
	ID         string `json:"id"`
	Username   string `json:"username"`
	GlobalName string `json:"global_name"`
	Bot        bool   `json:"bot"`
}

type member struct {
	Nick        string   `json:"nick"`
	Roles       []string `json:"roles"`
	Permissions string   `json:"permissions"` // in interactions alone
	User        *user    `json:"user"`
}

type attachment struct {
	ID       string `json:"id"`
	Filename string `json:"filename"`
	Type     string `json:"content_type"`
	Size     int64  `json:"size"`
	URL      string `json:"url"`
	Waveform string `json:"waveform"` // of voice messages
}

type named struct {
	Name string `json:"name"`
}

type snapshot struct {
	Message struct {
		Content     string       `json:"content"`
		Attachments []attachment `json:"attachments"`
		Stickers    []named      `json:"sticker_items"`
	} `json:"message"`
}

type reference struct {
	Type      int    `json:"type"`
	MessageID string `json:"message_id"`
	ChannelID string `json:"channel_id"`
}

type poll struct {
	Question struct {
		Text string `json:"text"`
	} `json:"question"`
	Answers []struct {
		Media struct {
			Text string `json:"text"`
		} `json:"poll_media"`
	} `json:"answers"`
}

type ownReaction struct {
	Me    bool `json:"me"`
	Emoji struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"emoji"`
}

type channelInfo struct {
	ID       string `json:"id"`
	GuildID  string `json:"guild_id"`
	ParentID string `json:"parent_id"`
	OwnerID  string `json:"owner_id"`
	Name     string `json:"name"`
	Type     int    `json:"type"`
	Last     string `json:"last_message_id"`
}

// The types of channels that matter, see
// https://discord.com/developers/docs/resources/channel#channel-object-channel-types.
const (
	kindText         = 0
	kindAnnouncement = 5
)

// thread reports whether a channel is one: of an announcement, public or
// private.
func (c *channelInfo) thread() bool { return c.Type >= 10 && c.Type <= 12 }

type guildInfo struct {
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	OwnerID     string        `json:"owner_id"`
	Unavailable bool          `json:"unavailable"`
	Roles       []role        `json:"roles"`
	Channels    []channelInfo `json:"channels"`
	Threads     []channelInfo `json:"threads"`
}

type role struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Permissions string `json:"permissions"`
	Tags        struct {
		BotID string `json:"bot_id"`
	} `json:"tags"`
}

type interactionEvent struct {
	ID            string       `json:"id"`
	ApplicationID string       `json:"application_id"`
	Type          int          `json:"type"`
	Token         string       `json:"token"`
	ChannelID     string       `json:"channel_id"`
	GuildID       string       `json:"guild_id"`
	Channel       *channelInfo `json:"channel"`
	Member        *member      `json:"member"`
	User          *user        `json:"user"`
	Message       *message     `json:"message"`
	Data          struct {
		Name     string `json:"name"`
		Type     int    `json:"type"`
		CustomID string `json:"custom_id"`
		Options  []struct {
			Name  string `json:"name"`
			Value any    `json:"value"`
		} `json:"options"`
	} `json:"data"`
}

// The types of interactions that are handled.
const (
	interactionCommand   = 2
	interactionComponent = 3
)

// discordEpoch is when snowflakes begin, in milliseconds.
const discordEpoch = 1420070400000

// snowflakeTime is when an id was made; zero if it is none.
func snowflakeTime(id string) time.Time {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil || n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(n>>22) + discordEpoch)
}

// before is the id of a snowflake that is older by d.
func before(id string, d time.Duration) string {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return ""
	}
	back := uint64(d.Milliseconds()) << 22
	return strconv.FormatUint(n-min(n, back), 10)
}

// newer compares snowflakes.
func newer(a, b string) bool { return len(a) > len(b) || len(a) == len(b) && a > b }

func isSnowflake(id string) bool {
	if id == "" || len(id) > 20 {
		return false
	}
	for i := range len(id) {
		if id[i] < '0' || id[i] > '9' {
			return false
		}
	}
	return true
}

// decodeEvent reads an event's data as far as it can be.
func decodeEvent[T any](data json.RawMessage) (out T, ok bool) {
	return out, tolerant(data, &out) == nil
}

// snowflakeAt is the least id of a moment.
func snowflakeAt(t time.Time) string {
	return strconv.FormatUint(uint64(max(t.UnixMilli()-discordEpoch, 0))<<22, 10)
}
