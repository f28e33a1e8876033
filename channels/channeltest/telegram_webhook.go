package channeltest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

// webhook delivers updates to an address, one after another, again and again
// until each is taken.
type webhook struct {
	url    string
	secret string
	stop   context.CancelFunc
}

func (t *Telegram) setWebhook(req *tgRequest) (any, *tgError) {
	q := &t.updates
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.allow(req); err != nil {
		return nil, err
	}
	if q.webhook != nil {
		q.webhook.stop()
		q.webhook = nil
	}
	if req.bool("drop_pending_updates") {
		q.pending = nil
	}
	url := req.params["url"]
	if url == "" {
		return true, nil
	}
	if strings.Trim(req.params["secret_token"], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return nil, refuse(400, "Bad Request: secret token contains unallowed characters")
	}
	ctx, stop := context.WithCancel(t.ctx)
	w := &webhook{url: url, secret: req.params["secret_token"], stop: stop}
	q.webhook = w
	if q.poller != nil {
		close(q.poller)
		q.poller = nil
	}
	t.running.Go(func() { t.deliver(ctx, w) })
	return true, nil
}

func (t *Telegram) deleteWebhook(req *tgRequest) (any, *tgError) {
	q := &t.updates
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.webhook != nil {
		q.webhook.stop()
		q.webhook = nil
	}
	if req.bool("drop_pending_updates") {
		q.pending = nil
	}
	return true, nil
}

func (t *Telegram) getWebhookInfo(*tgRequest) (any, *tgError) {
	q := &t.updates
	q.mu.Lock()
	defer q.mu.Unlock()
	info := map[string]any{"url": "", "pending_update_count": len(q.pending), "has_custom_certificate": false}
	if q.webhook != nil {
		info["url"] = q.webhook.url
	}
	return info, nil
}

// deliver posts updates until ctx ends.
func (t *Telegram) deliver(ctx context.Context, w *webhook) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		u, ok := t.updates.head(ctx)
		if !ok {
			return
		}
		if t.postUpdate(ctx, w, client, u.body) {
			t.updates.done(u)
			continue
		}
		sleep(ctx, 20*time.Millisecond)
	}
}

func (t *Telegram) postUpdate(ctx context.Context, w *webhook, client *http.Client, body []byte) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	if w.secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", w.secret)
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode/100 != 2 {
		return false
	}
	t.callInAnswer(ctx, resp.Body)
	return true
}

// callInAnswer makes the API call that a bot may put into its answer.
func (t *Telegram) callInAnswer(ctx context.Context, body io.Reader) {
	req := &tgRequest{ctx: ctx, params: map[string]string{}}
	if req.readJSON(io.LimitReader(body, 1<<20)) != nil || req.params["method"] == "" {
		return
	}
	req.method = req.params["method"]
	call := Call{Method: req.method, Params: req.params, At: time.Now(), Status: 200}
	if _, refusal := t.apply(req); refusal != nil {
		call.Status, call.Error = refusal.code, refusal.text
	}
	t.note(call)
}

// head waits for an update to deliver.
func (q *updateQueue) head(ctx context.Context) (u tgUpdate, ok bool) {
	err := await(ctx, func() (bool, <-chan struct{}) {
		q.mu.Lock()
		defer q.mu.Unlock()
		if len(q.again) > 0 {
			u = q.again[0]
		} else if len(q.pending) > 0 {
			u = q.pending[0]
		}
		return u.id != 0, q.changed.wait()
	})
	return u, err == nil
}

// done takes an update out of the queue.
func (q *updateQueue) done(u tgUpdate) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.again) > 0 && q.again[0].id == u.id {
		q.again = q.again[1:]
		return
	}
	q.confirm(u.id + 1)
}
