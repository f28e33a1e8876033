package admin

import (
	"context"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"clawbot/gateway"
	"clawbot/store"
)

const (
	maxTitle  = 80   // characters
	maxPeople = 5    // named for one session
	maxFacts  = 2048 // sessions remembered
	// headEntries have the first message, tailEntries the latest people.
	headEntries = 4
	tailEntries = 16
)

// facts remembers what sessions are about, for the latest that were listed. The
// zero value works.
type facts struct {
	mu    sync.Mutex
	known map[string]fact
}

type fact struct {
	tail   int64
	title  string
	people []string
}

// of reads what is not known of a session yet: its beginning once, and its end
// when it has grown.
func (f *facts) of(ctx context.Context, s store.Store, info store.SessionInfo) (fact, error) {
	f.mu.Lock()
	was, ok := f.known[info.Session]
	f.mu.Unlock()
	if ok && was.tail == info.Tail {
		return was, nil
	}
	is := fact{tail: info.Tail, title: was.title, people: slices.Clone(was.people)}
	var entries []gateway.History
	if is.title == "" {
		head, err := gateway.ReadTranscript(ctx, s, info.Session, 0, headEntries)
		if err != nil {
			return fact{}, err
		}
		entries = head
	}
	if from := max(info.Tail-tailEntries, 0); from > 0 || len(entries) == 0 {
		end, err := gateway.ReadTranscript(ctx, s, info.Session, from, tailEntries)
		if err != nil {
			return fact{}, err
		}
		entries = append(entries, end...)
	}
	for i := range entries {
		is.add(&entries[i])
	}
	if is.people == nil {
		is.people = []string{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil || len(f.known) >= maxFacts {
		f.known = map[string]fact{}
	}
	f.known[info.Session] = is
	return is, nil
}

func (f *fact) add(h *gateway.History) {
	if h.Kind != store.KindUser || h.Message == nil {
		return
	}
	if f.title == "" {
		f.title = titleOf(h.Message.Text())
	}
	name := senderOf(h)
	if name != "" && len(f.people) < maxPeople && !slices.Contains(f.people, name) {
		f.people = append(f.people, name)
	}
}

func (f *facts) forget(session string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.known, session)
}

// senderOf is a person's name with their id.
func senderOf(h *gateway.History) string {
	id := h.Sender.ID
	if id != "" && !strings.Contains(id, ":") {
		id = h.Channel + ":" + id
	}
	if h.Sender.Name == "" {
		return id
	}
	return h.Sender.Name + " (" + id + ")"
}

func titleOf(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.Join(strings.Fields(line), " ")
	if utf8.RuneCountInString(line) > maxTitle {
		line = string([]rune(line)[:maxTitle-1]) + "…"
	}
	return line
}
