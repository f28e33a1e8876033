package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/channels/web"
	"clawbot/config"
	"clawbot/gateway"
	"clawbot/internal/browsertest"
	"clawbot/internal/logring"
	"clawbot/internal/redact"
	"clawbot/server"
	"clawbot/store"
	"clawbot/store/memory"
	"clawbot/tools"
)

const patience = 30 * time.Second

// world is a bot with a platform, a chat page and the operator's page, all real
// but for the platform and the model.
type world struct {
	t       *testing.T
	store   store.Store
	gateway *gateway.Gateway
	admin   *Admin
	chat    *chat
	model   *model
	url     string
	log     *slog.Logger
	client  *http.Client
}

// options of a world; nil fields have their defaults.
type options struct {
	store  store.Store
	tokens []string
	owners []string
	admin  func(*Config)
}

func newWorld(t *testing.T, o options) *world {
	t.Helper()
	w := &world{t: t, store: o.store, chat: &chat{ready: make(chan struct{})}, model: &model{release: make(chan struct{})}, client: &http.Client{Timeout: patience}}
	if w.store == nil {
		w.store = memory.New()
		t.Cleanup(func() { _ = w.store.Close() })
	}
	ring := &logring.Ring{}
	w.log = slog.New(redact.New("hunter22").Handler(slog.NewTextHandler(ring, &slog.HandlerOptions{Level: slog.LevelDebug})))
	page, err := web.New(web.Config{Transcripts: noTranscripts{}})
	must(t, err)
	w.gateway, err = gateway.New(gateway.Config{
		Store: w.store, Channels: []channels.Channel{page, w.chat}, Model: w.model, Toolbox: toolbox{}, Logger: w.log,
		Queue: gateway.Queue{Debounce: -1}, LeaseTTL: 3 * time.Second, Drain: -1,
		Access: gateway.Access{DMPolicy: "open", Owners: o.owners, Channels: map[string]gateway.ChannelAccess{
			"web": {Owners: []string{"web:local"}},
		}},
	})
	must(t, err)
	_, shared := w.store.(interface {
		Claim(ctx context.Context, account, bot string) error
	})
	cfg := Config{
		Store: w.store, Gateway: w.gateway, Log: ring, Shared: shared, Logger: w.log,
		Tools:    listing,
		Settings: func() []config.Setting { return config.Default().Settings() },
		Exports: map[string]Export{"jsonl": func(_ context.Context, out io.Writer, _ store.Store, session string) error {
			_, err := fmt.Fprintf(out, "{\"session\":%q}\n", session)
			return err
		}},
		Info: Info{Name: "clawbot", Model: "test/one", Store: "memory", Version: "v1.2.3", Started: time.Now()},
	}
	if o.admin != nil {
		o.admin(&cfg)
	}
	w.admin, err = New(cfg)
	must(t, err)
	s, err := server.New(server.Config{Listen: "127.0.0.1:0", Tokens: o.tokens, Pages: []channels.Handler{page, w.admin}, Logger: w.log})
	must(t, err)
	must(t, s.Listen())
	w.url = strings.TrimSuffix(s.URL(), "/")
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for _, run := range []func(context.Context) error{w.gateway.Run, w.admin.Run, s.Run} {
		group.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		group.Wait()
		w.client.CloseIdleConnections()
	})
	<-w.chat.ready
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type noTranscripts struct{}

func (noTranscripts) Sessions(context.Context, string, string, int) ([]web.Session, string, error) {
	return nil, "", nil
}

func (noTranscripts) Read(context.Context, string, int64, int) ([]web.Entry, error) { return nil, nil }

func listing(_ context.Context, who Audience) ([]Tool, error) {
	list := []Tool{{Name: "read_file", Visible: true, Source: "builtin", Approval: "never"}, {Name: "exec", Source: "builtin", Approval: "by command", Hidden: []string{"unsupported: no sandbox here"}}}
	if who.Guest {
		list[0].Visible, list[0].Hidden = false, []string{"policy: not for guests"}
	}
	return list, nil
}

// chat is a platform that keeps nothing.
type chat struct {
	host  channels.Host
	ready chan struct{}
	mu    sync.Mutex
	posts []string
	n     int
}

func (*chat) Name() string { return "chat" }

func (c *chat) Receive(ctx context.Context, host channels.Host) error {
	c.host = host
	close(c.ready)
	<-ctx.Done()
	return nil
}

func (c *chat) Post(_ context.Context, _ channels.Target, out channels.Outgoing) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.posts = append(c.posts, out.Markdown)
	return fmt.Sprint(len(c.posts)), nil
}

