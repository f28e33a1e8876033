package slack

import (
	"encoding/json"
	"errors"
	"net/url"
)

// scope is a permission of the bot's token.
type scope struct {
	name string
	// without is what does not work without it.
	without string
	// essential scopes are those without which the bot is deaf or mute.
	essential bool
}

// scopeTable is everything that the bot asks for, and nothing else.
var scopeTable = []scope{
	{"app_mentions:read", "the bot does not notice mentions", true},
	{"assistant:write", "conversations get no titles and suggestions, and no stop button of Slack's", false},
	{"channels:history", "the bot does not follow its threads in public channels", true},
	{"channels:read", "the bot does not know the names of channels", false},
	{"chat:write", "the bot can't answer", true},
	{"commands", "the slash command and the message shortcut do not exist", false},
	{"files:read", "the bot can't read files", false},
	{"files:write", "the bot can't send files", false},
	{"groups:history", "the bot does not follow its threads in private channels", true},
	{"groups:read", "the bot does not know the names of private channels", false},
	{"im:history", "the bot does not receive direct messages", true},
	{"im:write", "the bot can't write to its owners first: approvals of others' requests are asked for in their conversation only", false},
	{"metadata.message:read", "the bot can't find out whether a message arrived when Slack's answer was lost", false},
	{"mpim:history", "the bot does not receive messages in group conversations", true},
	{"mpim:read", "the bot does not know the names of group conversations", false},
	{"reactions:write", "the bot can't react to messages", false},
	{"usergroups:read", "user_groups lets nobody in", false},
	{"users:read", "the bot does not know names, nor who is a guest", false},
}

// maxShortcut is the longest name of a shortcut.
const maxShortcut = 24

// botEvents is what the app subscribes to.
var botEvents = []string{
	"agent_session_stopped", "app_home_opened", "app_mention", "assistant_thread_context_changed", "assistant_thread_started",
	"message.channels", "message.groups", "message.im", "message.mpim",
}

// Manifest returns the app manifest, JSON, from which Slack makes an app with
// every scope and event that the bot needs. name is the bot's and, in lower
// case, the slash command's. address is where Slack posts events to, for mode
// "http"; empty is Socket Mode.
func Manifest(name, address string) ([]byte, error) {
	if name == "" {
		name = "clawbot"
	}
	if u, err := url.Parse(address); address != "" && (err != nil || u.Host == "" || u.Scheme != "https") {
		return nil, errors.New("the address must be a public https URL, such as https://bot.example.com/slack/events")
	}
	scopes := make([]string, len(scopeTable))
	for i, s := range scopeTable {
		scopes[i] = s.name
	}
	type object = map[string]any
	command := object{
		"command": "/" + commandName(name), "description": "Talk to " + name + ", or tell it what to do",
		"usage_hint": "[help | status | new | stop | a question]", "should_escape": true,
	}
	events, interactivity := object{"bot_events": botEvents}, object{"is_enabled": true}
	if address != "" {
		command["url"], events["request_url"], interactivity["request_url"] = address, address, address
	}
	data, err := json.MarshalIndent(object{
		"display_information": object{"name": name, "description": "A chat bot with an agent inside"},
		"features": object{
			"agent_view": object{"agent_description": "Ask " + name + " anything. It answers here and in channels that it is invited to."},
			"app_home":   object{"home_tab_enabled": false, "messages_tab_enabled": true, "messages_tab_read_only_enabled": false},
			"bot_user":   object{"display_name": name, "always_online": true},
			"shortcuts": []object{{
				"name": clip("Ask "+name, maxShortcut), "type": "message", "callback_id": askAbout, "description": "Ask about this message, and get the answer in its thread",
			}},
			"slash_commands": []object{command},
		},
		"oauth_config": object{"scopes": object{"bot": scopes}},
		"settings": object{
			"event_subscriptions": events, "interactivity": interactivity, "org_deploy_enabled": false,
			"socket_mode_enabled": address == "", "token_rotation_enabled": false,
		},
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

// commandName makes a slash command's name of a bot's name: lower case, no
// spaces, at most 32 characters.
func commandName(name string) string {
	var out []rune
	for _, r := range name {
		switch {
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
		default:
			continue
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return "clawbot"
	}
	return string(out[:min(len(out), 31)])
}
