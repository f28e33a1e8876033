package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
	"clawbot/internal/redistest"
)

// fleet is several replicas over one redis-server behind a load balancer that
// Telegram posts to. world.bot is the first of them.
type fleet struct {
	*world
	redis    *redistest.Server
	balancer *httptest.Server
	bots     []*process
	mode     string

	mu   sync.Mutex
	urls []string // of the replicas' pages; empty: down
	// only is the replica that gets everything; -1: each in its turn.
	only int
	turn atomic.Int64
}

func newFleet(t *testing.T, replicas int, mode string, script modeltest.Script) *fleet {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	t.Cleanup(cancel)
	f := &fleet{
		world: &world{t: t, ctx: ctx, dir: t.TempDir(), telegram: channeltest.NewTelegram(channeltest.TelegramConfig{}), model: modeltest.New(script)},
		redis: redistest.Start(t, redistest.Durable()...), mode: mode,
		bots: make([]*process, replicas), urls: make([]string, replicas), only: -1,
	}
	t.Cleanup(f.model.Close)
	t.Cleanup(f.telegram.Close)
	f.telegram.SetPerson(ana, channeltest.Person{Name: "Ana"})
	f.balancer = httptest.NewServer(http.HandlerFunc(f.balance))
	t.Cleanup(f.balancer.Close)
	f.write(f.redis.URL())
	for i := range replicas {
		f.startReplica(i)
	}
	return f
}

// write makes the configuration that all replicas have.
func (f *fleet) write(redis string) {
	f.t.Helper()
	must(f.t, os.WriteFile(filepath.Join(f.dir, "clawbot.toml"), fmt.Appendf(nil, `[agent]
model = "test/scripted-1"
[providers.test]
format = "openai"
base_url = %q
api_key = "sk-test-canary-0123456789"
[server]
listen = "127.0.0.1:0"
drain = "2s"
[store]
driver = "redis"
url = %q
lease_ttl = "1s"
[access]
owners = ["telegram:%d"]
dm_policy = "open"
[channels.telegram]
token = %q
api_url = %q
mode = %q
webhook_url = "%s/webhook/telegram"
`, f.model.URL(), redis, ana, f.telegram.Token(), f.telegram.URL(), f.mode, f.balancer.URL), 0o600))
}

func (f *fleet) startReplica(i int) {
	f.t.Helper()
	p := startProcess(f.t, f.dir, nil, "run", "--config", filepath.Join(f.dir, "clawbot.toml"))
	url := p.page()
	if f.mode == "webhook" {
		p.waitLog("telegram posts to the webhook")
	}
	f.bots[i], f.bot = p, p
	f.mu.Lock()
	f.urls[i] = url
	f.mu.Unlock()
}

// down takes a replica out of the balancer.
func (f *fleet) down(i int) *process {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.urls[i] = ""
	return f.bots[i]
}

// via has replica i get what Telegram posts.
func (f *fleet) via(i int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.only = i
}

func (f *fleet) pick() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.only >= 0 {
		return f.urls[f.only]
	}
	for range f.urls {
		if url := f.urls[int(f.turn.Add(1))%len(f.urls)]; url != "" {
			return url
		}
	}
	return ""
}

// balance posts a request on to a replica.
func (f *fleet) balance(w http.ResponseWriter, r *http.Request) {
	url := f.pick()
	if url == "" {
		http.Error(w, "no replica", http.StatusBadGateway)
		return
	}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, url+r.URL.Path, r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	req.Header = r.Header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}

// logs are those of all replicas.
func (f *fleet) logs() string {
	var all strings.Builder
	for i, p := range f.bots {
		fmt.Fprintf(&all, "--- replica %d\n%s", i, p.log())
	}
	return all.String()
}

// owner is the replica whose log tells of a run.
func (f *fleet) owner() int {
	f.t.Helper()
	for i, p := range f.bots {
		if strings.Contains(p.log(), "run started") {
			return i
		}
	}
	f.t.Fatalf("nobody runs:\n%s", f.logs())
	return -1
}

// runs is how many runs each replica has begun.
func (f *fleet) runs() []int {
	counts := make([]int, len(f.bots))
	for i, p := range f.bots {
		counts[i] = strings.Count(p.log(), "run started")
	}
	return counts
}

