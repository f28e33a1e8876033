package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
	"clawbot/internal/redistest"
)

const (
	prefix = "chaos"
	// canary is a secret that must turn up nowhere.
	canary = "sk-chaos-canary-5d41402abc4b2a76"
)

// world is everything of one run.
type world struct {
	dir      string
	kept     bool
	redis    *redistest.Server
	redisMu  sync.Mutex
	telegram *channeltest.Telegram
	model    *modeltest.Server
	http     *httptest.Server
	replicas []*replica
	settings settings
	mutant   string
	schedule schedule
	random   *rand.Rand // of the one goroutine that chooses faults

	faults  faultLog
	sent    atomic.Int64
	waits   waits
	client  *http.Client
	doubled int            // finals delivered more than once
	late    sync.WaitGroup // deliveries that are made again
	closing chan struct{}

	mu      sync.Mutex
	touched map[string]int
	chats   []*chat
	failed  []string
}

func newWorld(ctx context.Context, o options, s schedule) (*world, error) {
	dir, err := os.MkdirTemp("", "clawbot-chaos-")
	if err != nil {
		return nil, err
	}
	w := &world{
		dir: dir, kept: o.keep, mutant: s.mutant, schedule: s, touched: map[string]int{}, closing: make(chan struct{}),
		faults: faultLog{counts: map[string]int{}}, client: &http.Client{Timeout: time.Second},
		telegram: channeltest.NewTelegram(channeltest.TelegramConfig{Lean: true}),
		model:    modeltest.NewServer(modeltest.Config{Script: s.answer, Lean: true}),
	}
	if w.redis, err = redistest.New(filepath.Join(dir), redistest.Durable()...); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/world", w.touch)
	mux.HandleFunc("/webhook/telegram", w.balance)
	w.http = httptest.NewServer(mux)
	w.settings = settings{
		Prefix: prefix, Telegram: w.telegram.URL(), Token: w.telegram.Token(), Webhook: w.http.URL + "/webhook/telegram",
		Model: w.model.URL(), Key: canary, World: w.http.URL + "/world", Deaf: s.deaf, Timeless: s.timeless,
	}
	for i := range o.replicas {
		r := &replica{number: i}
		if r.proxy, err = redistest.NewProxy(w.redis.Addr); err != nil {
			return nil, err
		}
		w.replicas = append(w.replicas, r)
	}
	for _, r := range w.replicas {
		w.start(r)
	}
	if len(w.failed) > 0 {
		defer w.close()
		return nil, fmt.Errorf("%s", w.failed[0])
	}
	return w, ctx.Err()
}

func (w *world) close() {
	close(w.closing)
	w.late.Wait()
	for _, r := range w.replicas {
		r.kill()
		r.proxy.Close()
	}
	w.http.Close()
	w.telegram.Close()
	w.model.Close()
	w.redis.Kill()
	if !w.kept {
		_ = os.RemoveAll(w.dir)
	}
}

// fail notes what goes wrong with the world itself.
func (w *world) fail(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = append(w.failed, what)
}

// start runs a replica's process and waits until it listens. One that ends at
// once, because Redis is away, is started again, as whatever runs replicas does.
func (w *world) start(r *replica) {
	cfg := w.settings
	cfg.Redis = r.proxy.URL()
	encoded, err := json.Marshal(cfg)
	if err == nil {
		env := append(os.Environ(), settingsVariable+"="+string(encoded), mutantVariable+"="+w.mutant)
		for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
			err = r.start(filepath.Join(w.dir, fmt.Sprintf("replica%d.log", r.number)), env)
			if err == nil || time.Since(began) > 20*time.Second {
				break
			}
		}
	}
	if err != nil {
		w.fail(fmt.Sprintf("replica %d does not start: %v", r.number, err))
	}
}

// touch counts what the tool did.
func (w *world) touch(_ http.ResponseWriter, req *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.touched[req.URL.Query().Get("id")]++
}

// balance gives what Telegram posts to any replica. Some of it is posted again
// later, and of some the answer is lost, so that Telegram does that.
func (w *world) balance(out http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil || !w.post(req.Header, body) {
		http.Error(out, "try again", http.StatusBadGateway)
		return
	}
	if rand.IntN(100) < w.schedule.doubles {
		header := req.Header.Clone()
		w.late.Go(func() {
			select {
			case <-time.After(time.Duration(rand.IntN(1500)) * time.Millisecond):
				w.post(header, body)
			case <-w.closing:
			}
		})
	}
	if rand.IntN(100) < w.schedule.forgets {
		http.Error(out, "lost", http.StatusBadGateway)
	}
}

func (w *world) post(header http.Header, body []byte) bool {
	r := w.replicas[rand.IntN(len(w.replicas))]
	url := r.url()
	if url == "" {
		return false
	}
	req, err := http.NewRequest(http.MethodPost, url+"/webhook/telegram", bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header = header.Clone()
	resp, err := w.client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
