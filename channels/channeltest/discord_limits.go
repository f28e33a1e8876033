package channeltest

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// discordLimits keeps windows per route and channel, and one for everything.
type discordLimits struct {
	mu      sync.Mutex
	windows map[string]*discordWindow
	all     discordWindow
}

// discordWindow allows so many calls until it resets.
type discordWindow struct {
	left  int
	reset time.Time
}

// discordRates are the limits of routes, as observed: calls in so many seconds.
var discordRates = map[string]struct {
	calls int
	every time.Duration
}{
	"createMessage":  {5, 5 * time.Second},
	"editMessage":    {5, 5 * time.Second},
	"deleteMessage":  {5, time.Second},
	"addReaction":    {1, 250 * time.Millisecond},
	"removeReaction": {1, 250 * time.Millisecond},
	"startThread":    {50, 300 * time.Second},
	"typing":         {5, 5 * time.Second},
	"getMessages":    {5, 5 * time.Second},
}

const discordGlobal = 50 // calls a second

// take counts a call and puts the limit's headers on the answer, or refuses.
func (l *discordLimits) take(h http.Header, req *discordRequest, on bool) *discordError {
	rate, known := discordRates[req.route]
	if !on || req.route == "callback" || len(req.ids) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !l.all.take(now, discordGlobal, time.Second) {
		wait := l.all.reset.Sub(now)
		return &discordError{status: 429, text: "You are being rate limited.", retryAfter: wait, global: true}
	}
	if !known {
		return nil
	}
	key := req.route + " " + req.ids[0]
	if l.windows == nil {
		l.windows = map[string]*discordWindow{}
	}
	w := l.windows[key]
	if w == nil {
		w = &discordWindow{}
		l.windows[key] = w
	}
	ok := w.take(now, rate.calls, rate.every)
	wait := w.reset.Sub(now)
	h.Set("X-RateLimit-Bucket", "bucket-of-"+req.route)
	h.Set("X-RateLimit-Limit", strconv.Itoa(rate.calls))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(w.left))
	h.Set("X-RateLimit-Reset-After", strconv.FormatFloat(wait.Seconds(), 'f', 3, 64))
	h.Set("X-RateLimit-Reset", strconv.FormatFloat(float64(w.reset.UnixMilli())/1000, 'f', 3, 64))
	if !ok {
		h.Set("X-RateLimit-Scope", "user")
		return &discordError{status: 429, text: "You are being rate limited.", retryAfter: wait}
	}
	return nil
}

func (w *discordWindow) take(now time.Time, calls int, every time.Duration) bool {
	if !now.Before(w.reset) {
		w.left, w.reset = calls, now.Add(every)
	}
	if w.left == 0 {
		return false
	}
	w.left--
	return true
}
