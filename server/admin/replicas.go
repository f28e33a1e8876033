package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"clawbot/internal/logring"
)

const (
	// askTopic asks every replica how it is; answerTopic has the answers, and
	// what follows it is the name of the one that asked.
	askTopic    = "replica:ask"
	answerTopic = "replica:answer:"
	// answerTime is how long an asking page waits for the others.
	answerTime = 150 * time.Millisecond
	// goneAfter is how long a replica may be silent while it is asked.
	goneAfter = 12 * time.Second
	// forgetAfter is how long a silent replica is listed.
	forgetAfter = 15 * time.Minute
	heartbeat   = 15 * time.Second
)

func newBeat() *time.Ticker { return time.NewTicker(heartbeat) }

// report is how one replica is, by its own account.
type report struct {
	Replica string          `json:"replica"`
	Host    string          `json:"host"`
	PID     int             `json:"pid"`
	Version string          `json:"version"`
	Started time.Time       `json:"started"`
	At      time.Time       `json:"at"`
	Leases  int             `json:"leases"`
	Runs    int             `json:"runs"`
	InLine  int             `json:"in_line,omitempty"`
	LineMS  int64           `json:"line_ms,omitempty"` // the first in line waits for so long
	Due     int             `json:"due,omitempty"`
	DueMS   int64           `json:"due_ms,omitempty"`
	Errors  []string        `json:"errors"` // the latest of its log
	Chans   []channelReport `json:"channels"`
	// Self is the replica that answers, Gone one that does not any more.
	Self bool `json:"self,omitempty"`
	Gone bool `json:"gone,omitempty"`
}

// channelReport is how one channel is in one replica.
type channelReport struct {
	Name string `json:"name"`
	// State is connected, standby (another replica receives) or failed.
	State string `json:"state"`
	Error string `json:"error,omitempty"` // why it gave up
	// LastEvent is when something came; Trouble is its latest warning.
	LastEvent time.Time `json:"last_event,omitzero"`
	Trouble   string    `json:"trouble,omitempty"`
	TroubleAt string    `json:"trouble_at,omitempty"`
}

// self tells how this replica is.
func (a *Admin) self() report {
	load := a.cfg.Gateway.Load()
	r := report{
		Replica: a.cfg.Gateway.Owner(), Host: a.host, PID: os.Getpid(), Version: a.cfg.Info.Version,
		Started: a.cfg.Info.Started, At: time.Now().UTC(), Leases: load.Active, Runs: load.Running,
		InLine: load.InLine, LineMS: load.LineAge.Milliseconds(), Due: load.Due, DueMS: load.DueAge.Milliseconds(),
		Errors: []string{}, Chans: []channelReport{},
	}
	trouble := a.troubles(&r)
	for _, ch := range a.cfg.Gateway.Channels() {
		c := channelReport{Name: ch.Name, State: "standby", LastEvent: ch.LastEvent}
		switch {
		case ch.Err != nil:
			c.State, c.Error = "failed", ch.Err.Error()
		case ch.Receiving:
			c.State = "connected"
		}
		if line := trouble[ch.Name]; line != nil {
			c.Trouble, c.TroubleAt = words(line), line.Time
		}
		r.Chans = append(r.Chans, c)
	}
	return r
}

// troubles finds the latest warning or error of each channel in the log, and
// the latest errors of all.
func (a *Admin) troubles(r *report) map[string]*logring.Line {
	const most = 3
	found := map[string]*logring.Line{}
	if a.cfg.Log == nil {
		return found
	}
	texts, _ := a.cfg.Log.Since(0)
	for _, text := range slices.Backward(texts) {
		if !strings.Contains(text, "WARN") && !strings.Contains(text, "ERROR") {
			continue
		}
		line := logring.Parse(text)
		if line.Level == "ERROR" && len(r.Errors) < most {
			r.Errors = append(r.Errors, words(&line))
		}
		if ch := line.Get("channel"); ch != "" && found[ch] == nil && (line.Level == "WARN" || line.Level == "ERROR") {
			found[ch] = &line
		}
	}
	return found
}

