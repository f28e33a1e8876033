package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// span is a stretch of time.
type span struct{ from, to time.Time }

func (s span) meets(o span) bool { return !s.to.Before(o.from) && !o.to.Before(s.from) }

// wire knows which replica wrote which message and when something was done to
// it, so that every final that is there twice can be laid at a crash's door.
type wire struct {
	mu     sync.Mutex
	writes map[string][]write // by chat and message
	// hindered are the stretches in which a replica was kept from doing its
	// work; all replicas are, while Redis is away or the machine stalls.
	hindered map[int][]span
	everyone []span
}

// write is one sendMessage or editMessageText.
type write struct {
	replica int
	span
}

// written returns the replicas' way to the platform, under /platform/N.
func (w *world) written(out http.ResponseWriter, req *http.Request) {
	path, ok := strings.CutPrefix(req.URL.Path, "/platform/")
	number, rest, _ := strings.Cut(path, "/")
	replica, err := strconv.Atoi(number)
	if !ok || err != nil {
		http.NotFound(out, req)
		return
	}
	req.URL.Path = "/" + rest
	if !strings.HasSuffix(rest, "/sendMessage") && !strings.HasSuffix(rest, "/editMessageText") {
		w.telegram.ServeHTTP(out, req)
		return
	}
	began := time.Now()
	copied := &copying{ResponseWriter: out}
	w.telegram.ServeHTTP(copied, req)
	var answer struct {
		Result struct {
			ID   int `json:"message_id"`
			Chat struct{ ID int64 }
		}
	}
	if json.Unmarshal(copied.body.Bytes(), &answer) == nil && answer.Result.ID != 0 {
		w.wire.mu.Lock()
		defer w.wire.mu.Unlock()
		key := messageKey(answer.Result.Chat.ID, answer.Result.ID)
		w.wire.writes[key] = append(w.wire.writes[key], write{replica, span{began, time.Now()}})
	}
}

func messageKey(chat int64, id int) string { return fmt.Sprint(chat, "/", id) }

// copying keeps what it passes on.
type copying struct {
	http.ResponseWriter
	body bytes.Buffer
}

func (c *copying) Write(p []byte) (int, error) {
	c.body.Write(p)
	return c.ResponseWriter.Write(p)
}

// hinder notes that a replica, or with -1 every one, was hindered from then
// until now and for a while after.
func (wr *wire) hinder(replica int, from time.Time, after time.Duration) {
	wr.mu.Lock()
	defer wr.mu.Unlock()
	s := span{from, time.Now().Add(after)}
	if replica < 0 {
		wr.everyone = append(wr.everyone, s)
		return
	}
	wr.hindered[replica] = append(wr.hindered[replica], s)
}

// explains reports whether a replica that wrote one of two messages was
// hindered between the last write to the first and the first write to the
// second: mostly the one that wrote the first and could not note that it had,
// or else one that took the session for its own still.
func (wr *wire) explains(chat int64, first, second int) bool {
	wr.mu.Lock()
	defer wr.mu.Unlock()
	a, b := wr.writes[messageKey(chat, first)], wr.writes[messageKey(chat, second)]
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	last := a[0]
	for _, w := range a {
		if w.from.Before(b[0].from) {
			last = w
		}
	}
	window := span{last.from, b[0].from}
	meets := func(s span) bool { return s.meets(window) }
	return slices.ContainsFunc(wr.hindered[last.replica], meets) || slices.ContainsFunc(wr.hindered[b[0].replica], meets) ||
		slices.ContainsFunc(wr.everyone, meets)
}

// feel notes when this machine did not get round to its work: no replica did
// then, either.
func (w *world) feel(done <-chan struct{}) {
	const beat = 20 * time.Millisecond
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		if now := time.Now(); now.Sub(last) > w.schedule.ttl/6 {
			w.wire.hinder(-1, last, w.schedule.ttl)
			w.stalls.Add(1)
		}
		last = time.Now()
	}
}
