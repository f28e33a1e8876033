package slack

import (
	"testing"

	"clawbot/channels"
	"clawbot/channels/channeltest"
)

func TestSlackPassesTheSuiteOfAllChannelsOverSockets(t *testing.T) {
	channeltest.Run(t, channeltest.Options{EditsSilently: true, New: func(t *testing.T) (channels.Channel, channeltest.Platform) {
		r := newRig(t, channeltest.SlackConfig{}, Config{})
		return r.bot, r.Platform()
	}})
}

func TestSlackPassesTheSuiteOfAllChannelsOverHTTP(t *testing.T) {
	channeltest.Run(t, channeltest.Options{EditsSilently: true, New: func(t *testing.T) (channels.Channel, channeltest.Platform) {
		r := newRig(t, channeltest.SlackConfig{}, Config{Mode: ModeHTTP})
		return r.bot, r.Platform()
	}})
}