func (c *chat) Edit(context.Context, channels.Target, string, channels.Outgoing) error { return nil }

func (c *chat) Limits(channels.Target) channels.Limits {
	return channels.Limits{Text: 4096, Measure: func(s string) int { return len(s) }, EditEvery: 50 * time.Millisecond}
}

// say has Ann write in a conversation of the platform.
func (w *world) say(conversation, text string) {
	w.t.Helper()
	w.chat.mu.Lock()
	w.chat.n++
	id := fmt.Sprint("e", w.chat.n)
	w.chat.mu.Unlock()
	must(w.t, w.chat.host.Accept(w.t.Context(), channels.Inbound{
		Kind: channels.Message, EventID: conversation + ":" + id, MessageID: id,
		Target: channels.Target{Conversation: conversation, Chat: conversation, Direct: true},
		Sender: channels.Sender{ID: "7", Name: "Ann"}, Addressed: true, Text: text, At: time.Now(),
	}))
}

// settle waits until nothing is worked on.
func (w *world) settle() {
	w.t.Helper()
	w.until("the bot is idle", func() bool {
		list, _, err := w.store.Archive().Sessions(w.t.Context(), "", "", 1000)
		must(w.t, err)
		for _, s := range list {
			if s.Owner != "" || s.Waiting > 0 {
				return false
			}
		}
		return w.gateway.Active() == 0
	})
}

func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !cond() {
		select {
		case <-tick.C:
		case <-end:
			w.t.Fatalf("never happened: %s", what)
		}
	}
}

// model answers by what it is told: "slow" waits in the middle until release is
// closed, "act" calls a tool, everything else is repeated.
type model struct{ release chan struct{} }

func (m *model) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return func(yield func(agentcore.StreamEvent, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		text := func(s string) bool {
			return yield(agentcore.StreamEvent{Type: agentcore.StreamText, Delta: s}, nil)
		}
		usage := agentcore.Usage{Input: 1200, CacheRead: 800, Output: 34, Cost: 12_300_000}
		switch {
		case last.Role == agentcore.RoleToolResult:
			text("The tool said: " + last.Text())
		case strings.HasPrefix(last.Text(), "act"):
			yield(agentcore.StreamEvent{Type: agentcore.StreamToolCall, ID: "c-" + last.ID, Name: "act"}, nil)
			yield(agentcore.StreamEvent{Type: agentcore.StreamArguments, Delta: `{"command":"rm -rf build"}`}, nil)
			yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: agentcore.StopToolUse, Usage: usage}, nil)
			return
		case strings.HasPrefix(last.Text(), "slow"):
			text("It begins")
			select {
			case <-m.release:
			case <-ctx.Done():
				yield(agentcore.StreamEvent{}, ctx.Err())
				return
			}
			text(" and ends.")
		default:
			text("You said **" + last.Text() + "**")
		}
		yield(agentcore.StreamEvent{Type: agentcore.StreamDone, Stop: agentcore.StopEnd, Usage: usage}, nil)
	}
}

// toolbox has one tool that a person must approve.
type toolbox struct{}

func (toolbox) For(context.Context, gateway.ToolRequest) []*agentcore.Tool {
	return []*agentcore.Tool{{
		Name: "act", Description: "act", Schema: []byte(`{"type":"object"}`),
		Execute: func(context.Context, agentcore.Call, func(agentcore.Update)) (agentcore.Result, error) {
			return agentcore.TextResult("acted"), nil
		},
	}}
}

func (toolbox) Judge(context.Context, agentcore.Call) (tools.Decision, error) {
	return tools.Decision{Reason: "it deletes", Show: "rm -rf build", Where: "workspace", Binding: "b", Rule: "r"}, nil
}

// do asks the API and returns the status and the decoded answer.
func (w *world) do(method, path, body string, headers ...string) (int, map[string]any) {
	w.t.Helper()
	req, err := http.NewRequest(method, w.url+path, strings.NewReader(body))
	must(w.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := w.client.Do(req)
	must(w.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must(w.t, err)
	var answer map[string]any
	if json.Unmarshal(data, &answer) != nil {
		answer = map[string]any{"text": string(data)}
	}
	return resp.StatusCode, answer
}

// open opens a tab at a view.
func (w *world) open(path string) *browsertest.Tab {
	w.t.Helper()
	tab := browsertest.Open(w.t, w.url)
	tab.Visit(path)
	return tab
}
