package discord

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"clawbot/channels"
)

const (
	talksKey   = "talks"
	keptTalks  = 1000
	talkMemory = 7 * 24 * time.Hour
)

// talk is a private channel or thread that the bot talks in.
type talk struct {
	Guild string `json:"g,omitempty"`
	Last  string `json:"l"` // the newest message that was accepted
	At    int64  `json:"t"` // when that was, in seconds
}

// talks remembers where the bot talks, to read what it missed.
type talks struct {
	mu     sync.Mutex
	all    map[string]talk
	newest string // of all messages
	dirty  bool
}

// saw notes a message anywhere.
func (t *talks) saw(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if newer(id, t.newest) {
		t.newest = id
	}
}

func (t *talks) latest() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.newest
}

// heard notes an accepted message of a channel. Channels become talks when the
// bot is meant.
func (t *talks) heard(channel, guild, id string, meant bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if newer(id, t.newest) {
		t.newest = id
	}
	was, ok := t.all[channel]
	if !ok && !meant {
		return
	}
	if t.all == nil {
		t.all = map[string]talk{}
	}
	if newer(id, was.Last) {
		was.Last = id
	}
	was.Guild, t.dirty = guild, true
	was.At = max(was.At, snowflakeTime(id).Unix())
	t.all[channel] = was
	if len(t.all) > keptTalks+keptTalks/10 {
		t.trim(time.Now())
	}
}

// trim forgets what is old, and the oldest if there is too much.
func (t *talks) trim(now time.Time) {
	var times []int64
	for _, k := range t.all {
		times = append(times, k.At)
	}
	slices.Sort(times)
	least := now.Add(-talkMemory).Unix()
	if n := len(times) - keptTalks; n > 0 {
		least = max(least, times[n])
	}
	for id, k := range t.all {
		if k.At < least {
			delete(t.all, id)
		}
	}
}

func (t *talks) forget(channel string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.all[channel]; ok {
		delete(t.all, channel)
		t.dirty = true
	}
}

// missed lists the talks to read on in, the liveliest first.
func (t *talks) missed(wanted func(guild string) bool, most int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []string
	for id, k := range t.all {
		if wanted(k.Guild) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return int(t.all[b].At - t.all[a].At) })
	return ids[:min(len(ids), most)]
}

func (t *talks) get(channel string) (talk, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, ok := t.all[channel]
	return k, ok
}

// keep writes the talks if they changed.
func (t *talks) keep(ctx context.Context, host channels.Host) error {
	t.mu.Lock()
	if !t.dirty {
		t.mu.Unlock()
		return nil
	}
	t.trim(time.Now())
	data, err := json.Marshal(t.all)
	t.dirty = false
	t.mu.Unlock()
	if err == nil {
		err = host.Put(ctx, talksKey, data)
	}
	if err != nil {
		t.mu.Lock()
		t.dirty = true
		t.mu.Unlock()
	}
	return err
}

// load reads the talks that were kept.
func (t *talks) load(data []byte) error {
	all := map[string]talk{}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &all); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all, t.dirty = all, false
	return nil
}