// newRunner waits for the replica that has begun a run since.
func (f *fleet) newRunner(since []int) int {
	f.t.Helper()
	for {
		for i, n := range f.runs() {
			if n > since[i] {
				return i
			}
		}
		select {
		case <-f.ctx.Done():
			f.t.Fatalf("nobody runs:\n%s", f.logs())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestAMessageToAnotherReplicaSteersTheRun(t *testing.T) {
	hold := make(chan struct{})
	f := newFleet(t, 3, "webhook", modeltest.Turns(
		modeltest.Turn{Text: "Working on it.", Calls: []modeltest.Call{{Name: "list_dir", Arguments: `{}`}}, Hold: hold, After: 1},
		modeltest.Say("Done, in French."),
	))
	f.via(0)
	f.say("write a poem")
	f.nextRequest()
	f.saying("Working on it.")
	if o := f.owner(); o != 0 {
		t.Fatalf("replica %d runs", o)
	}
	f.via(1)
	must(t, f.telegram.WaitConfirmed(f.ctx, f.say("make it French").UpdateID))
	close(hold)
	if second := f.nextRequest(); !second.Mentions("make it French") || !second.Mentions("write a poem") {
		t.Errorf("the second request has %+v", second.Messages)
	}
	f.saying("Done, in French.")
	if n := f.model.Count(); n != 2 {
		t.Errorf("%d model calls, want 2: the first run goes on\n%s", n, f.logs())
	}
}

func TestStopOnAnotherReplicaEndsTheRun(t *testing.T) {
	f := newFleet(t, 3, "webhook", modeltest.Turns(
		modeltest.Turn{Text: "The quick brown fox jumps over the lazy dog, and then", Stall: true, After: 1},
		modeltest.Say("Here again."),
	))
	f.via(0)
	f.say("tell me a story")
	f.saying("The quick brown fox")
	f.via(2)
	f.say("/stop")
	f.saying("Stopped")
	if f.model.Active() != 0 {
		t.Error("the model's stream is still open")
	}
	f.via(1)
	f.say("are you there?")
	f.saying("Here again.")
}

func TestAnotherReplicaFinishesTheMessageOfAKilledOne(t *testing.T) {
	text := strings.TrimSpace(strings.Repeat("A sentence that is long enough to be shown early. ", 10))
	f := newFleet(t, 3, "webhook", modeltest.Turns(
		modeltest.Turn{Text: text, Chunk: 50, Pace: 300 * time.Millisecond, Stall: true, After: 8},
		modeltest.Turn{Text: text, Chunk: 50},
		modeltest.Say("And this is next."),
	))
	f.via(0)
	f.say("go")
	f.wait(func(messages []channeltest.SentMessage) bool {
		return len(messages) > 0 && len(messages[0].History) > 1
	})
	f.via(1)
	f.down(0).kill()
	messages := f.wait(func(messages []channeltest.SentMessage) bool {
		return strings.TrimSpace(messages[len(messages)-1].Text) == text
	})
	if len(messages) != 1 {
		t.Errorf("%d messages, want the first one finished:\n%s", len(messages), transcript(messages))
	}
	f.say("next")
	f.answer("And this is next.")
	if n := f.model.Count(); n != 3 {
		t.Errorf("%d model calls, want 3", n)
	}
}

func TestAnotherReplicaPollsWhenThePollerIsKilled(t *testing.T) {
	f := newFleet(t, 3, "poll", modeltest.Always(modeltest.Say("hi")))
	for round := range 2 {
		must(t, f.telegram.WaitPoll(f.ctx))
		f.say(fmt.Sprint("hello ", round))
		f.wait(func(messages []channeltest.SentMessage) bool { return len(messages) == round+1 })
		for i, p := range f.bots {
			if strings.Contains(p.log(), "telegram is polled") && f.urls[i] != "" {
				f.down(i).kill()
			}
		}
	}
	f.say("still there?")
	f.wait(func(messages []channeltest.SentMessage) bool { return len(messages) == 3 })
}

func TestARollingRestartUnderLoadLosesNothing(t *testing.T) {
	f := newFleet(t, 3, "webhook", func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		if last := req.Messages[len(req.Messages)-1]; last.Role == "tool" {
			return modeltest.Turn{Text: "answer to " + number(req.LastUser()), Chunk: 4, Pace: 10 * time.Millisecond}
		}
		return modeltest.Use("list_dir", `{}`)
	})
	const chats, rounds = 12, 5
	var talking sync.WaitGroup
	for c := range int64(chats) {
		chat := 100 + c
		f.telegram.SetPerson(chat, channeltest.Person{Name: fmt.Sprint("Person", c)})
		talking.Go(func() {
			for round := range rounds {
				f.telegram.SendText(chat, chat, fmt.Sprintf("question #%d.", round))
				want := fmt.Sprintf("answer to #%d.", round)
				if _, err := f.telegram.WaitText(f.ctx, chat, want); err != nil {
					t.Errorf("chat %d: %v", chat, err)
					return
				}
			}
		})
	}
	for i := range f.bots {
		must(t, f.down(i).stop())
		f.startReplica(i)
	}
	talking.Wait()
	if t.Failed() {
		t.Fatal(f.logs())
	}
	for c := range int64(chats) {
		for round := range rounds {
			n := 0
			for _, m := range f.telegram.Messages(100 + c) {
				n += strings.Count(m.Text, fmt.Sprintf("answer to #%d.", round))
			}
			if n != 1 {
				t.Errorf("chat %d has %d answers to question %d:\n%s", 100+c, n, round, transcript(f.telegram.Messages(100+c)))
			}
		}
	}
}

// number is what follows the last # of a question.
func number(text string) string {
	at := strings.LastIndex(text, "#")
	if at < 0 {
		return "nothing"
	}
	return text[at : strings.Index(text[at:], ".")+at+1]
}

func TestWithoutRedisNothingIsAcceptedAndAfterwardsAllIsAnswered(t *testing.T) {
	hold := make(chan struct{})
	f := newFleet(t, 2, "webhook", func(_ context.Context, req *modeltest.Request) modeltest.Turn {
		if req.Mentions("two") {
			return modeltest.Say("Both are seen.")
		}
		return modeltest.Turn{Text: "One is seen.", Hold: hold}
	})
	f.say("one")
	f.nextRequest()
	f.redis.Kill()
	f.waitReady(http.StatusServiceUnavailable, "start Redis")
	f.say("two")
	for _, p := range f.bots {
		if status, body := p.get("/healthz"); status != http.StatusOK {
			t.Errorf("/healthz is %d without Redis: %s", status, body)
		}
	}
	close(hold)
	must(t, f.redis.Restart())
	f.waitReady(http.StatusOK, "")
	f.saying("Both are seen.")
	requests := f.model.Requests()
	if last := requests[len(requests)-1]; !last.Mentions("one") {
		t.Errorf("the first message is forgotten: %+v", last.Messages)
	}
	if n := f.answers("Both are seen."); n != 1 {
		t.Errorf("%d answers:\n%s\n%s", n, transcript(f.telegram.Messages(ana)), f.logs())
	}
}

// waitReady waits until all replicas answer so.
func (f *fleet) waitReady(status int, saying string) {
	f.t.Helper()
	for _, p := range f.bots {
		for {
			got, body := p.get("/readyz")
			if got == status && strings.Contains(body, saying) {
				break
			}
			select {
			case <-f.ctx.Done():
				f.t.Fatalf("/readyz is %d: %s\n%s", got, body, f.logs())
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

func TestABotOnAnotherBotsPrefixRefuses(t *testing.T) {
	f := newFleet(t, 1, "webhook", modeltest.Always(modeltest.Say("hi")))
	config, err := os.ReadFile(filepath.Join(f.dir, "clawbot.toml"))
	must(t, err)
	other := strings.Replace(string(config), f.telegram.Token(), "999:other", 1)
	must(t, os.WriteFile(filepath.Join(f.dir, "other.toml"), []byte(other), 0o600))
	p := startProcess(t, f.dir, nil, "run", "--config", filepath.Join(f.dir, "other.toml"))
	<-p.done
	if p.err == nil || !strings.Contains(p.log(), "another bot") || !strings.Contains(p.log(), "store.prefix") {
		t.Errorf("the other bot ended with %v:\n%s", p.err, p.log())
	}
}

func TestAReplicaWithAnotherWorkspaceIsNotReady(t *testing.T) {
	f := newFleet(t, 1, "webhook", modeltest.Always(modeltest.Say("hi")))
	f.waitReady(http.StatusOK, "")
	config, err := os.ReadFile(filepath.Join(f.dir, "clawbot.toml"))
	must(t, err)
	lone := t.TempDir()
	must(t, os.WriteFile(filepath.Join(lone, "clawbot.toml"), config, 0o600))
	p := startProcess(t, lone, nil, "run", "--config", filepath.Join(lone, "clawbot.toml"))
	status, body := p.get("/readyz")
	var answer struct {
		Checks []struct{ Name, Error string }
	}
	must(t, json.Unmarshal([]byte(body), &answer))
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "mount the same volume") {
		t.Errorf("/readyz is %d: %s", status, body)
	}
}

func TestThePageWorksFromAnyReplica(t *testing.T) {
	f := newFleet(t, 3, "webhook", modeltest.Turns(
		modeltest.Turn{Text: "The quick brown fox jumps over the lazy dog, and then", Stall: true, After: 1},
	))
	post := func(replica int, path, body string) {
		t.Helper()
		resp, err := http.Post(f.bots[replica].page()+"/api/conversations/"+path, "application/json", strings.NewReader(body))
		must(t, err)
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusAccepted {
			answer, _ := io.ReadAll(resp.Body)
			t.Fatalf("%s is %d: %s", path, resp.StatusCode, answer)
		}
	}
	req, err := http.NewRequestWithContext(f.ctx, http.MethodGet, f.bots[1].page()+"/api/conversations/shared/events", nil)
	must(t, err)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	live := bufio.NewReader(resp.Body)
	until := func(text string) {
		t.Helper()
		for {
			line, err := live.ReadString('\n')
			if strings.Contains(line, text) {
				return
			}
			if err != nil {
				t.Fatalf("the live tail ends before %q: %v\n%s", text, err, f.logs())
			}
		}
	}
	post(0, "shared/messages", `{"id":"m1","text":"tell me a story"}`)
	until("tell me a story")
	until("quick brown fox")
	post(2, "shared/stop", `{"id":"s1"}`)
	until("run_end")
	if f.model.Active() != 0 {
		t.Error("the model's stream is still open")
	}
}
