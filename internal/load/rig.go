package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"clawbot/channels/channeltest"
	"clawbot/internal/modeltest"
)

// rig is the binary with its platform and its model.
type rig struct {
	s        settings
	telegram *channeltest.Telegram
	model    *modeltest.Server
	front    *httptest.Server
	cmd      *exec.Cmd
	log      *os.File

	wire atomic.Int64 // bytes of requests to the model

	mu    sync.Mutex
	asked map[string]time.Time // when the model was first asked, by message
	ended map[string]time.Time // when its last byte was written, by message
}

// mark is put into a request's context for the script to say whom it serves.
type mark struct {
	message string
	final   bool
}

type markKey struct{}

func newRig(ctx context.Context, dir string, s settings) (*rig, error) {
	r := &rig{s: s, asked: make(map[string]time.Time), ended: make(map[string]time.Time)}
	r.telegram = channeltest.NewTelegram(channeltest.TelegramConfig{RateLimits: s.limits, Lean: true})
	r.model = modeltest.NewServer(modeltest.Config{Script: r.script, Lean: true})
	r.front = httptest.NewServer(http.HandlerFunc(r.serve))
	if err := r.start(ctx, dir); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *rig) start(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	config := fmt.Sprintf(`[agent]
model = "load/scripted"
[providers.load]
format = "openai"
base_url = %q
api_key = "none"
[server]
listen = "127.0.0.1:0"
max_runs = 10000
[access]
dm_policy = "open"
[channels.telegram]
token = %q
api_url = %q
%s
`, r.front.URL, r.telegram.Token(), r.telegram.URL(), r.s.config)
	file := filepath.Join(dir, "clawbot.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return err
	}
	var err error
	if r.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		return err
	}
	r.cmd = exec.CommandContext(ctx, r.s.binary, "run", "--config", file)
	r.cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "CLAWBOT_PPROF=" + os.Getenv("CLAWBOT_PPROF")}
	r.cmd.Stdout, r.cmd.Stderr = r.log, r.log
	begun := time.Now()
	if err := r.cmd.Start(); err != nil {
		return err
	}
	polling, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := r.telegram.WaitPoll(polling); err != nil {
		said, _ := os.ReadFile(r.log.Name())
		return fmt.Errorf("the bot does not poll: %w\n%s", err, said)
	}
	if r.s.quiet > 0 {
		fmt.Printf("start to first poll %d ms\n", time.Since(begun).Milliseconds())
	}
	return nil
}

func (r *rig) close() {
	if r.cmd != nil && r.cmd.Process != nil {
		_ = r.cmd.Process.Kill() // it is measured already
		_ = r.cmd.Wait()
	}
	if r.log != nil {
		_ = r.log.Close()
	}
	r.front.Close()
	r.model.Close()
	r.telegram.Close()
}

// serve passes requests to the model and notes when their last byte is out.
func (r *rig) serve(w http.ResponseWriter, req *http.Request) {
	m := &mark{}
	r.wire.Add(req.ContentLength)
	r.model.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), markKey{}, m)))
	if m.final {
		r.mu.Lock()
		r.ended[m.message] = time.Now()
		r.mu.Unlock()
	}
}

// script answers a message with a tool call and its result with a stream.
func (r *rig) script(ctx context.Context, req *modeltest.Request) modeltest.Turn {
	last := req.LastUser()
	message := last[strings.LastIndex(last, "#")+1:]
	m, _ := ctx.Value(markKey{}).(*mark)
	m.message = message
	if req.Last().Role == "tool" {
		m.final = true
		return modeltest.Turn{Text: answer(message, r.s.deltas), Chunk: chunk, Pace: r.s.stream / time.Duration(max(r.s.deltas, 1))}
	}
	r.mu.Lock()
	if _, again := r.asked[message]; !again {
		r.asked[message] = time.Now()
	}
	r.mu.Unlock()
	return modeltest.Use("current_time", "{}")
}

const chunk = 20

// answer is a text of n chunks that ends with the message's name.
func answer(message string, n int) string {
	end := "end #" + message
	return strings.Repeat("twenty characters.. ", max(n-1, 0)) + end
}

// usage is what the process has used.
type usage struct {
	cpu time.Duration
	pss int64 // bytes
}

func (r *rig) usage() usage {
	var u usage
	pid := strconv.Itoa(r.cmd.Process.Pid)
	if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil {
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		user, _ := strconv.ParseInt(fields[11], 10, 64)
		system, _ := strconv.ParseInt(fields[12], 10, 64)
		u.cpu = time.Duration(user+system) * 10 * time.Millisecond
	}
	if rollup, err := os.ReadFile("/proc/" + pid + "/smaps_rollup"); err == nil {
		for line := range strings.Lines(string(rollup)) {
			if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
				kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
				u.pss = kb << 10
			}
		}
	}
	return u
}
