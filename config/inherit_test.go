package config

import "testing"

func TestChannelsInheritWhereToReply(t *testing.T) {
	cfg := Default()
	cfg.Access.ReplyIn = "channel"
	cfg.Channels.Slack = &Slack{SlackAccount: SlackAccount{ChannelAccess: ChannelAccess{ReplyIn: "thread"}}, Accounts: map[string]SlackAccount{"a": {}}}
	cfg.Channels.Discord = &Discord{}
	cfg.Channels.Telegram = &Telegram{Accounts: map[string]TelegramAccount{"b": {}}}
	cfg.inherit()
	for what, got := range map[string]string{
		"slack.a": cfg.Channels.Slack.Accounts["a"].ReplyIn, "discord": cfg.Channels.Discord.ReplyIn, "telegram.b": cfg.Channels.Telegram.Accounts["b"].ReplyIn,
	} {
		if got != "channel" {
			t.Errorf("%s replies in %q", what, got)
		}
	}
	if cfg.Channels.Slack.ReplyIn != "thread" {
		t.Error("a channel's own setting was overridden")
	}
}

func TestARoomsPlaceToReplyReachesTheBotsOfItsChannel(t *testing.T) {
	cfg := Default()
	cfg.Access.Rooms = map[string]RoomAccess{
		"telegram:-1001": {ReplyIn: "channel"}, "telegram.work:-1002": {ReplyIn: "channel"}, "discord:600000000000000001": {GroupPolicy: "open"},
	}
	cfg.Channels.Telegram = &Telegram{Accounts: map[string]TelegramAccount{"work": {}, "home": {}}}
	cfg.Channels.Discord = &Discord{}
	cfg.inherit()
	work, home := cfg.Channels.Telegram.Accounts["work"].ReplyInRooms, cfg.Channels.Telegram.Accounts["home"].ReplyInRooms
	if work["-1001"] != "channel" || work["-1002"] != "channel" || home["-1001"] != "channel" || home["-1002"] != "" {
		t.Errorf("work %v, home %v", work, home)
	}
	if len(cfg.Channels.Discord.ReplyInRooms) != 0 {
		t.Errorf("discord %v", cfg.Channels.Discord.ReplyInRooms)
	}
}
