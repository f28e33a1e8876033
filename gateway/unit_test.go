package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"clawbot/agentcore"
	"clawbot/store"
)

func TestTheCacheStaysWithinItsBytes(t *testing.T) {
	c := cache{limit: 1000}
	for i := range 10 {
		c.put(&transcript{session: fmt.Sprint(i), bytes: 300})
	}
	c.put(&transcript{session: "huge", bytes: 1001})
	if c.bytes != 900 || len(c.items) != 3 || c.order.Len() != 3 {
		t.Errorf("%d bytes in %d items", c.bytes, len(c.items))
	}
	if c.take("6") != nil || c.take("huge") != nil {
		t.Error("the oldest or the huge one was kept")
	}
	if c.take("9") == nil || c.take("9") != nil || c.bytes != 600 {
		t.Error("take does not move")
	}
}

func TestTheEarsAreBounded(t *testing.T) {
	var e ears
	for i := range overheardRooms + 10 {
		e.hear(fmt.Sprint(i), overheard{Key: "1", Text: "x"})
	}
	if len(e.rooms) != overheardRooms || e.order.Len() != overheardRooms {
		t.Errorf("%d rooms are kept", len(e.rooms))
	}
	if e.recall("0") != nil || len(e.recall(fmt.Sprint(overheardRooms))) != 1 {
		t.Error("not the longest silent rooms were forgotten")
	}
}

func TestHintsSurviveTheBus(t *testing.T) {
	for _, h := range []hint{
		{session: "a:b", lane: store.Signals},
		{session: "a:b", look: true},
		{session: "a:b", sender: "x\x00y", waiting: 3, after: 9},
	} {
		got, ok := decodeHint(h.encode())
		if !ok || got != h {
			t.Errorf("%+v became %+v", h, got)
		}
	}
	for _, bad := range []string{"", "m", "m\x00", "m\x00a\x00x\x001\x00", "\x00\x00\x00\x00"} {
		if _, ok := decodeHint([]byte(bad)); ok {
			t.Errorf("%q was taken for a hint", bad)
		}
	}
}

func TestEveryConversationHasAFolderOfItsOwnButOwnersDirectOnes(t *testing.T) {
	root := t.TempDir()
	w := Workspace{Root: filepath.Join(root, "ws")}
	dir := func(w Workspace, session, role string, direct bool) string {
		r, err := w.open(session, role, direct)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		return r.Name()
	}
	seen := map[string]bool{}
	for _, session := range []string{"a:b", "a_b", "a-b", "..", ".", "a:..:b"} {
		d := dir(w, session, RoleGuest, true)
		if seen[d] || !strings.HasPrefix(d, filepath.Join(w.Root, conversations)+string(os.PathSeparator)) {
			t.Errorf("%q gets %q", session, d)
		}
		seen[d] = true
	}
	if d := dir(w, "a:b", RoleOwner, true); d != w.Root {
		t.Errorf("an owner's direct conversation gets %q", d)
	}
	if d := dir(w, "a:b", RoleOwner, false); d == w.Root {
		t.Error("a room with an owner gets the root")
	}
	w.Scope = "shared"
	if d := dir(w, "a:b", RoleGuest, false); d != w.Root {
		t.Errorf("shared gives %q", d)
	}
	if r, err := (Workspace{}).open("a", RoleOwner, true); r != nil || err != nil {
		t.Error("there is a workspace although none is configured")
	}
}

func TestKeepFromNeverPartsACallFromItsResult(t *testing.T) {
	roles := []agentcore.Role{"user", "assistant", "toolResult", "toolResult", "assistant", "user"}
	tr := transcript{tail: 20}
	for i, role := range roles {
		tr.show(&agentcore.Message{Role: role}, int64(10+i))
	}
	for kept, want := range map[int]int64{0: 20, 1: 15, 2: 14, 3: 11, 4: 11, 5: 11, 6: 10, 9: 10} {
		if got := tr.keepFrom(kept); got != want {
			t.Errorf("keeping %d begins at %d, want %d", kept, got, want)
		}
	}
}

func TestTheSystemPromptNamesWhatTheModelMustKnow(t *testing.T) {
	cfg := Config{Agent: Agent{Name: "Bo"}, Toolbox: toolset{}, Workspace: Workspace{Root: "/x"}}
	in := inRoom("1", "7", "", true)
	text := cfg.systemPrompt("telegram.work", in.Target, "Kitchen⟧")
	for _, want := range []string{"You are Bo", "Telegram", "UTC", "Look with reading tools first", "named Kitchen.", "⟦name · id⟧"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from %q", want, text)
		}
	}
	cfg.Agent.SystemPrompt = "Be terse."
	if text := cfg.systemPrompt("terminal", direct("terminal:1", "1", "").Target, ""); text != "Be terse." {
		t.Errorf("a configured prompt became %q", text)
	}
}

// FuzzInbound holds the decoder of what waits in the inbox to never panicking,
// and what the model is shown to have balanced brackets of ours alone.
func FuzzInbound(f *testing.F) {
	f.Add([]byte(`{"v":1,"id":"x","text":"⟦a⟧","sender":{"name":"b⟧"},"overheard":[{"text":"⟦"}],"quote":"⟦"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeInbound(data)
		if err != nil || r.Kind == kindDropped {
			return
		}
		text := r.message().Text()
		if strings.Count(text, markOpen) != strings.Count(text, markClose) {
			t.Errorf("%q", text)
		}
	})
}

func FuzzPayload(f *testing.F) {
	f.Add([]byte(`{"v":1,"m":{"role":"assistant","content":[{"type":"text","text":"x"}]}}`))
	f.Add([]byte(`{"v":1,"note":{"kind":"stopped","final":true}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for kind := store.KindAssistant; kind <= store.KindNote; kind++ {
			tr := transcript{}
			_ = tr.add(store.Entry{Kind: kind, Data: data, ID: "x", Closes: "y"})
			for _, m := range tr.messages {
				if m.Role == agentcore.RoleAssistant && m.Stop == agentcore.StopError {
					t.Errorf("a failed message is shown to the model")
				}
			}
		}
	})
}
