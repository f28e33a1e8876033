package telegram

import (
	"testing"

	"clawbot/channels"
	"clawbot/channels/channeltest"
)

func TestTelegramPassesTheSuiteOfAllChannels(t *testing.T) {
	channeltest.Run(t, channeltest.Options{New: func(t *testing.T) (channels.Channel, channeltest.Platform) {
		r := newRig(t, channeltest.TelegramConfig{}, Config{})
		return r.bot, r.Platform()
	}})
}
