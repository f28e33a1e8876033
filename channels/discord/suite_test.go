package discord

import (
	"testing"

	"clawbot/channels"
	"clawbot/channels/channeltest"
)

func TestDiscordPassesTheSuiteOfAllChannels(t *testing.T) {
	channeltest.Run(t, channeltest.Options{
		EditsSilently: true,
		New: func(t *testing.T) (channels.Channel, channeltest.Platform) {
			r := newRig(t, channeltest.DiscordConfig{}, Config{})
			return r.bot, r.Platform()
		},
	})
}
