package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"clawbot/channels"
	"clawbot/store"
)

// rules is what people decide while the bot runs: who was let in or blocked,
// and the settings of conversations. It stands in the store's State, where every
// replica and `clawbot pairing` find it. Each process has a copy in memory, so
// that no message waits for it; a change elsewhere is seen within rulesEvery.
type rules struct {
	store store.Store
	log   *slog.Logger
	kick  chan struct{} // capacity 1: look now

	mu       sync.RWMutex
	loaded   bool
	revision int64
	people   map[string]person
	sessions map[string]settings
}

const (
	rulesEvery   = 2 * time.Second
	rulesTopic   = "rules"
	rulesPrefix  = "rules/"
	revisionKey  = rulesPrefix + "revision"
	peoplePrefix = rulesPrefix + "people/"
	sessionRules = rulesPrefix + "session/"
)

// person is what was decided about somebody.
type person struct {
	Channel string `json:"channel"`
	ID      string `json:"id"`
	Name    string `json:"name,omitempty"` // as they call themselves
	// Paired people may write in private; an owner by pairing is [RoleOwner].
	Paired bool   `json:"paired,omitempty"`
	Role   string `json:"role,omitempty"`
	// Blocked people may write nowhere; Rooms are where moderators blocked them.
	Blocked bool      `json:"blocked,omitempty"`
	Rooms   []string  `json:"rooms,omitempty"`
	By      string    `json:"by,omitempty"` // who decided
	At      time.Time `json:"at"`
	// Greet is where to tell them that they were let in; nil once they know.
	Greet *channels.Target `json:"greet,omitempty"`
}

// settings are what people chose for one conversation; empty is the default.
type settings struct {
	Model string `json:"model,omitempty"`
	Agent string `json:"agent,omitempty"`
	Queue string `json:"queue,omitempty"`
}

func newRules(s store.Store, log *slog.Logger) *rules {
	return &rules{store: s, log: log, kick: make(chan struct{}, 1)}
}

func personKey(channel, id string) string { return peoplePrefix + keyPart(channel) + "/" + keyPart(id) }

// keyPart makes any id a part of a key.
func keyPart(id string) string {
	if !strings.Contains(id, "/") && len(id) <= 100 && store.CheckKey("x"+id) == nil && id != "" {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha-" + hex.EncodeToString(sum[:16])
}

// known reports whether the rules have been read.
func (r *rules) known() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.loaded
}

// person returns what was decided about a sender; the zero value is nothing.
func (r *rules) person(channel, id string) person {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.people[personKey(channel, id)]
}

func (r *rules) settings(session string) settings {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.sessions[session]
}

// watch keeps the copy up to date until ctx ends. greet tells people that they
// were let in.
func (r *rules) watch(ctx context.Context, greet func(context.Context, person)) {
	tick := time.NewTicker(rulesEvery)
	defer tick.Stop()
	failing := false
	for {
		err := r.reload(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			r.log.Warn("who was let in can't be read; what was known before holds", "err", err)
		}
		if failing = err != nil; !failing {
			r.greet(ctx, greet)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-r.kick:
		}
	}
}

func (r *rules) look() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// reload reads everything anew if something has changed.
func (r *rules) reload(ctx context.Context) error {
	state := r.store.State()
	v, err := state.Get(ctx, revisionKey)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	r.mu.RLock()
	same := r.loaded && r.revision == v.Version
	r.mu.RUnlock()
	if same {
		return nil
	}
	list, err := state.List(ctx, rulesPrefix)
	if err != nil {
		return err
	}
	people, sessions := map[string]person{}, map[string]settings{}
	for _, v := range list {
		var err error
		if session, ok := strings.CutPrefix(v.Key, sessionRules); ok {
			var s settings
			err = json.Unmarshal(v.Data, &s)
			sessions[session] = s
		} else if strings.HasPrefix(v.Key, peoplePrefix) {
			var p person
			err = json.Unmarshal(v.Data, &p)
			people[v.Key] = p
		}
		if err != nil {
			r.log.Error("a rule can't be read and is left out", "key", v.Key, "err", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loaded, r.revision, r.people, r.sessions = true, v.Version, people, sessions
	return nil
}

// greet tells those who were let in, each by one process.
func (r *rules) greet(ctx context.Context, tell func(context.Context, person)) {
	r.mu.RLock()
	var news []person
	for _, p := range r.people {
		if p.Greet != nil {
			news = append(news, p)
		}
	}
	r.mu.RUnlock()
	for _, p := range news {
		mine := false
		err := changePerson(ctx, r.store.State(), p.Channel, p.ID, func(now *person) {
			mine, now.Greet = now.Greet != nil, nil
		})
		if err == nil && mine {
			tell(ctx, p)
		}
	}
}

// setPerson changes what is decided about somebody, here at once and elsewhere
// soon.
func (r *rules) setPerson(ctx context.Context, channel, id string, change func(*person)) error {
	return r.changed(ctx, changePerson(ctx, r.store.State(), channel, id, change))
}

func (r *rules) setSession(ctx context.Context, session string, change func(*settings)) error {
	err := updateRule(ctx, r.store.State(), sessionRules+session, func(data []byte) ([]byte, error) {
		var s settings
		if data != nil && json.Unmarshal(data, &s) != nil {
			s = settings{}
		}
		change(&s)
		return json.Marshal(s)
	})
	return r.changed(ctx, err)
}

// changed spreads a change that was made.
func (r *rules) changed(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	if err := r.store.Bus().Publish(ctx, rulesTopic, nil); err != nil {
		r.log.Debug("a hint was lost; others will see the change a little later", "err", err)
	}
	return r.reload(ctx)
}

func changePerson(ctx context.Context, state store.State, channel, id string, change func(*person)) error {
	return updateRule(ctx, state, personKey(channel, id), func(data []byte) ([]byte, error) {
		p := person{Channel: channel, ID: id}
		if data != nil {
			if err := json.Unmarshal(data, &p); err != nil {
				p = person{Channel: channel, ID: id} // damaged: decide anew
			}
		}
		change(&p)
		p.Rooms = slices.Compact(slices.Sorted(slices.Values(p.Rooms)))
		return json.Marshal(p)
	})
}

// updateRule changes one rule and raises the revision, by which others see that
// something has changed.
func updateRule(ctx context.Context, state store.State, key string, change func(data []byte) ([]byte, error)) error {
	if err := update(ctx, state, key, change); err != nil {
		return err
	}
	return update(ctx, state, revisionKey, func([]byte) ([]byte, error) { return []byte(newID()), nil })
}

// update replaces the value of a key, nil if it has none, by what change makes
// of it. change may be called more than once.
func update(ctx context.Context, state store.State, key string, change func(data []byte) ([]byte, error)) error {
	for {
		v, err := state.Get(ctx, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("read %s: %w", key, err)
		}
		data, err := change(v.Data)
		if err != nil {
			return err
		}
		if _, err = state.Put(ctx, key, data, v.Version); err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrConflict) || ctx.Err() != nil {
			return fmt.Errorf("write %s: %w", key, err)
		}
	}
}

func (p *person) blockedIn(chat string) bool {
	return p.Blocked || slices.Contains(p.Rooms, chat)
}