func words(line *logring.Line) string {
	text := line.Message
	if err := line.Get("err"); err != "" {
		text += ": " + err
	}
	return text
}

// company is what is known of the other replicas.
type company struct {
	mu    sync.Mutex
	known map[string]report
}

func (c *company) heard(r report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[string]report{}
	}
	r.At = time.Now().UTC() // by this machine's clock
	c.known[r.Replica] = r
}

// list returns them by name, without those that are long gone.
func (c *company) list() []report {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	var all []report
	for name, r := range c.known {
		silent := now.Sub(r.At)
		if silent > forgetAfter {
			delete(c.known, name)
			continue
		}
		r.Gone = silent > goneAfter
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b report) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Replica, b.Replica)) })
	return all
}

// Run answers the other replicas' pages until ctx ends. Without a shared store
// it only waits.
func (a *Admin) Run(ctx context.Context) error {
	if !a.cfg.Shared {
		<-ctx.Done()
		return nil
	}
	asked := make(chan string, 16)
	own := a.cfg.Gateway.Owner()
	for topic, fn := range map[string]func(string, []byte){
		askTopic: func(_ string, data []byte) {
			if string(data) == own {
				return
			}
			select {
			case asked <- string(data):
			default: // they ask again
			}
		},
		answerTopic + own: func(_ string, data []byte) {
			var r report
			if json.Unmarshal(data, &r) == nil && r.Replica != "" {
				a.company.heard(r)
			}
		},
	} {
		cancel, err := a.cfg.Store.Bus().Subscribe(topic, fn)
		if err != nil {
			return err
		}
		defer cancel()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case by := <-asked:
			data, err := json.Marshal(a.self())
			if err == nil {
				err = a.cfg.Store.Bus().Publish(ctx, answerTopic+by, data)
			}
			if err != nil && ctx.Err() == nil {
				a.log.Debug("another replica was not answered", "err", err)
			}
		}
	}
}

// replicas are all of them, this one first.
func (a *Admin) replicas(ctx context.Context) []report {
	me := a.self()
	me.Self = true
	all := []report{me}
	if !a.cfg.Shared {
		return all
	}
	if err := a.cfg.Store.Bus().Publish(ctx, askTopic, []byte(me.Replica)); err == nil {
		wait := time.NewTimer(answerTime)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-ctx.Done():
		}
	}
	return append(all, a.company.list()...)
}

// getState tells how the bot is, at a glance.
//
//	→ {"name": …, "replicas": […], "pending": 0, "you": "web:local", "owner": true}
func (a *Admin) getState(w http.ResponseWriter, r *http.Request) error {
	pending, err := a.cfg.Gateway.PendingCalls(r.Context())
	if err != nil {
		return err
	}
	by := a.operator(r)
	info := a.cfg.Info
	if a.cfg.Answers != nil {
		info.Name, info.Model = a.cfg.Answers()
	}
	send(w, http.StatusOK, struct {
		Info
		Replicas []report  `json:"replicas"`
		Pending  int       `json:"pending"`
		You      string    `json:"you"`
		Owner    bool      `json:"owner"`
		Views    []string  `json:"views"`
		Now      time.Time `json:"now"`
	}{info, a.replicas(r.Context()), len(pending), by.Sender.ID, a.cfg.Gateway.Owns(by), a.views(), time.Now().UTC()})
	return nil
}

// views are what the page has beside sessions, approvals and replicas.
func (a *Admin) views() []string {
	views := []string{}
	for name, has := range map[string]bool{
		"tools": a.cfg.Tools != nil, "spend": a.cfg.Spend != nil, "config": a.cfg.Settings != nil, "log": a.cfg.Log != nil,
	} {
		if has {
			views = append(views, name)
		}
	}
	slices.Sort(views)
	return views
}
