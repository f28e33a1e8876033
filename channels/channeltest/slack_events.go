package channeltest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"
)

// slackDelivery is an event on its way to the bot.
type slackDelivery struct {
	kind     string // the envelope's type: events_api, interactive, slash_commands
	payload  json.RawMessage
	again    bool // may be delivered again by RedeliverAll
	envelope string
	attempt  int
	reason   string
	socket   *slackSocket
	timer    *time.Timer
}

// slackEvents is what has to reach the bot. Each event goes to one socket,
// chosen at random, or to the events address.
type slackEvents struct {
	mu      sync.Mutex
	url     string
	sockets []*slackSocket
	crowd   int                       // sockets of others
	waiting []*slackDelivery          // no socket was open
	open    map[string]*slackDelivery // sent and not acknowledged, by envelope
	acked   []*slackDelivery
	lost    int // given up after the last attempt
	opened  int
	changed signal
}

// slackAttempts is how often Slack delivers an event at most.
const slackAttempts = 4

// httpRetries are the pauses before an event is posted again, a sixtieth of
// Slack's own.
var httpRetries = []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second}

// push delivers an event for the first time.
func (s *Slack) push(kind string, payload any) {
	if s.cfg.Mute {
		return
	}
	data, err := json.Marshal(payload)
	if err != nil {
		panic("channeltest: encode an event: " + err.Error())
	}
	s.deliver(&slackDelivery{kind: kind, payload: data, again: true})
}

// deliver sends an event on. Called again for each attempt.
func (s *Slack) deliver(d *slackDelivery) {
	q := &s.events
	q.mu.Lock()
	defer q.mu.Unlock()
	d.envelope = s.id("envelope-")
	if q.url != "" {
		q.open[d.envelope] = d
		s.spawn(func() { s.post(d) })
		return
	}
	var ready []*slackSocket
	for _, socket := range q.sockets {
		if !socket.closing {
			ready = append(ready, socket)
		}
	}
	if len(ready) == 0 {
		q.waiting = append(q.waiting, d)
		return
	}
	d.socket = ready[rand.IntN(len(ready))]
	q.open[d.envelope] = d
	envelope := d.envelope
	d.timer = time.AfterFunc(s.cfg.AckTimeout, func() { s.retry(envelope, "timeout") })
	d.socket.send(slackObject{
		"type": d.kind, "envelope_id": d.envelope, "payload": d.payload, "accepts_response_payload": d.kind != "events_api",
		"retry_attempt": d.attempt, "retry_reason": d.reason,
	})
}

// retry delivers what was not acknowledged again, or gives it up.
func (s *Slack) retry(envelope, reason string) {
	q := &s.events
	q.mu.Lock()
	d := q.open[envelope]
	delete(q.open, envelope)
	if d == nil || s.ctx.Err() != nil {
		q.mu.Unlock()
		return
	}
	if d.timer != nil {
		d.timer.Stop()
	}
	d.attempt, d.reason = d.attempt+1, reason
	over := d.attempt >= slackAttempts
	if over {
		q.lost++
		q.changed.wake()
	}
	q.mu.Unlock()
	if !over {
		s.deliver(d)
	}
}

// ack notes an acknowledgement.
func (s *Slack) ack(envelope string) {
	q := &s.events
	q.mu.Lock()
	defer q.mu.Unlock()
	d := q.open[envelope]
	if d == nil {
		return
	}
	delete(q.open, envelope)
	if d.timer != nil {
		d.timer.Stop()
	}
	q.acked = append(q.acked, d)
	q.changed.wake()
}

// shut stops all timers.
func (q *slackEvents) shut() {
	q.drop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, d := range q.open {
		if d.timer != nil {
			d.timer.Stop()
		}
	}
}

// drop closes all sockets without a word.
func (q *slackEvents) drop() {
	q.mu.Lock()
	sockets := slices.Clone(q.sockets)
	q.mu.Unlock()
	for _, socket := range sockets {
		_ = socket.conn.Close()
	}
}

// post sends an event over HTTP until it is acknowledged or given up.
func (s *Slack) post(d *slackDelivery) {
	status, _, err := s.PostEvent(d.kind, d.payload, func(r *http.Request) {
		if d.attempt > 0 {
			r.Header.Set("X-Slack-Retry-Num", strconv.Itoa(d.attempt))
			r.Header.Set("X-Slack-Retry-Reason", d.reason)
		}
	})
	if err == nil && status == http.StatusOK {
		s.ack(d.envelope)
		return
	}
	if d.attempt < len(httpRetries) {
		sleep(s.ctx, httpRetries[d.attempt])
	}
	s.retry(d.envelope, "http_error")
}

// PostEvent signs and posts a payload to the events address and returns the
// answer. change may spoil the request; nil leaves it alone.
func (s *Slack) PostEvent(kind string, payload []byte, change func(*http.Request)) (status int, body string, err error) {
	contentType := "application/json"
	switch kind {
	case "interactive":
		contentType = "application/x-www-form-urlencoded"
		payload = []byte(url.Values{"payload": {string(payload)}}.Encode())
	case "slash_commands":
		contentType = "application/x-www-form-urlencoded"
		var fields map[string]string
		if err := json.Unmarshal(payload, &fields); err != nil {
			return 0, "", err
		}
		form := url.Values{}
		for k, v := range fields {
			form.Set(k, v)
		}
		payload = []byte(form.Encode())
	}
	s.events.mu.Lock()
	address := s.events.url
	s.events.mu.Unlock()
	req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, address, bytes.NewReader(payload))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", contentType)
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("X-Slack-Request-Timestamp", stamp)
	req.Header.Set("X-Slack-Signature", s.Sign(stamp, payload))
	if change != nil {
		change(req)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(answer), err
}

// Sign returns the signature of a body, as in X-Slack-Signature.
func (s *Slack) Sign(timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(s.cfg.SigningSecret))
	fmt.Fprintf(mac, "v0:%s:%s", timestamp, body)
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// SetEventsURL has events posted to url from now on; an empty one has them sent
// to sockets.
func (s *Slack) SetEventsURL(url string) {
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	s.events.url = url
}

// GaveUp counts the events that were never acknowledged, however often they
// were delivered.
func (s *Slack) GaveUp() int {
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	return s.events.lost
}

// RedeliverAll delivers everything once more that the bot has acknowledged, as
// Slack does when it did not get the acknowledgement.
func (s *Slack) RedeliverAll() {
	q := &s.events
	q.mu.Lock()
	list := q.acked
	q.acked = nil
	q.mu.Unlock()
	for _, d := range list {
		if d.again {
			s.deliver(&slackDelivery{kind: d.kind, payload: d.payload, attempt: 1, reason: "timeout"})
		}
	}
}
