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
