package discord

import (
	"encoding/json"
	"testing"

	"clawbot/channels"
	"clawbot/channels/markdown"
)

// offline is a bot that knows its server and can reach nobody.
func offline(tb testing.TB) *connection {
	tb.Helper()
	c, err := New(Config{Token: secret("ODAwMDAwMDAwMDAwMDAwMDAx.x.y"), APIURL: "http://127.0.0.1:1"})
	if err != nil {
		tb.Fatal(err)
	}
	c.world.learnGuild(&guildInfo{
		ID: "900", Roles: []role{{ID: "900"}, {ID: "909"}},
		Channels: []channelInfo{{ID: "600", Name: "room"}}, Threads: []channelInfo{{ID: "500", Type: 11, ParentID: "600"}},
	}, c.botID)
	return &connection{shard: &shard{Channel: c}}
}

func FuzzAnyEventIsReadOrSkipped(f *testing.F) {
	for _, data := range []string{
		`{"id":"1","channel_id":"600","guild_id":"900","type":0,"content":"<@800000000000000001> hi <#600> <:a:1>","author":{"id":"7"},"member":{"roles":["909"]},"mentions":[{"id":"800000000000000001"}]}`,
		`{"id":"1","channel_id":"500","guild_id":"900","type":19,"content":"x","author":{"id":"7"},"member":{},"referenced_message":{"author":{"id":"800000000000000001"}},"mention_roles":["909"]}`,
		`{"id":"1","channel_id":"500","guild_id":"900","type":21,"content":"","author":{"id":"7"},"referenced_message":{"id":"2","content":"y","author":{"id":"8"}}}`,
		`{"id":"1","channel_id":"2","content":"","author":{"id":"7"},"message_snapshots":[{"message":{"content":"z","attachments":[{"id":"4"}]}}],"edited_timestamp":"2026-01-01T00:00:00Z"}`,
		`{"id":"1","token":"t","type":3,"channel_id":"2","user":{"id":"7"},"message":{"id":"5"},"data":{"custom_id":"x"}}`,
		`{"id":"1","token":"t","type":2,"channel_id":"600","guild_id":"900","member":{"user":{"id":"7"},"permissions":"8"},"data":{"name":"x","options":[{"value":{}}]}}`,
	} {
		f.Add([]byte(data))
	}
	c := offline(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, ok := decodeEvent[message](data); ok && (m.GuildID == "" || m.GuildID == "900" && (m.ChannelID == "500" || m.ChannelID == "600") && m.Member != nil) {
			for _, read := range []func() (*channels.Inbound, error){
				func() (*channels.Inbound, error) { return c.readMessage(t.Context(), &m, channels.Message) },
				func() (*channels.Inbound, error) { return c.readUpdate(t.Context(), &m) },
			} {
				checkInbound(t, read)
			}
		}
		if i, ok := decodeEvent[interactionEvent](data); ok && i.GuildID == "" {
			checkInbound(t, func() (*channels.Inbound, error) { return c.readInteraction(t.Context(), &i) })
		}
		_, _ = decodeEvent[guildInfo](data)
	})
}

func checkInbound(t *testing.T, read func() (*channels.Inbound, error)) {
	t.Helper()
	in, err := read()
	if err != nil {
		t.Error(err)
	}
	if in != nil && (in.EventID == "" || in.MessageID == "" || in.Target.Conversation == "" || in.Target.Chat == "" || in.Kind == 0) {
		t.Errorf("read as %+v", in)
	}
}

func FuzzAnyTextIsRenderedWithinTheLimit(f *testing.F) {
	f.Add("**a**", "reading @everyone")
	f.Add("```go\nx", "")
	f.Fuzz(func(t *testing.T, text, status string) {
		b, err := newBody(channels.Outgoing{Markdown: text, Status: status, Draft: true})
		if err == nil && (b.Content == "" || markdown.UTF16Len(b.Content) > maxText) {
			t.Errorf("%q is rendered as %q", text, b.Content)
		}
		if name := threadName(text); markdown.UTF16Len(name) > maxThreadName {
			t.Errorf("%q makes a thread's name of %q", text, name)
		}
	})
}

func BenchmarkReadMessage(b *testing.B) {
	c := offline(b)
	p := &payload{Type: "MESSAGE_CREATE", Data: json.RawMessage(`{"id":"1500000000000000001","channel_id":"600","guild_id":"900","type":0,"content":"<@800000000000000001> what is the weather?","author":{"id":"700000000000000071","username":"ann","global_name":"Ann","avatar":null,"discriminator":"0"},"member":{"roles":["909"],"joined_at":"2024-01-01T00:00:00.000000+00:00","deaf":false},"mentions":[{"id":"800000000000000001","username":"clawbot"}],"mention_roles":[],"attachments":[],"embeds":[],"components":[],"timestamp":"2026-01-01T00:00:00.000000+00:00","edited_timestamp":null,"flags":0,"pinned":false,"tts":false}`)}
	b.ReportAllocs()
	for b.Loop() {
		j := c.plan(b.Context(), p)
		if in, err := j.read(b.Context()); err != nil || !in.Addressed {
			b.Fatal(in, err)
		}
	}
}
