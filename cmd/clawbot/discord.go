package main

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"clawbot/channels"
	"clawbot/channels/discord"
	"clawbot/config"
	"clawbot/gateway"
)

func discordBots(cfg *config.Channels, log *slog.Logger) ([]channels.Channel, error) {
	var bots []channels.Channel
	if cfg.Discord == nil {
		return nil, nil
	}
	accounts := cfg.Discord.Bots()
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		a := accounts[name]
		bot, err := discord.New(discord.Config{
			Name: name, Token: a.Token, APIURL: a.APIURL, Proxy: a.Proxy, AllowFrom: a.AllowFrom,
			ReplyIn: a.ReplyIn, ReplyInRooms: a.ReplyInRooms, Shards: a.Shards, Logger: log,
		})
		if err != nil {
			return nil, fmt.Errorf("channels.%w", err)
		}
		bots = append(bots, bot)
	}
	return bots, nil
}

func discordAccounts(cfg *config.Channels) (names []string, configured bool) {
	if cfg.Discord == nil {
		return nil, false
	}
	return slices.Sorted(maps.Keys(cfg.Discord.Bots())), true
}

// rooms are what single rooms have differently.
func rooms(cfg map[string]config.RoomAccess) map[string]gateway.RoomAccess {
	list := map[string]gateway.RoomAccess{}
	for name, r := range cfg {
		list[name] = gateway.RoomAccess{GroupPolicy: r.GroupPolicy, AllowFrom: r.AllowFrom}
	}
	return list
}
