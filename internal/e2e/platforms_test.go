package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

// place is one conversation on one platform, with its owner in it.
type place struct {
	name string
	// begin opens the conversation; say writes in it.
	begin, say func(text string)
	attach     func(text, name string, data []byte)
	// waits until what was written is with the bot for good.
	taken func(ctx context.Context) error
	stop  func()
	// see waits for a message of the bot with a text; approve presses the first
	// button of the question about it.
	see     func(ctx context.Context, text string) error
	approve func(ctx context.Context, about string) error
	file    func(ctx context.Context, name string) ([]byte, error)
	hold    chan struct{}
}

// chores is the model of all of them: what it does depends on the last thing
// that it was told, and on the platform that the text names.
func chores(places map[string]*place) modeltest.Script {
	return func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		asked, worked := req.LastUser(), req.Last().Role == "tool"
		for name, p := range places {
			if strings.Contains(asked, "on "+name+" write a poem") && !worked {
				return modeltest.Turn{Text: "Working on it.", Calls: []modeltest.Call{{ID: "a", Name: "current_time", Arguments: `{}`}}, Hold: p.hold, After: 1}
			}
		}
		switch {
		case strings.Contains(asked, "make it French"):
			return modeltest.Say("Voilà, in French.")
		case strings.Contains(asked, "look around") && !worked:
			return modeltest.Turn{Calls: []modeltest.Call{{ID: "b", Name: "list_dir", Arguments: `{}`}}}
		case strings.Contains(asked, "look around"):
			return modeltest.Say(fmt.Sprintf("I looked around: %v.", strings.Contains(req.Last().Text, "numbers.csv")))
		case strings.Contains(asked, "tell a story"):
			return modeltest.Turn{Text: "The quick brown fox jumps, and then", Stall: true, After: 1}
		case strings.Contains(asked, "send the numbers") && !worked:
			return modeltest.Turn{Calls: []modeltest.Call{{ID: "c", Name: "send_file", Arguments: `{"path":"numbers.csv"}`}}}
		case strings.Contains(asked, "read the report"):
			return modeltest.Say(fmt.Sprintf("Read: %v.", strings.Contains(asked, "Revenue grew by 12 %")))
		}
		return modeltest.Say("Sent it.")
	}
}

