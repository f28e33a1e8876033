package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
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
	standby  *redistest.Server // a replica of redis, in a schedule with failovers
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
	wire    wire
	rolling sync.Mutex
	rolled  int          // how many replicas were
	stalls  atomic.Int64 // of the machine
	feeling chan struct{}
	sent    atomic.Int64
	waits   waits
	doubled int // finals delivered more than once
	ingress *ingress

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
		dir: dir, kept: o.keep, mutant: s.mutant, schedule: s, touched: map[string]int{},
		faults:   faultLog{counts: map[string]int{}},
		wire:     wire{writes: map[string][]write{}, hindered: map[int][]span{}},
		feeling:  make(chan struct{}),
		telegram: channeltest.NewTelegram(channeltest.TelegramConfig{Lean: true}),
		model:    modeltest.NewServer(modeltest.Config{Script: s.answer, Lean: true}),
	}
	if err := w.startRedis(); err != nil {
		return nil, err
	}
	w.ingress = newIngress(w)
	mux := http.NewServeMux()
	mux.HandleFunc("/world", w.touch)
	mux.HandleFunc("/webhook/telegram", w.ingress.take)
	mux.HandleFunc("/platform/", w.written)
	w.http = httptest.NewServer(mux)
	w.settings = settings{
		Prefix: prefix, Token: w.telegram.Token(), Webhook: w.http.URL + "/webhook/telegram",
		Model: w.model.URL(), Key: canary, World: w.http.URL + "/world", TTL: s.ttl, Replicated: s.replicated, Deaf: s.deaf, Timeless: s.timeless,
	}
	go w.feel(w.feeling)
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
	close(w.feeling)
	w.ingress.close()
	for _, r := range w.replicas {
		r.kill()
		r.proxy.Close()
	}
	w.http.Close()
	w.telegram.Close()
	w.model.Close()
	w.redis.Kill()
	if w.standby != nil {
		w.standby.Kill()
	}
	if !w.kept {
		_ = os.RemoveAll(w.dir)
	}
}

// startRedis runs a server, and in a schedule with failovers one that follows it.
func (w *world) startRedis() (err error) {
	settings := append(redistest.Durable(), "--repl-diskless-sync-delay", "0")
	if w.redis, err = redistest.New(w.dir, settings...); err != nil || !w.schedule.replicated {
		return err
	}
	dir := filepath.Join(w.dir, "standby")
	if err = os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	w.standby, err = redistest.New(dir, append(settings, "--replicaof", strings.Replace(w.redis.Addr, ":", " ", 1))...)
	return err
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
	cfg.Telegram = fmt.Sprintf("%s/platform/%d", w.http.URL, r.number)
	encoded, err := json.Marshal(cfg)
	if err == nil {
		env := append(os.Environ(), settingsVariable+"="+string(encoded), mutantVariable+"="+w.mutant)
		for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
			err = r.start(filepath.Join(w.dir, fmt.Sprintf("replica%d.log", r.number)), env)
			if err == nil || time.Since(began) > time.Minute {
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
