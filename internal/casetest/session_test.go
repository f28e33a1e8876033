package casetest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"clawbot/agentcore"
	"clawbot/providers"
	"clawbot/store"
	"clawbot/store/sqlite"
)

// Session runs cases of a damaged session file. The lines become entries of a
// session in the embedded store, and the damage is done to what stands for it
// there: a torn last line is a cut log, a run of NUL bytes an entry of them.
// Everything else must be read again, and still fit every wire format.
func (runner) Session(t *testing.T, c Case) {
	var want struct {
		Entries          []string
		AppendThenReload *struct{ Append string }
		AfterPrompt      string
	}
	decode(t, c.Expected, &want)
	lines, torn := sessionLines(c.Input)
	dir := t.TempDir()
	dir = writeSession(t, dir, lines, torn)
	if want.AppendThenReload != nil {
		line := `{"type":"message","id":"` + want.AppendThenReload.Append + `","message":{"role":"user","content":[{"type":"text","text":"next"}]}}`
		appendEntries(t, dir, []store.Entry{sessionEntry(t, []byte(line))})
	}
	entries := readSession(t, dir)
	var ids []string
	var messages []*agentcore.Message
	for _, e := range entries {
		if m := sessionMessage(e.Data); m != nil {
			ids = append(ids, e.ID)
			messages = append(messages, m)
		}
	}
	if !slices.Equal(ids, want.Entries) {
		t.Errorf("entries %v, want %v", ids, want.Entries)
	}
	if torn {
		lines = lines[:len(lines)-1] // another stands in its place now
	}
	for i, line := range lines {
		if i < len(entries) && !bytes.Equal(entries[i].Data, line) {
			t.Errorf("the stored bytes of entry %d have changed", i)
		}
	}
	if want.AfterPrompt != "" {
		argumentsAreObjects(t, messages)
	}
}

// sessionLines returns the lines that hold messages, damaged ones included, and
// whether the last one is torn.
func sessionLines(input []byte) (lines [][]byte, torn bool) {
	for line := range bytes.Lines(input) {
		whole := bytes.HasSuffix(line, []byte("\n"))
		line = bytes.TrimRight(line, "\n")
		if len(line) == 0 || bytes.Contains(line, []byte(`"type":"session"`)) {
			continue
		}
		lines = append(lines, line)
		torn = !whole && !json.Valid(line)
	}
	return lines, torn
}

type sessionRecord struct {
	ID      string
	Message json.RawMessage
}

// sessionMessage decodes a stored line; nil if it is damaged. Arguments that
// are no JSON are kept as the text they are.
func sessionMessage(line []byte) *agentcore.Message {
	var r sessionRecord
	var m agentcore.Message
	if json.Unmarshal(line, &r) != nil || json.Unmarshal(r.Message, &m) != nil {
		return nil
	}
	m.ID = r.ID
	return &m
}

func sessionEntry(t *testing.T, line []byte) store.Entry {
	t.Helper()
	e := store.Entry{Kind: store.KindNote, ID: "damaged", Data: line, Inbox: -1}
	if m := sessionMessage(line); m != nil {
		e.ID = m.ID
	}
	return e
}

// writeSession stores the lines and returns the folder to go on with: after a
// torn line that of a process that died while it wrote the last entry.
func writeSession(t *testing.T, dir string, lines [][]byte, torn bool) string {
	t.Helper()
	s := openSession(t, dir)
	l, err := s.Acquire(t.Context(), "s1", "writer", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range lines {
		if err := l.Append(t.Context(), int64(i), []store.Entry{sessionEntry(t, line)}); err != nil {
			t.Fatal(err)
		}
	}
	if torn {
		dead := t.TempDir()
		if err := os.CopyFS(dead, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dead, "clawbot.db"), 0o600); err != nil {
			t.Fatal(err)
		}
		wal := filepath.Join(dead, "clawbot.db-wal")
		info, err := os.Stat(wal)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(wal, info.Size()-100); err != nil {
			t.Fatal(err)
		}
		dir = dead
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func openSession(t *testing.T, dir string) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(dir, "clawbot.db")})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func appendEntries(t *testing.T, dir string, entries []store.Entry) {
	t.Helper()
	s := openSession(t, dir)
	l, err := s.Acquire(t.Context(), "s1", "successor", time.Minute)
	if err == nil {
		err = l.Append(t.Context(), l.Start().Tail, entries)
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readSession(t *testing.T, dir string) []store.Entry {
	t.Helper()
	s := openSession(t, dir)
	entries, err := s.Archive().Read(t.Context(), "s1", 0, 100)
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// argumentsAreObjects checks that what was stored can be sent in every format.
func argumentsAreObjects(t *testing.T, messages []*agentcore.Message) {
	t.Helper()
	messages = append(messages, &agentcore.Message{ID: "prompt", Role: agentcore.RoleUser, Content: []agentcore.Block{agentcore.Text{Text: "go on"}}})
	for kind := range adapters {
		model, _ := newModel(t, kind, providers.Config{}, "m1")
		raw := model.Request(&agentcore.Request{Messages: messages}).Bytes()
		if !json.Valid(raw) || strings.Contains(string(raw), `{\"command\": \"ls"`) {
			t.Errorf("%s sends %s", kind, raw)
		}
	}
}
