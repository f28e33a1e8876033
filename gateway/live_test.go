package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/channels"
	"clawbot/store"
)

// liveChat draws runs from live events.
type liveChat struct{ *chat }

func (liveChat) LiveEvents() {}

// watcher collects live events.
type watcher struct {
	mu     sync.Mutex
	events []channels.LiveEvent
}

func (w *watcher) take(_ string, data []byte) {
	var ev channels.LiveEvent
	if json.Unmarshal(data, &ev) == nil {
		w.mu.Lock()
		w.events = append(w.events, ev)
		w.mu.Unlock()
	}
}

func (w *watcher) types() []string {
	var out []string
	for _, ev := range w.events {
		if ev.Type == "accepted" {
			continue // not of the run; the sweep may have begun it already
		}
		if ev.Type == "text" && len(out) > 0 && out[len(out)-1] == "text" {
			continue
		}
		out = append(out, ev.Type)
	}
	return out
}

func TestALiveChannelDrawsTheRunFromItsEvents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := liveChat{newChat("web")}, newStore(t)
		slow := tool("slow", func(ctx context.Context) string { sleep(ctx, time.Second); return "slept" })
		first := call("c1", "slow", `{"a":1}`)
		first.text = []string{"Let ", "me ", "see."}
		m := &script{steps: []step{first, {text: []string{"All ", "done."}, every: 5 * time.Millisecond}}}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m, Toolbox: toolset{slow}})
		<-c.ready
		var w watcher
		cancel, err := c.host.Subscribe(channels.LiveTopic("web:1"), w.take)
		if err != nil {
			t.Fatal(err)
		}
		defer cancel()
		c.send(t, direct("web:1", "1", "work"))
		settled(t, b)
		synctest.Wait()
		want(t, "events", w.types(), []string{
			"run_start", "message", "text", "message", "tool_start", "tool_end", "message", "text", "message", "run_end",
		})
		if n := len(c.texts()); n != 0 {
			t.Errorf("%d posts on a live channel", n)
		}
		checkLive(t, w.events)
	})
}

// checkLive plays the page: sequence numbers don't skip, text offsets fit, and
// positions are those of the transcript.
func checkLive(t *testing.T, events []channels.LiveEvent) {
	t.Helper()
	seq, position, text := int64(0), int64(0), ""
	for _, ev := range events {
		if ev.Type == "accepted" {
			continue
		}
		if seq++; ev.Seq != seq {
			t.Errorf("%s: seq %d, want %d", ev.Type, ev.Seq, seq)
		}
		switch ev.Type {
		case "text":
			if ev.Offset != len(text) {
				t.Errorf("text at %d, have %d bytes", ev.Offset, len(text))
			}
			text += ev.Text
		case "message":
			if position++; ev.Position != position {
				t.Errorf("message at %d, want %d", ev.Position, position)
			}
			if !strings.Contains(string(ev.Message), text) {
				t.Errorf("the message %s does not say %q", ev.Message, text)
			}
			text = ""
		}
	}
}

func TestAStopAndAFailureEndALiveRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := liveChat{newChat("web")}, newStore(t)
		m := &script{steps: []step{words(100), {err: authError()}}}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		<-c.ready
		var w watcher
		cancel, err := c.host.Subscribe("live:web:*", w.take)
		if err != nil {
			t.Fatal(err)
		}
		defer cancel()
		c.send(t, direct("web:1", "1", "work"))
		time.Sleep(time.Second)
		c.send(t, direct("web:1", "2", "/stop"))
		settled(t, b)
		c.send(t, direct("web:1", "3", "again"))
		settled(t, b)
		synctest.Wait()
		var ends []string
		for _, ev := range w.events {
			if ev.Type == "run_end" {
				ends = append(ends, ev.Text+ev.Error)
			}
		}
		want(t, "ends", ends, []string{stoppedText, "The key for the model is not valid."})
	})
}

func TestTextIsGatheredBeforeItIsPublished(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := liveChat{newChat("web")}, newStore(t)
		fast := step{every: time.Millisecond}
		for range 1000 {
			fast.text = append(fast.text, "x")
		}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: &script{steps: []step{fast}}})
		<-c.ready
		var w watcher
		cancel, err := c.host.Subscribe(channels.LiveTopic("web:1"), w.take)
		if err != nil {
			t.Fatal(err)
		}
		defer cancel()
		c.send(t, direct("web:1", "1", "work"))
		settled(t, b)
		synctest.Wait()
		n := 0
		for _, ev := range w.events {
			if ev.Type == "text" {
				n++
			}
		}
		if n < 20 || n > 40 {
			t.Errorf("1,000 deltas in a second became %d events", n)
		}
	})
}

func TestHistoryReadsWhatPeopleWroteAndWhatBecameOfIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, s := newChat("chat"), newStore(t)
		m := &script{steps: []step{{err: authError()}}}
		b := start(t, Config{Store: s, Channels: []channels.Channel{c}, Model: m})
		c.send(t, inRoom("1", "7", "⟦hi⟧", true))
		settled(t, b)
		list, err := b.Transcript(t.Context(), "chat:room", 0, 10)
		if err != nil || len(list) != 2 {
			t.Fatalf("%d entries, %v", len(list), err)
		}
		if h := list[0]; h.Message.Text() != "⟦hi⟧" || h.EventID != "chat:1:1" && h.EventID != "chat:room:1" {
			t.Errorf("user entry: %q, event %q", h.Message.Text(), h.EventID)
		}
		if h := list[1]; h.Message.Text() != "⚠️ The key for the model is not valid." {
			t.Errorf("note: %q", h.Message.Text())
		}
		if list, err := b.Transcript(t.Context(), "chat:nobody", 0, 10); err != nil || len(list) != 0 {
			t.Errorf("an unknown session: %v, %v", list, err)
		}
		infos, _, err := b.Sessions(t.Context(), "chat:", "", 10)
		if err != nil || !slices.ContainsFunc(infos, func(i store.SessionInfo) bool { return i.Session == "chat:room" }) {
			t.Errorf("sessions: %v, %v", infos, err)
		}
	})
}
