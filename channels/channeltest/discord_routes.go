package channeltest

import (
	"net/http"
	"net/url"
	"strings"
)

type discordHandler func(*Discord, *discordRequest) (any, *discordError)

type discordRoute struct {
	method, path, name string // ":" in path stands for a variable part
	handle             discordHandler
}

func discordRoutes() []discordRoute {
	return []discordRoute{
		{"GET", "gateway", "getGateway", (*Discord).getGateway},
		{"GET", "gateway/bot", "getGatewayBot", (*Discord).getGateway},
		{"GET", "users/@me", "getMe", (*Discord).getMe},
		{"POST", "users/@me/channels", "createDM", (*Discord).createDM},
		{"GET", "users/@me/guilds", "getGuilds", (*Discord).getGuilds},
		{"GET", "applications/@me", "getApplication", (*Discord).getApplication},
		{"GET", "applications/:/commands", "getCommands", (*Discord).getCommands},
		{"PUT", "applications/:/commands", "putCommands", (*Discord).putCommands},
		{"GET", "guilds/:", "getGuild", (*Discord).getGuild},
		{"GET", "guilds/:/members/:", "getMember", (*Discord).getMember},
		{"GET", "channels/:", "getChannel", (*Discord).getChannel},
		{"PATCH", "channels/:", "modifyChannel", (*Discord).modifyChannel},
		{"POST", "channels/:/typing", "typing", (*Discord).postTyping},
		{"GET", "channels/:/messages", "getMessages", (*Discord).getMessages},
		{"POST", "channels/:/messages", "createMessage", (*Discord).createMessage},
		{"GET", "channels/:/messages/:", "getMessage", (*Discord).getMessage},
		{"PATCH", "channels/:/messages/:", "editMessage", (*Discord).editMessage},
		{"DELETE", "channels/:/messages/:", "deleteMessage", (*Discord).deleteMessage},
		{"POST", "channels/:/messages/:/threads", "startThread", (*Discord).startThread},
		{"PUT", "channels/:/messages/:/reactions/:/@me", "addReaction", (*Discord).addReaction},
		{"DELETE", "channels/:/messages/:/reactions/:/@me", "removeReaction", (*Discord).removeReaction},
		{"POST", "interactions/:/:/callback", "callback", (*Discord).callback},
		{"POST", "webhooks/:/:", "followUp", (*Discord).followUp},
		{"PATCH", "webhooks/:/:/messages/@original", "editOriginal", (*Discord).editOriginal},
		{"DELETE", "webhooks/:/:/messages/@original", "deleteOriginal", (*Discord).deleteOriginal},
	}
}

// routeDiscord finds the route of a request; segments are still escaped.
func routeDiscord(r *http.Request, segments []string) (*discordRequest, discordHandler) {
	for _, route := range discordRoutes() {
		if route.method != r.Method {
			continue
		}
		if ids, ok := matchPath(strings.Split(route.path, "/"), segments); ok {
			return &discordRequest{route: route.name, ids: ids}, route.handle
		}
	}
	return nil, nil
}

func matchPath(pattern, segments []string) (ids []string, ok bool) {
	if len(pattern) != len(segments) {
		return nil, false
	}
	for i, want := range pattern {
		got, err := url.PathUnescape(segments[i])
		if err != nil || got == "" || want != ":" && want != got {
			return nil, false
		}
		if want == ":" {
			ids = append(ids, got)
		}
	}
	return ids, true
}
