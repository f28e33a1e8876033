package gateway

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/store"
	"clawbot/store/sqlite"
)

// plain hides that a store can search.
type plain struct{ store.Store }

// historian searches for what follows "find", and otherwise says "noted: " and
// what it was told.
func historian(req *agentcore.Request) step {
	last := req.Messages[len(req.Messages)-1]
	if last.Role != agentcore.RoleUser {
		return say("result: " + last.Text())
	}
	text := last.Text()
	text = text[strings.LastIndex(text, "\n")+1:]
	if words, ok := strings.CutPrefix(text, "find "); ok {
		args, _ := json.Marshal(map[string]any{"query": words, "limit": 20})
		return call("c-"+newID(), "search_history", string(args))
	}
	return say("noted")
}

func newHistoryBot(t *testing.T, s store.Store) *memoryBot {
	b := &memoryBot{t: t, c: newChat("chat"), s: s, m: &script{otherwise: historian}}
	b.bot = start(t, Config{Store: s, Channels: []channels.Channel{b.c}, Model: b.m, Queue: Queue{Debounce: -1},
		Access: Access{GroupPolicy: groupOpen}, Toolbox: builtins(t, []string{"search_history"})})
	return b
}

// overStores runs fn in a bubble with a store that searches and one that is
// read.
func overStores(t *testing.T, fn func(t *testing.T, s store.Store)) {
	t.Run("a store that searches", func(t *testing.T) {
		bubble(t, func(t *testing.T) { fn(t, newStore(t)) })
	})
	t.Run("a store without an index", func(t *testing.T) {
		bubble(t, func(t *testing.T) { fn(t, plain{newStore(t)}) })
	})
}

func TestAPersonFindsWhatWasSaidInTheirOtherConversations(t *testing.T) {
	overStores(t, func(t *testing.T, s store.Store) {
		b := newHistoryBot(t, s)
		b.dm("chat:a", "7", "the recipe has two eggs")
		b.dm("chat:8", "8", "the recipe has poison")
		b.room("chat:room", "7", "the recipe in the room")
		b.dm("chat:b", "7", "find Recipe")
		if got := b.lastPost(); !strings.Contains(got, "two eggs") || strings.Contains(got, "poison") || strings.Contains(got, "in the room") || strings.Contains(got, "find Recipe") {
			t.Errorf("found: %q", got)
		}
		b.dm("chat:b", "7", "find noted")
		if got := b.lastPost(); !strings.Contains(got, "you: noted") {
			t.Errorf("of what the agent said: %q", got)
		}
		b.dm("chat:b", "7", "find poison")
		if got := b.lastPost(); !strings.Contains(got, "Nothing was found") {
			t.Errorf("of another's: %q", got)
		}
		b.dm("chat:b", "7", "find \"*")
		if got := b.lastPost(); !strings.Contains(got, "no word in the query") {
			t.Errorf("without a word: %q", got)
		}
	})
}

func TestWhatTheModelSeesAnywayIsNotFound(t *testing.T) {
	overStores(t, func(t *testing.T, s store.Store) {
		b := newHistoryBot(t, s)
		b.dm("chat:a", "7", "my dog is Rex")
		b.dm("chat:a", "7", "find Rex")
		if got := b.lastPost(); !strings.Contains(got, "Nothing was found") {
			t.Errorf("in the same conversation: %q", got)
		}
		b.dm("chat:a", "7", "/new")
		b.dm("chat:a", "7", "find Rex")
		if got := b.lastPost(); !strings.Contains(got, "earlier in this conversation: my dog is Rex") {
			t.Errorf("after /new: %q", got)
		}
	})
}

func TestInARoomNothingIsSearched(t *testing.T) {
	overStores(t, func(t *testing.T, s store.Store) {
		b := newHistoryBot(t, s)
		b.dm("chat:a", "7", "the secret recipe")
		b.room("chat:room", "7", "find recipe")
		if got := b.lastPost(); strings.Contains(got, "secret") || !strings.Contains(got, "only in a direct conversation") {
			t.Errorf("the room is told %q", got)
		}
		// Nor by who shares a private conversation with somebody.
		b.dm("chat:shared", "8", "hello")
		b.dm("chat:shared", "7", "find recipe")
		if got := b.lastPost(); strings.Contains(got, "secret") {
			t.Errorf("beside another: %q", got)
		}
	})
}

func TestADeletedConversationIsNotFound(t *testing.T) {
	overStores(t, func(t *testing.T, s store.Store) {
		b := newHistoryBot(t, s)
		b.dm("chat:a", "7", "the recipe has two eggs")
		if err := DeleteSession(t.Context(), s, "chat:a"); err != nil {
			t.Fatal(err)
		}
		b.dm("chat:b", "7", "find recipe")
		if got := b.lastPost(); !strings.Contains(got, "Nothing was found") {
			t.Errorf("found: %q", got)
		}
	})
}

