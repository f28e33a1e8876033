package config

import (
	"strings"
	"testing"
)

func TestEveryProblemNamesItsPlaceItsKeyAndTheRemedy(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string // each must be the prefix of the line in its place
	}{
		"a misspelt key": {
			"[agent]\nmodle = \"demo/demo\"\n",
			[]string{"clawbot.toml:2:1: agent.modle: unknown key; did you mean agent.model?"},
		},
		"another spelling of a key": {
			"[agent]\nmaxTokens = 3\n",
			[]string{"clawbot.toml:2:1: agent.maxTokens: unknown key; did you mean agent.max_tokens?"},
		},
		"a misspelt table": {
			"[agnet]\nname = \"x\"\n",
			[]string{"clawbot.toml:1:2: agnet: unknown key; did you mean agent?"},
		},
		"a key in the wrong table": {
			"model = \"demo/demo\"\n[server]\nmax_iterations = 3\n",
			[]string{
				"clawbot.toml:1:1: model: unknown key; did you mean agent.model?",
				"clawbot.toml:3:1: server.max_iterations: unknown key; did you mean loop.max_iterations?",
			},
		},
		"a channel outside channels": {
			"[telegram]\ntoken = \"1:a\"\n",
			[]string{"clawbot.toml:1:2: telegram: unknown key; did you mean channels.telegram?"},
		},
		"a room that is none": {
			"[access.rooms.\"telegram:kitchen\"]\ngroup_policy = \"open\"\n[access.rooms.lobby]\n[access.rooms.\"discord:600000000000000001\"]\nreply_in = \"attic\"\nallow_from = [\"max\"]\n",
			[]string{
				`clawbot.toml:1:15: access.rooms."telegram:kitchen": "telegram:kitchen" is no id of telegram`,
				`clawbot.toml:3:15: access.rooms.lobby: "lobby" must be channel:id`,
				`clawbot.toml:5:1: access.rooms."discord:600000000000000001".reply_in: "attic" is none of`,
				`clawbot.toml:6:15: access.rooms."discord:600000000000000001".allow_from.0: "max" is no id of discord`,
			},
		},
		"a key that resembles nothing": {
			"[log]\nzzzzzz = 1\n",
			[]string{"clawbot.toml:2:1: log.zzzzzz: unknown key; known here: audit, format, level, wire, wire_dir"},
		},
		"unknown keys in an inline table, a dotted key and a named table": {
			"access.rate = { user = { mesages = 1 } }\nlog.levle = \"info\"\n[providers.\"my.one\"]\nformat = \"demo\"\nbaseurl = \"http://x\"\n",
			[]string{
				"clawbot.toml:1:26: access.rate.user.mesages: unknown key; did you mean access.rate.user.messages?",
				"clawbot.toml:2:5: log.levle: unknown key; did you mean log.level?",
				"clawbot.toml:3:12: providers.\"my.one\": \"my.one\" is no name for a provider",
				"clawbot.toml:5:1: providers.\"my.one\".baseurl: unknown key; did you mean providers.\"my.one\".base_url?",
			},
		},
		"values of the wrong kind": {
			"[agent]\nname = 3\nmax_tokens = \"8k\"\ntemperature = \"hot\"\nfallbacks = \"openai/x\"\n[loop]\nmax_iterations = 3.5\nmax_iterations_summary = \"yes\"\ntimeout = 10\n[server]\ntoken = 5\n[queue]\nchannels = 2026-01-01\n[tools]\nenabled = [1]\n",
			[]string{
				"clawbot.toml:2:1: agent.name: expected text in quotes, found a whole number (3)",
				"clawbot.toml:3:1: agent.max_tokens: expected a whole number, found the text \"8k\"",
				"clawbot.toml:4:1: agent.temperature: expected a number, found the text \"hot\"",
				"clawbot.toml:5:1: agent.fallbacks: expected a list ([\"one\", \"two\"]), found the text \"openai/x\"",
				"clawbot.toml:7:1: loop.max_iterations: expected a whole number, found a number with a fraction (3.5)",
				"clawbot.toml:8:1: loop.max_iterations_summary: expected true or false, found the text \"yes\"",
				"clawbot.toml:9:1: loop.timeout: expected a duration in quotes, such as \"500ms\", \"20s\" or \"10m\", found a whole number (10)",
				"clawbot.toml:11:1: server.token: expected text in quotes or a list of texts, found a whole number",
				"clawbot.toml:13:1: queue.channels: expected a table ([queue.channels]), found a date or time",
				"clawbot.toml:15:12: tools.enabled.0: expected text in quotes, found a whole number (1)",
			},
		},
		"a table where a value is wanted, and a value where a table is wanted": {
			"agent = 3\n[log.level]\nx = 1\n",
			[]string{
				"clawbot.toml:1:1: agent: expected a table ([agent]), found a whole number (3)",
				"clawbot.toml:2:6: log.level: expected text in quotes, found a table",
			},
		},
		"values out of range": {
			"[agent]\ntemperature = 3.0\nmax_tokens = 0\n[loop]\nmax_iterations = 0\ntimeout = \"-1s\"\nmax_parallel_tools = 99999999999999999\n[queue]\ndebounce = \"2h\"\n[budget]\nwarn_at = 1.5\n",
			[]string{
				"clawbot.toml:2:1: agent.temperature: 3 is too large; the most is 2",
				"clawbot.toml:3:1: agent.max_tokens: 0 is too small; the least is 1",
				"clawbot.toml:5:1: loop.max_iterations: 0 is too small; the least is 1",
				"clawbot.toml:6:1: loop.timeout: -1s is too short; the least is 1s",
				"clawbot.toml:7:1: loop.max_parallel_tools: 1e+17 is too large; the most is 1000",
				"clawbot.toml:9:1: queue.debounce: 2h0m0s is too long; the most is 1m",
				"clawbot.toml:11:1: budget.warn_at: 1.5 is too large; the most is 1",
			},
		},
		"words that are none of the choices": {
			"[queue]\nmode = \"steeer\"\n[queue.channels]\ntelegram = \"wait\"\ntelegrm = \"steer\"\n[log]\nlevel = \"loud\"\n[store]\ndriver = \"sqlite3\"\n",
			[]string{
				"clawbot.toml:2:1: queue.mode: \"steeer\" is none of steer, followup, collect, interrupt; did you mean steer?",
				"clawbot.toml:4:1: queue.channels.telegram: \"wait\" is none of steer, followup, collect, interrupt",
				"clawbot.toml:5:1: queue.channels.telegrm: \"telegrm\" is no channel; channels are telegram, slack, discord, web, terminal; did you mean telegram?",
				"clawbot.toml:7:1: log.level: \"loud\" is none of debug, info, warn, error",
				"clawbot.toml:9:1: store.driver: \"sqlite3\" is none of sqlite, redis, memory; did you mean sqlite?",
			},
		},
		"durations": {
			"[loop]\ntimeout = \"10 minutes\"\n[server]\ndrain = \"20\"\n",
			[]string{
				"clawbot.toml:2:1: loop.timeout: \"10 minutes\" is no duration; write one like",
				"clawbot.toml:4:1: server.drain: \"20\" is no duration; write one like",
			},
		},
		"schedules": {
			"[agent]\ntime_zone = \"europe/berlin\"\n[schedules]\nper_user = 0\nmin_interval = \"1s\"\n",
			[]string{
				"clawbot.toml:2:1: agent.time_zone: unknown time zone \"europe/berlin\": did you mean \"Europe/Berlin\"?",
				"clawbot.toml:4:1: schedules.per_user: 0 is too small; the least is 1",
				"clawbot.toml:5:1: schedules.min_interval: 1s is too short; the least is 1m",
			},
		},
		"retention": {
			"[retention]\nage = \"90s\"\ndead_letters = \"-1h\"\ncount = -1\n",
			[]string{
				"clawbot.toml:2:1: retention.age: 1m30s is too short; the least is 1h0m0s, and 0 keeps for ever",
				"clawbot.toml:3:1: retention.dead_letters: -1h0m0s is too short; the least is 0s",
				"clawbot.toml:4:1: retention.count: -1 is too small; the least is 0",
			},
		},
		"addresses": {
			"[providers.a]\nformat = \"openai\"\nbase_url = \"api.example.com\"\nproxy = \"socks4://x\"\n[providers.b]\nformat = \"openai\"\n[providers.c]\n[server]\nlisten = \"8080\"\nmetrics_listen = \"localhost:99999\"\n[store]\nurl = \"http://x\"\n",
			[]string{
				"clawbot.toml:3:1: providers.a.base_url: must begin with http:// or https://",
				"clawbot.toml:4:1: providers.a.proxy: must begin with http:// or https:// or socks5:// or socks5h://; or write \"env\"",
				"clawbot.toml:5:12: providers.b.base_url: is missing; write the address of the server",
				"clawbot.toml:7:12: providers.c.format: is missing; say which protocol the server speaks",
				"clawbot.toml:9:1: server.listen: \"8080\" is no host:port; write one like \"127.0.0.1:8080\"",
				"clawbot.toml:10:1: server.metrics_listen: \"localhost:99999\" has no port",
				"clawbot.toml:12:1: store.url: is no URL that begins with redis://",
			},
		},
		"models": {
			"[agent]\nmodel = \"gpt-5\"\nfallbacks = [\"antropic/x\", \"nobody/x\", \"demo/demo\"]\n",
			[]string{
				"clawbot.toml:2:1: agent.model: \"gpt-5\" must be provider/model, such as \"openai/gpt-5-mini\"",
				"clawbot.toml:3:14: agent.fallbacks.0: there is no provider \"antropic\"; did you mean anthropic/x? Else write a table [providers.antropic]",
				"clawbot.toml:3:28: agent.fallbacks.1: there is no provider \"nobody\"; write a table [providers.nobody], or use one of anthropic, ",
			},
		},
		"a provider without a key": {
			"[agent]\nmodel = \"openai/gpt-5\"\n",
			[]string{"clawbot.toml: providers.openai.api_key: there is no key for openai; set the environment variable OPENAI_API_KEY, or write OPENAI_API_KEY=… into "},
		},
		"variables and files that are missing": {
			"[agent]\nmodel = \"anthropic/x\"\n[providers.anthropic]\napi_key = \"${MY_KEY}\"\n[providers.unused]\nformat = \"openai\"\nbase_url = \"http://x\"\napi_key = \"${OTHER_KEY}\"\n[channels.telegram]\ntoken = \"${file:token.txt}\"\n[log]\nlevel = \"${LE VEL}\"\n",
			[]string{
				"clawbot.toml:4:1: providers.anthropic.api_key: the environment variable MY_KEY is not set; set it, or write MY_KEY=… into ",
				"clawbot.toml:10:1: channels.telegram.token: the file ",
				"clawbot.toml:12:1: log.level: ${LE VEL} is no reference",
			},
		},
		"channel tokens": {
			"[channels.telegram]\n[channels.telegram.accounts.work]\n[channels.slack]\nmode = \"http\"\nbot_token = \"xoxb\"\n[channels.discord]\nenabled = false\n",
			[]string{
				"clawbot.toml:2:29: channels.telegram.accounts.work.token: is missing; write token = \"${NAME}\" and set that variable",
				"clawbot.toml:3:11: channels.slack.signing_secret: is missing; set the environment variable SLACK_SIGNING_SECRET",
			},
		},
		"a pasted token with a line break": {
			"[channels.telegram]\ntoken = \"1:a\\nb\"\n",
			[]string{"clawbot.toml:2:1: channels.telegram.token: holds a space, a line break or a control character"},
		},
		"several tokens for one bot": {
			"[channels.telegram]\ntoken = [\"1:a\", \"2:b\"]\n",
			[]string{"clawbot.toml:2:1: channels.telegram.token: takes one value here; for several bots write a table [channels.telegram.accounts.NAME] for each"},
		},
		"names in place of ids": {
			"[access]\nowners = [\"@anna\", \"telegram:@anna\", \"telegram:12345\", \"slack:anna\", \"slack:U0123ABCD\", \"irc:x\"]\n[channels.telegram]\ntoken = \"1:a\"\nallow_from = [\"anna\", 12345, \"-100123\"]\n",
			[]string{
				"clawbot.toml:2:11: access.owners.0: \"@anna\" must be channel:id, such as \"telegram:12345\"",
				"clawbot.toml:2:20: access.owners.1: \"telegram:@anna\" is no id of telegram, which looks like 12345. Names are not taken: they change hands.",
				"clawbot.toml:2:56: access.owners.3: \"slack:anna\" is no id of slack",
				"clawbot.toml:2:89: access.owners.5: \"irc:x\" must be channel:id",
				"clawbot.toml:5:15: channels.telegram.allow_from.0: \"anna\" is no id of telegram",
			},
		},
		"an open door": {
			"[server]\nlisten = \":8080\"\nmetrics_listen = \":8080\"\n",
			[]string{
				"clawbot.toml:2:1: server.listen: :8080 can be reached from other machines, so a token is needed: set the environment variable CLAWBOT_TOKEN",
				"clawbot.toml:3:1: server.metrics_listen: is the address of the page",
			},
		},
		"no way in": {
			"[channels.web]\nenabled = false\n",
			[]string{"clawbot.toml:1:2: channels: every channel is off"},
		},
		"a policy of another platform": {
			"[channels.telegram]\ntoken = \"1:a\"\ndm_policy = \"members\"\n",
			[]string{"clawbot.toml:3:1: channels.telegram.dm_policy: \"members\" is for Slack alone"},
		},
		"two prompts, two transports, a broken glob": {
			"[agent]\nsystem_prompt = \"a\"\nsystem_prompt_file = \"b\"\n[tools]\ndeny = [\"[a\"]\n[tools.mcp.x]\ncommand = [\"a\"]\nurl = \"http://x\"\n",
			[]string{
				"clawbot.toml:3:1: agent.system_prompt_file: system_prompt is set too; keep one of them",
				"clawbot.toml:4:2: tools: tool pattern \"[a\": syntax error in pattern",
				"clawbot.toml:6:12: tools.mcp.x: wants either command or url",
			},
		},
		"syntax: text without quotes": {
			"[agent]\nmodel = anthropic/x\n",
			[]string{"clawbot.toml:2:9: unexpected character U+0061 'a' at start of value; put text in quotes: key = \"value\""},
		},
		"syntax: a table twice": {
			"[agent]\n[agent]\n",
			[]string{"clawbot.toml:2:2: "},
		},
		"syntax: an open bracket": {
			"[agent\nname = \"x\"\n",
			[]string{"clawbot.toml:1:7: expected ']' to close table name"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, tt.text)
			got := problems(t, err)
			for i := range max(len(got), len(tt.want)) {
				switch {
				case i >= len(got):
					t.Errorf("missing: %s", tt.want[i])
				case i >= len(tt.want):
					t.Errorf("unexpected: %s", got[i])
				case !strings.HasPrefix(got[i], tt.want[i]):
					t.Errorf("got  %s\nwant %s", got[i], tt.want[i])
				}
			}
		})
	}
}

func TestWhatAReferenceStandsForIsNeverTold(t *testing.T) {
	const secret = "sk-very-private"
	_, err := load(t, `[agent]
name = "x"
thinking = "${S}"
model = "${S}"
[loop]
timeout = "${S}"
[server]
listen = "${S}"
[log]
level = "${S}"
[providers.x]
format = "demo"
base_url = "${S}"
proxy = "${S}"
api_key = "${S} ${S}"
[store]
url = "${S}"
`, "S="+secret)
	lines := problems(t, err)
	if len(lines) < 8 {
		t.Errorf("got %d problems, want one for each wrong value: %q", len(lines), lines)
	}
	for _, line := range lines {
		if strings.Contains(line, secret) {
			t.Errorf("the message tells the secret: %s", line)
		}
	}
}