func TestOneBotServesSlackDiscordAndTelegramAtOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	telegram := channeltest.NewTelegram(channeltest.TelegramConfig{})
	discord := channeltest.NewDiscord(channeltest.DiscordConfig{})
	slack := channeltest.NewSlack(channeltest.SlackConfig{})
	t.Cleanup(telegram.Close)
	t.Cleanup(discord.Close)
	t.Cleanup(slack.Close)
	places := map[string]*place{"telegram": onTelegram(telegram), "discord": onDiscord(discord), "slack": onSlack(slack)}
	model := modeltest.New(chores(places))
	t.Cleanup(model.Close)
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "workspace"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "workspace", "numbers.csv"), []byte("a;b\n1;2\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "clawbot.toml"), fmt.Appendf(nil, `[agent]
model = "test/scripted-1"
[providers.test]
format = "openai"
base_url = %q
api_key = "sk-test-canary-0123456789"
[tools]
workspace_scope = "shared"
[tools.permissions.list_dir]
mode = "ask"
[server]
listen = "127.0.0.1:0"
[access]
owners = ["telegram:%d", "discord:%s", "slack:%s"]
[channels.telegram]
token = %q
api_url = %q
drafts = true
[channels.discord]
token = %q
api_url = %q
[channels.slack]
bot_token = %q
app_token = %q
signing_secret = %q
api_url = %q
`, model.URL(), ana, eve, eva, telegram.Token(), telegram.URL(), discord.Token(), discord.URL(),
		slack.BotToken(), slack.AppToken(), slack.SigningSecret(), slack.URL()), 0o600))
	bot := startProcess(t, dir, nil, "run", "--config", filepath.Join(dir, "clawbot.toml"))
	for what, err := range map[string]error{"telegram": telegram.WaitPoll(ctx), "discord": discord.WaitConnected(ctx), "slack": slack.WaitSockets(ctx, 2)} {
		if err != nil {
			t.Fatalf("%s is not served: %v\n%s", what, err, bot.log())
		}
	}
	report, err := os.ReadFile(filepath.Join("..", "pdftext", "testdata", "report.pdf"))
	must(t, err)
	t.Run("platforms", func(t *testing.T) {
		for name, p := range places {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.works(t, ctx, bot, report)
			})
		}
	})
	if err := bot.stop(); err != nil {
		t.Errorf("SIGTERM: %v\n%s", err, bot.log())
	}
	for _, secret := range []string{"canary", telegram.Token(), discord.Token(), slack.BotToken(), slack.AppToken()} {
		if strings.Contains(bot.log(), secret) {
			t.Error("a secret is in the log")
		}
	}
}

// works has the bot steered, asked for leave, stopped, and given and asked for
// a file.
func (p *place) works(t *testing.T, ctx context.Context, bot *process, report []byte) {
	t.Helper()
	done := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v\n%s", p.name, err, bot.log())
		}
	}
	p.begin("on " + p.name + " write a poem")
	done(p.see(ctx, "Working on it."))
	p.say("make it French")
	done(p.taken(ctx))
	close(p.hold)
	done(p.see(ctx, "Voilà, in French."))

	p.say("look around")
	done(p.approve(ctx, "list_dir"))
	done(p.see(ctx, "I looked around: true."))

	p.say("tell a story")
	done(p.see(ctx, "The quick brown fox"))
	p.stop()
	done(p.see(ctx, "Stopped"))

	p.attach("read the report", "report.pdf", report)
	done(p.see(ctx, "Read: true."))
	p.say("send the numbers")
	done(p.see(ctx, "Sent it."))
	data, err := p.file(ctx, "numbers.csv")
	if done(err); !bytes.Equal(data, []byte("a;b\n1;2\n")) {
		t.Errorf("%s: the file reads %q", p.name, data)
	}
}

func onTelegram(fake *channeltest.Telegram) *place {
	fake.SetPerson(ana, channeltest.Person{Name: "Ana"})
	p := &place{name: "telegram", hold: make(chan struct{})}
	var last channeltest.Delivered
	p.say = func(text string) { last = fake.SendText(ana, ana, text) }
	p.begin = p.say
	p.attach = func(text, name string, data []byte) {
		last = fake.Send(channeltest.Incoming{Chat: ana, User: ana, Text: text, File: &channeltest.File{Name: name, MIME: "application/pdf", Data: data}})
	}
	p.taken = func(ctx context.Context) error { return fake.WaitConfirmed(ctx, last.UpdateID) }
	p.stop = func() { p.say("/stop") }
	p.see = func(ctx context.Context, text string) error {
		if text == "Working on it." || text == "The quick brown fox" {
			return fake.WaitDraft(ctx, ana, text) // it is being written
		}
		_, err := fake.WaitText(ctx, ana, text)
		return err
	}
	p.approve = func(ctx context.Context, about string) error {
		var question channeltest.SentMessage
		_, err := fake.Wait(ctx, ana, func(all []channeltest.SentMessage) bool {
			for _, m := range all {
				if strings.Contains(m.Text, about) && len(m.Buttons) > 0 {
					question = m
				}
			}
			return question.ID != 0
		})
		if err == nil {
			fake.Press(ana, ana, question.ID, question.Buttons[0][0].CallbackData)
		}
		return err
	}
	p.file = func(ctx context.Context, name string) (data []byte, err error) {
		_, err = fake.Wait(ctx, ana, func(all []channeltest.SentMessage) bool {
			for _, m := range all {
				if m.File != nil && m.File.Name == name {
					data = m.File.Data
				}
			}
			return data != nil
		})
		return data, err
	}
	return p
}

func onDiscord(fake *channeltest.Discord) *place {
	fake.SetPerson(eve, channeltest.DiscordPerson{Name: "Eve"})
	fake.AddChannel(lobby, channeltest.DiscordChannelOptions{Name: "lobby"})
	p := &place{name: "discord", hold: make(chan struct{})}
	var thread string
	p.begin = func(text string) { thread = fake.SendText(lobby, eve, "<@"+fake.BotID()+"> "+text) }
	p.say = func(text string) { fake.SendText(thread, eve, text) }
	p.attach = func(text, name string, data []byte) {
		fake.Send(channeltest.DiscordIncoming{Channel: thread, User: eve, Text: text,
			Files: []channeltest.DiscordFile{{File: channeltest.File{Name: name, MIME: "application/pdf", Data: data}}}})
	}
	p.taken = fake.WaitConfirmed
	p.stop = func() { fake.Slash(thread, eve, "stop", nil) }
	p.see = func(ctx context.Context, text string) error {
		_, err := fake.WaitText(ctx, thread, text)
		return err
	}
	find := func(ctx context.Context, want func(channeltest.DiscordMessage) bool) (found channeltest.DiscordMessage, err error) {
		_, err = fake.Wait(ctx, thread, func(all []channeltest.DiscordMessage) bool {
			for _, m := range all {
				if want(m) {
					found = m
					return true
				}
			}
			return false
		})
		return found, err
	}
	p.approve = func(ctx context.Context, about string) error {
		m, err := find(ctx, func(m channeltest.DiscordMessage) bool { return strings.Contains(m.Text, about) && len(m.Buttons) > 0 })
		if err == nil {
			fake.Press(thread, eve, m.ID, m.Buttons[0][0].CustomID)
		}
		return err
	}
	p.file = func(ctx context.Context, name string) ([]byte, error) {
		m, err := find(ctx, func(m channeltest.DiscordMessage) bool { return len(m.Files) > 0 && m.Files[0].Name == name })
		if err != nil {
			return nil, err
		}
		return m.Files[0].Data, nil
	}
	return p
}

func onSlack(fake *channeltest.Slack) *place {
	fake.SetPerson(eva, channeltest.SlackPerson{Name: "Eva"})
	p := &place{name: "slack", hold: make(chan struct{})}
	var root string
	p.begin = func(text string) { root = fake.SendText(lounge, eva, fake.Mention()+" "+text) }
	p.say = func(text string) {
		fake.Send(channeltest.SlackIncoming{Channel: lounge, User: eva, Thread: root, Text: text})
	}
	p.attach = func(text, name string, data []byte) {
		fake.Send(channeltest.SlackIncoming{Channel: lounge, User: eva, Thread: root, Text: text, File: &channeltest.File{Name: name, MIME: "application/pdf", Data: data}})
	}
	p.taken = fake.WaitAcked
	p.stop = func() { p.say(fake.Mention() + " /stop") }
	p.see = func(ctx context.Context, text string) error {
		_, err := fake.WaitText(ctx, lounge, text)
		return err
	}
	find := func(ctx context.Context, want func(channeltest.SlackMessage) bool) (found channeltest.SlackMessage, err error) {
		_, err = fake.Wait(ctx, lounge, func(all []channeltest.SlackMessage) bool {
			for _, m := range all {
				if want(m) {
					found = m
					return true
				}
			}
			return false
		})
		return found, err
	}
	p.approve = func(ctx context.Context, about string) error {
		m, err := find(ctx, func(m channeltest.SlackMessage) bool {
			return strings.Contains(m.Shown(), about) && len(m.Buttons()) > 0
		})
		if err == nil {
			fake.Press(lounge, eva, m.TS, m.Buttons()[0].Value)
		}
		return err
	}
	p.file = func(ctx context.Context, name string) ([]byte, error) {
		m, err := find(ctx, func(m channeltest.SlackMessage) bool {
			return m.User != eva && m.File != nil && m.File.Name == name
		})
		if err != nil {
			return nil, err
		}
		return m.File.Data, nil
	}
	return p
}