func TestAPersonsConversationsAreListed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newHistoryBot(t, newStore(t))
		for _, session := range []string{"chat:b", "chat:a", "chat:b"} {
			b.dm(session, "7", "hi")
		}
		b.room("chat:room", "7", "hi")
		list, err := SessionsOf(t.Context(), b.s, UserKey("chat", "7"))
		if err != nil {
			t.Fatal(err)
		}
		want(t, "conversations", list, []string{"chat:b", "chat:a"})

		deleted, err := DeleteHistory(t.Context(), b.s, UserKey("chat", "7"))
		if err != nil {
			t.Fatal(err)
		}
		want(t, "deleted", deleted, list)
		b.dm("chat:a", "7", "hi")
		if list, err = SessionsOf(t.Context(), b.s, UserKey("chat", "7")); err != nil {
			t.Fatal(err)
		}
		want(t, "conversations afterwards", list, []string{"chat:a"})
		if len(entries(t, b.s, "chat:b")) != 0 || len(entries(t, b.s, "chat:room")) == 0 {
			t.Error("too little or too much was deleted")
		}
	})
}

// A long conversation is read from its end, in pages, and as an index would
// find it.
func TestALongConversationIsSearchedFromItsEnd(t *testing.T) {
	s := newStore(t)
	r := rand.New(rand.NewPCG(1, 1))
	l, err := s.Acquire(t.Context(), "chat:long", "x", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(1500) {
		sender := []string{"7", "7", "7", "8"}[r.IntN(4)]
		rec := inbound{V: 1, ID: fmt.Sprint(i), Event: fmt.Sprint("e", i), Channel: "chat", Target: channels.Target{Conversation: "chat:long", Direct: true}, Sender: channels.Sender{ID: sender}, Text: fmt.Sprint("bird ", i)}
		data, err := encode(&rec)
		if err != nil {
			t.Fatal(err)
		}
		e := store.Entry{Kind: store.KindUser, ID: rec.Event, Data: data, At: time.Unix(i, 0)}
		if r.IntN(3) > 0 {
			e.Kind = store.KindAssistant
			if e.Data, err = encode(&payload{V: 1, Message: &agentcore.Message{Role: agentcore.RoleAssistant, Content: []agentcore.Block{agentcore.Text{Text: rec.Text}}}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Append(t.Context(), i, []store.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	user := UserKey("chat", "7")
	data, _ := json.Marshal([]string{"chat:long"})
	if _, err := s.State().Put(t.Context(), sessionsPrefix+user, data, 0); err != nil {
		t.Fatal(err)
	}
	s.Index(readSaid)
	for _, q := range []store.Search{
		{Owner: user, Words: "bird", Limit: 30}, {Owner: user, Words: "bird", Limit: 2000}, {Owner: user, Words: "bird", Limit: 30, Session: "chat:long", Before: 777},
		{Owner: UserKey("chat", "8"), Words: "bird", Limit: 5},
	} {
		indexed, err := s.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		g := Gateway{cfg: Config{Store: plain{s}}}
		if q.Owner != user {
			if _, err := s.State().Put(t.Context(), sessionsPrefix+q.Owner, data, 0); err != nil {
				t.Fatal(err)
			}
		}
		read, err := g.searchHistory(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		positions := func(list []store.Found) (out []int64) {
			for _, f := range list {
				out = append(out, f.Entry.Position)
			}
			return out
		}
		if !slices.Equal(positions(indexed), positions(read)) {
			t.Errorf("%+v:\nindexed %v\nread    %v", q, positions(indexed), positions(read))
		}
	}
}

// Random people in rooms and private conversations over the real index: nobody
// finds another's words.
func TestNobodyFindsAnothersWords(t *testing.T) {
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "clawbot.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := rand.New(rand.NewPCG(3, 4))
	b := newHistoryBot(t, s)
	defer b.stop()
	found := 0
	for i := range 150 {
		sender := fmt.Sprint(r.IntN(4) + 1)
		private := r.IntN(3) > 0
		session := fmt.Sprintf("chat:room%d", r.IntN(2))
		if private {
			session = fmt.Sprintf("chat:dm%s:%d", sender, r.IntN(3))
		}
		text := []string{"find secret", "/new", fmt.Sprintf("secret of %s number %d, private=%v", sender, i, private)}[r.IntN(3)]
		before := len(b.c.texts())
		in := inRoom(fmt.Sprint("p", i), sender, text, true)
		in.Target = channels.Target{Conversation: session, Chat: session, Direct: private}
		b.c.send(t, in)
		for b.dispatch.busy() {
			time.Sleep(time.Millisecond)
		}
		if text != "find secret" {
			continue
		}
		for _, post := range b.c.texts()[before:] {
			for line := range strings.Lines(post) {
				if !strings.Contains(line, "secret of ") {
					continue
				}
				found++
				if !private || !strings.Contains(line, "secret of "+sender+" ") || !strings.Contains(line, "private=true") {
					t.Fatalf("%s in %s finds %q", sender, session, line)
				}
			}
		}
	}
	if found == 0 {
		t.Error("nothing was found by anybody: the test tests nothing")
	}
}
