package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// ingress brings what Telegram posts to the replicas: of each chat in order, of
// all chats at once, again and again until a replica takes it. Some of it is
// brought once more later, and of some the answer is lost, so that it is brought
// again at once.
type ingress struct {
	w      *world
	client *http.Client
	ctx    context.Context
	stop   context.CancelFunc
	busy   sync.WaitGroup

	mu    sync.Mutex
	chats map[int64][]update // what waits, by chat; its presence is a running delivery
}

type update struct {
	header http.Header
	body   []byte
}

func newIngress(w *world) *ingress {
	in := &ingress{w: w, client: &http.Client{Timeout: time.Second}, chats: map[int64][]update{}}
	in.ctx, in.stop = context.WithCancel(context.Background())
	return in
}

func (in *ingress) close() {
	in.stop()
	in.busy.Wait()
}

// idle reports whether everything was taken.
func (in *ingress) idle() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.chats) == 0
}

// take is where Telegram posts to.
func (in *ingress) take(out http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var event struct {
		Message struct{ Chat struct{ ID int64 } }
	}
	if err == nil {
		err = json.Unmarshal(body, &event)
	}
	if err != nil || in.ctx.Err() != nil {
		http.Error(out, "try again", http.StatusBadGateway)
		return
	}
	chat := event.Message.Chat.ID
	in.mu.Lock()
	defer in.mu.Unlock()
	_, running := in.chats[chat]
	in.chats[chat] = append(in.chats[chat], update{req.Header.Clone(), body})
	if !running {
		in.busy.Go(func() { in.deliver(chat) })
	}
}

// deliver works through what waits for a chat.
func (in *ingress) deliver(chat int64) {
	for in.ctx.Err() == nil {
		in.mu.Lock()
		waiting := in.chats[chat]
		if len(waiting) == 0 {
			delete(in.chats, chat)
			in.mu.Unlock()
			return
		}
		in.mu.Unlock()
		in.bring(waiting[0])
		in.mu.Lock()
		in.chats[chat] = in.chats[chat][1:]
		in.mu.Unlock()
	}
}

func (in *ingress) bring(u update) {
	for !in.post(u) || rand.IntN(100) < in.w.schedule.forgets {
		sleep(in.ctx, 20*time.Millisecond)
		if in.ctx.Err() != nil {
			return
		}
	}
	if rand.IntN(100) < in.w.schedule.doubles {
		in.busy.Go(func() {
			sleep(in.ctx, time.Duration(rand.IntN(1500))*time.Millisecond)
			in.post(u)
		})
	}
}

// post gives an update to any replica and reports whether it took it.
func (in *ingress) post(u update) bool {
	r := in.w.replicas[rand.IntN(len(in.w.replicas))]
	url := r.url()
	if url == "" {
		return false
	}
	req, err := http.NewRequestWithContext(in.ctx, http.MethodPost, url+"/webhook/telegram", bytes.NewReader(u.body))
	if err != nil {
		return false
	}
	req.Header = u.header.Clone()
	resp, err := in.client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
