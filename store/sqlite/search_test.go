package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clawbot/store"
)

// readText takes the data "owner|text" apart.
func readText(e store.Entry) (owner, text string) {
	owner, text, _ = strings.Cut(string(e.Data), "|")
	return owner, text
}

func openAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(context.Background(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// vocabulary is words as often as languages have them: a few often, most of
// them seldom.
type vocabulary struct {
	r     *rand.Rand
	zipf  *rand.Zipf
	words []string
}

func newVocabulary() *vocabulary {
	v := &vocabulary{r: rand.New(rand.NewPCG(1, 2))}
	v.zipf = rand.NewZipf(v.r, 1.1, 4, 29_999)
	for range 30_000 {
		n := 2 + v.r.IntN(9)
		word := make([]byte, n)
		for i := range word {
			word[i] = "etaoinshrdlucmfwypvbgkjqxz"[min(v.r.IntN(26), v.r.IntN(26))]
		}
		v.words = append(v.words, string(word))
	}
	return v
}

func (v *vocabulary) text(words int) string {
	var b strings.Builder
	for range words {
		b.WriteString(v.words[v.zipf.Uint64()])
		b.WriteByte(' ')
	}
	return b.String()
}

// fill appends messages to a session in turns, of persons and of the agent, and
// returns how many bytes they had.
func fill(t testing.TB, s *Store, session, owner string, messages int, text func(i int) string) (size int64) {
	t.Helper()
	l, err := s.Acquire(t.Context(), session, "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	first := l.Start().Tail
	var list []store.Entry
	for i := range messages {
		e := store.Entry{Kind: store.KindUser, ID: fmt.Sprint(first, i), Data: []byte(owner + "|" + text(i))}
		if i%2 == 1 {
			e.Kind, e.Data = store.KindAssistant, []byte("|"+text(i))
		}
		size += int64(len(e.Data))
		if list = append(list, e); len(list) == 500 || i == messages-1 {
			if err := l.Append(t.Context(), first, list); err != nil {
				t.Fatal(err)
			}
			first, list = first+int64(len(list)), nil
		}
	}
	if err := l.HandOff(t.Context(), time.Hour, false); err != nil {
		t.Fatal(err)
	}
	return size
}

func look(t testing.TB, s *Store, owner, words string) []store.Found {
	t.Helper()
	found, err := s.Search(t.Context(), store.Search{Owner: owner, Words: words, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// waitIndexed waits until all that is stored is in the index.
func waitIndexed(t testing.TB, s *Store) {
	t.Helper()
	for {
		s.index.pass.Lock()
		behind, err := int64(0), error(nil)
		err = s.read(t.Context(), func(c *conn) error {
			behind, err = c.number(`SELECT count(*) FROM sessions s LEFT JOIN indexed i ON i.session = s.id WHERE EXISTS (SELECT 1 FROM entries
				WHERE kind IN (1, 2) AND key >= (s.id << 32) + coalesce(i.upto, 0) AND key < (s.id + 1) << 32)`)
			return err
		})
		s.index.pass.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		if behind == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestADatabaseOfTheFirstSchemaIsSearchedAfterTheUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clawbot.db")
	s := openAt(t, path)
	fill(t, s, "old", "ann", 300, func(i int) string { return fmt.Sprint("bird number", i) })
	err := s.do(t.Context(), false, func(tx *tx) error {
		for _, sql := range []string{"DROP TABLE found", "DROP TABLE indexed", "ALTER TABLE blobs DROP COLUMN put", "PRAGMA user_version = 1"} {
			if err := tx.exec(sql); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	s.Index(readText)
	waitIndexed(t, s)
	if found := look(t, s, "ann", "number123"); len(found) != 1 || found[0].Entry.Position != 123 {
		t.Errorf("found %+v", found)
	}
	if found := look(t, s, "ann", "bird"); len(found) != 10 || found[0].Entry.Position != 299 {
		t.Errorf("found %d, the first %+v", len(found), found[0])
	}
}

func TestWhatWasNotIndexedBeforeACrashIsAfterIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clawbot.db")
	s := openAt(t, path)
	s.Index(readText)
	fill(t, s, "s", "ann", 10, func(i int) string { return fmt.Sprint("early ", i) })
	waitIndexed(t, s)
	s.index.close() // from now on nothing is indexed
	fill(t, s, "s", "ann", 10, func(i int) string { return fmt.Sprint("late ", i) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	s.Index(readText)
	waitIndexed(t, s)
	if early, late := look(t, s, "ann", "early"), look(t, s, "ann", "late"); len(early) != 10 || len(late) != 10 {
		t.Errorf("found %d and %d", len(early), len(late))
	}
}

func TestAnIndexThatIsWrongShowsNobodyAnothersWords(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "clawbot.db"))
	s.Index(readText)
	fill(t, s, "s", "ann", 2, func(int) string { return "secret" })
	waitIndexed(t, s)
	err := s.do(t.Context(), false, func(tx *tx) error {
		return tx.exec("INSERT OR REPLACE INTO found (rowid, words) SELECT -key, ? FROM entries", ownerWord("bob")+" secret")
	})
	if err != nil {
		t.Fatal(err)
	}
	if found := look(t, s, "bob", "secret"); len(found) != 0 {
		t.Errorf("bob finds %+v", found)
	}
}

func TestWordsOfADeletedSessionLeaveTheIndex(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "clawbot.db"))
	s.Index(readText)
	fill(t, s, "kept", "ann", 900, func(i int) string { return fmt.Sprint("qqkept", i) })
	fill(t, s, "gone", "ann", 4, func(i int) string { return fmt.Sprint("zzgone", i) }) // few: FTS5 merges by itself what has lost a tenth
	waitIndexed(t, s)
	blocks := func(word string) (n int64) {
		t.Helper()
		err := s.read(t.Context(), func(c *conn) (err error) {
			n, err = c.number("SELECT count(*) FROM found_data WHERE instr(block, CAST(? AS BLOB)) > 0", word)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if blocks("zzgone") == 0 {
		t.Fatal("the word is not in the index to begin with")
	}
	l, err := s.Acquire(t.Context(), "gone", "x", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Archive().Purge(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	for blocks("zzgone") > 0 {
		time.Sleep(10 * time.Millisecond) // the test's own deadline ends it
	}
	if blocks("qqkept") == 0 || len(look(t, s, "ann", "qqkept17")) == 0 {
		t.Error("the other session has left it, too")
	}
}

func TestNobodyTypesTheWordOfAnOwner(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "clawbot.db"))
	s.Index(readText)
	fill(t, s, "s", "ann", 2, func(int) string { return "plain " + ownerWord("bob") + " secret" })
	waitIndexed(t, s)
	n := int64(0)
	err := s.read(t.Context(), func(c *conn) (err error) {
		n, err = c.number("SELECT count(*) FROM found WHERE found MATCH ?", `"`+ownerWord("bob")+`"`)
		return err
	})
	if err != nil || n != 0 {
		t.Errorf("the index offers bob %d entries, %v", n, err)
	}
}

func TestTheDatabaseTakesAtMostThreeTimesWhatWasSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clawbot.db")
	s := openAt(t, path)
	s.Index(readText)
	v := newVocabulary()
	size := int64(0)
	for i := range 5 {
		size += fill(t, s, fmt.Sprint("s", i), fmt.Sprint("owner", i%3), 400, func(int) string { return v.text(50) })
	}
	waitIndexed(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d kB said, %d kB kept: %.2f times", size>>10, info.Size()>>10, float64(info.Size())/float64(size))
	if info.Size() > 3*size {
		t.Errorf("%d bytes for %d that were said", info.Size(), size)
	}
}

// BenchmarkSearch searches 100,000 messages of one person.
func BenchmarkSearch(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "clawbot.db"))
	s.Index(readText)
	v := newVocabulary()
	fill(b, s, "s", "ann", 100_000, func(i int) string {
		if i%50_000 == 7 {
			return v.text(40) + " needle 东京塔"
		}
		return v.text(40)
	})
	waitIndexed(b, s)
	for name, words := range map[string]string{
		"rare": "needle", "cjk": "东京塔", "common": v.words[0] + " " + v.words[1], "absent": "nothinglikeit",
		"common and rare": v.words[0] + " needle", "prefix": v.words[5] + "a" + v.words[3], "another's": "needle",
	} {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			owner := "ann"
			if name == "another's" {
				owner = "bob"
			}
			for b.Loop() {
				look(b, s, owner, words)
			}
		})
	}
}
