package budget

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"clawbot/store"
)

// Kind says what a cap is for.
type Kind string

// The kinds of caps.
const (
	Daily        Kind = "day"          // of everybody, a day
	Conversation Kind = "conversation" // of one conversation
	Personal     Kind = "user"         // of one person, a day
	Run          Kind = "run"          // tokens of one run
)

const (
	// dayWindow outlives a day, so that its sum is there until it ends, and
	// late settlements find it.
	dayWindow = 26 * time.Hour

	prefix = "budget/"
)

// limit is one cap that a call has to respect.
type limit struct {
	kind Kind
	// name is the part of keys that tells this window of this cap from others.
	name   string
	most   int64 // as configured: billionths of a dollar, of a run tokens
	window time.Duration
	user   string
}

func (l *limit) key() string { return prefix + l.name }

// limits are the caps in dollars for one who pays.
func (b *Budget) limitsFor(a *Account, user string, now time.Time) []limit {
	set, day := b.limits.Load(), b.day(now)
	var list []limit
	if set.DailyUSD > 0 {
		list = append(list, limit{kind: Daily, name: "day/" + day, most: nanos(set.DailyUSD), window: dayWindow})
	}
	if set.SessionUSD > 0 && a.Session != "" {
		list = append(list, limit{
			kind: Conversation, name: "conversation/" + keyPart(a.Session) + "/" + strconv.FormatInt(a.Since, 10), most: nanos(set.SessionUSD),
		})
	}
	if set.UserUSD > 0 && user != "" {
		list = append(list, limit{kind: Personal, name: "user/" + day + "/" + keyPart(user), most: nanos(set.UserUSD), window: dayWindow, user: user})
	}
	return list
}

// keyPart makes any id a part of a key.
func keyPart(id string) string {
	if id != "" && len(id) <= 200 && !strings.Contains(id, "/") && store.CheckKey(id) == nil {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha-" + hex.EncodeToString(sum[:16])
}

// Standing is a cap and how far it is used.
type Standing struct {
	Kind Kind
	// User is who a cap of Kind Personal is for: platform:id.
	User string
	// Limit is the cap with what owners added to it, Raised what they added, and
	// Used what counts against it, unfinished calls included. Billionths of a
	// dollar.
	Limit, Raised, Used int64
	// Resets is when it begins anew; zero for a conversation, which does so
	// when a new one is begun.
	Resets time.Time

	name   string
	window time.Duration
}

// Left is what may be spent, never negative.
func (s *Standing) Left() int64 { return max(s.Limit-s.Used, 0) }

// Standings tells the caps in dollars that hold for account, and how far they
// are used. It reads the store once or twice for each.
func (b *Budget) Standings(ctx context.Context, account *Account) ([]Standing, error) {
	now := time.Now()
	list := b.limitsFor(account, account.payersInTurn()[0], now)
	out := make([]Standing, len(list))
	for i := range list {
		var err error
		if out[i], err = b.standing(ctx, &list[i], now); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *Budget) standing(ctx context.Context, l *limit, now time.Time) (Standing, error) {
	s := Standing{Kind: l.kind, User: l.user, name: l.name, window: l.window}
	if l.kind != Conversation {
		s.Resets = b.tomorrow(now)
	}
	var err error
	if s.Used, err = b.counters.Sum(ctx, l.key()); err != nil {
		return s, fmt.Errorf("read what is spent: %w", err)
	}
	if s.Raised, err = b.counters.Sum(ctx, l.raisedKey()); err != nil {
		return s, fmt.Errorf("read what was added to a cap: %w", err)
	}
	s.Limit = l.most + s.Raised
	if s.Raised > 0 {
		b.mu.Lock()
		if len(b.raised) > maxTold {
			clear(b.raised)
		}
		b.raised[l.name] = s.Raised
		b.mu.Unlock()
	}
	return s, nil
}

func (l *limit) raisedKey() string { return prefix + "raised/" + l.name }

// raisedBy is what this process knows to have been added to a cap.
func (b *Budget) raisedBy(l *limit) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.raised[l.name]
}

// Raise adds usd to a cap until it begins anew: to that of the day, of
// account's conversation, or of the person who pays. id makes doing it again
// harmless. It fails with a [Refusal] if there is no such cap.
func (b *Budget) Raise(ctx context.Context, id string, account *Account, kind Kind, usd float64) (Standing, error) {
	if !(usd > 0 && usd <= MaxUSD) {
		return Standing{}, Refusal(fmt.Sprintf("%v is no amount to add: write dollars above 0, such as 5 or 0.50.", usd))
	}
	now := time.Now()
	for _, l := range b.limitsFor(account, account.payersInTurn()[0], now) {
		if l.kind != kind {
			continue
		}
		if id == "" {
			id = ulid.Make().String()
		}
		keys := []store.CounterKey{{Key: l.raisedKey(), Limit: nanos(MaxUSD), Window: l.window}}
		if err := b.counters.Reserve(ctx, keyPart("raise:"+id), nanos(usd), keys); err != nil {
			return Standing{}, fmt.Errorf("raise a cap: %w", err)
		}
		return b.standing(ctx, &l, now)
	}
	return Standing{}, Refusal("There is no such cap: it is set in `[budget]` of my configuration (" + kind.setting() + ").")
}

// Refusal is an error whose text is for people.
type Refusal string

func (r Refusal) Error() string { return string(r) }

// setting is the key of the configuration that sets a cap.
func (k Kind) setting() string {
	switch k {
	case Daily:
		return "daily_usd"
	case Conversation:
		return "session_usd"
	case Personal:
		return "user_usd"
	default:
		return "run_tokens"
	}
}
