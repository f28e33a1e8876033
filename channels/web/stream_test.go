package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
)

// sse is an open event stream, read event by event.
type sse struct {
	t      *testing.T
	resp   *http.Response
	lines  *bufio.Reader
	cancel context.CancelFunc
}

type sseEvent struct {
	id, event string
	data      map[string]any
}

func (r *running) stream(conv, last string) *sse {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/api/conversations/"+conv+"/events", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	s := &sse{t: r.t, resp: resp, lines: bufio.NewReader(resp.Body), cancel: cancel}
	r.t.Cleanup(s.close)
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		r.t.Fatalf("got %d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	return s
}

func (s *sse) close() {
	s.cancel()
	s.resp.Body.Close()
}

func (s *sse) next() sseEvent {
	s.t.Helper()
	var ev sseEvent
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			s.t.Fatalf("the stream ended: %v", err)
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" && ev.event != "":
			return ev
		case strings.HasPrefix(line, "id: "):
			ev.id = line[4:]
		case strings.HasPrefix(line, "event: "):
			ev.event = line[7:]
		case strings.HasPrefix(line, "data: "):
			if err := json.Unmarshal([]byte(line[6:]), &ev.data); err != nil {
				s.t.Fatalf("not JSON: %s", line)
			}
		}
	}
}

func TestAStreamBeginsWithASnapshotOfWhatTheTranscriptLacks(t *testing.T) {
	r := run(t)
	first := r.stream("c", "")
	if ev := first.next(); ev.event != "snapshot" || ev.data["run"] != nil {
		t.Fatalf("got %+v", ev)
	}
	r.start("c")
	r.says("c", "Größe: ")
	r.says("c", "7 €")
	r.tool("c", "tool_start", channels.LiveCall{ID: "t", Name: "x", Arguments: json.RawMessage(`{"a":1}`)})
	r.tool("c", "tool_update", channels.LiveCall{ID: "t", Name: "x", Output: "half"})
	for range 5 {
		first.next()
	}
	run := r.stream("c", "").next().data["run"].(map[string]any)
	call := run["calls"].([]any)[0].(map[string]any)
	if run["text"] != "Größe: 7 €" || run["known"] != true || call["output"] != "half" || call["arguments"] == nil || run["end"] != float64(len("Größe: 7 €")) {
		t.Errorf("the snapshot has %v", run)
	}
	r.finish("c", calling("Größe: 7 €", call2("t")))
	r.result("c", "t", "x", "whole", false)
	first.next()
	first.next()
	run = r.stream("c", "").next().data["run"].(map[string]any)
	if run["text"] != "" || len(run["calls"].([]any)) != 0 {
		t.Errorf("what is in the transcript is still in the snapshot: %v", run)
	}
	r.end("c", "")
	if ev := first.next(); ev.data["type"] != "run_end" {
		t.Fatalf("got %+v", ev)
	}
	if ev := r.stream("c", "").next(); ev.data["run"] != nil {
		t.Errorf("an ended run is still shown: %v", ev.data)
	}
}

func call2(id string) agentcore.ToolCall { return call(id, "x", `{"a":1}`) }

func TestAStreamResumesAfterTheLastEventThatWasSeen(t *testing.T) {
	r := run(t)
	s := r.stream("c", "")
	s.next()
	r.start("c")
	r.says("c", "one")
	s.next()
	seen := s.next()
	s.close()
	r.says("c", "two")
	r.says("c", "three")
	back := r.stream("c", seen.id)
	for _, want := range []string{"two", "three"} {
		if ev := back.next(); ev.event != "live" || ev.data["text"] != want {
			t.Errorf("got %+v, want the text %s", ev, want)
		}
	}
	for _, strange := range []string{"x", "-", seen.id[:8], seen.id[:8] + "-", seen.id[:8] + "-99999", "00000000-1", strings.Repeat("9", 1000)} {
		if ev := r.stream("c", strange).next(); ev.event != "snapshot" {
			t.Errorf("after the id %.20q came %s, want a snapshot", strange, ev.event)
		}
	}
}

func TestAPageThatWasAwayForTooLongGetsASnapshotInstead(t *testing.T) {
	r := run(t)
	s := r.stream("c", "")
	s.next()
	r.start("c")
	seen := s.next()
	for range ringFrames + 10 {
		r.says("c", "x")
		s.next()
	}
	if ev := r.stream("c", seen.id).next(); ev.event != "snapshot" || len(ev.data["run"].(map[string]any)["text"].(string)) != ringFrames+10 {
		t.Errorf("got %.200v", ev)
	}
}

func TestAPageThatDoesNotReadIsDroppedAndHoldsNobodyUp(t *testing.T) {
	r := run(t)
	r.stream("c", "").next()
	h := r.channel.hubs["web:c"]
	cl, _ := h.join("") // reads nothing
	r.start("c")
	for range clientFrames + 10 {
		r.says("c", "x")
	}
	select {
	case <-cl.gone:
	case <-time.After(patience):
		t.Fatal("the slow page was not dropped")
	}
}

func TestDeltasBeforeAGapAreNotShownAsIfTheyWereWhole(t *testing.T) {
	r := run(t)
	s := r.stream("c", "")
	s.next()
	publish := func(offset int, text string) {
		data, _ := json.Marshal(channels.LiveEvent{Type: "text", Run: "r", Seq: 9, Offset: offset, Text: text})
		_ = r.Publish(t.Context(), channels.LiveTopic("web:c"), data)
		s.next()
	}
	known := func() (any, any) {
		run := r.stream("c", "").next().data["run"].(map[string]any)
		return run["known"], run["text"]
	}
	publish(10, "late")
	if k, text := known(); k != false || text != "" {
		t.Errorf("known %v, text %v", k, text)
	}
	publish(0, "ab")
	publish(2, "cd")
	publish(2, "cd") // delivered twice
	if k, text := known(); k != true || text != "abcd" {
		t.Errorf("known %v, text %v", k, text)
	}
}

func TestJunkOnTheBusIsSkipped(t *testing.T) {
	r := run(t)
	s := r.stream("c", "")
	s.next()
	for _, junk := range []string{"", "{", "null", "[]", `{"type":7}`, "\xff"} {
		_ = r.Publish(t.Context(), channels.LiveTopic("web:c"), []byte(junk))
		_ = r.Publish(t.Context(), noticeTopic("web:c"), []byte(junk))
	}
	r.start("c")
	for {
		if ev := s.next(); ev.data["type"] == "run_start" {
			return
		}
	}
}

func TestANoticeReachesThePageAndIsThereForOneThatComesSoonAfter(t *testing.T) {
	r := run(t)
	to := channels.Target{Conversation: "web:c", Chat: "c"}
	id, err := r.channel.Post(t.Context(), to, channels.Outgoing{Markdown: "Working.", Nonce: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	s := r.stream("c", "")
	for ev := s.next(); ; ev = s.next() {
		if list, ok := ev.data["notices"].([]any); ok && len(list) == 1 || ev.event == "notice" && ev.data["text"] == "Working." {
			break
		}
	}
	if err := r.channel.Edit(t.Context(), to, id, channels.Outgoing{Markdown: "Idle."}); err != nil {
		t.Fatal(err)
	}
	if ev := s.next(); ev.event != "notice" || ev.data["id"] != id || ev.data["text"] != "Idle." {
		t.Errorf("got %+v", ev)
	}
	notices := r.stream("c", "").next().data["notices"].([]any)
	if len(notices) != 1 || notices[0].(map[string]any)["text"] != "Idle." {
		t.Errorf("the snapshot has %v", notices)
	}
	_, err = r.channel.Post(t.Context(), channels.Target{Conversation: "telegram:1"}, channels.Outgoing{Markdown: "x"})
	if channels.OutcomeOf(err) != channels.Rejected {
		t.Errorf("a foreign conversation got %v", err)
	}
}

func TestStreamsEndWhenTheChannelDoesAndMessagesAreRefused(t *testing.T) {
	b := newBot(t)
	c, err := New(Config{Transcripts: b})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(c.mux)
	defer srv.Close()
	r := &running{bot: b, url: srv.URL, client: srv.Client()}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Receive(ctx, b) }()
	s := r.stream("c", "")
	s.next()
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, err := s.lines.ReadString('\n'); err == nil {
		t.Error("the stream went on")
	}
	synctestStarting(t, c)
}

// synctestStarting checks that a message to a channel that does not receive is
// refused after a moment, not kept.
func synctestStarting(t *testing.T, c *Channel) {
	synctest.Test(t, func(t *testing.T) {
		c.begun = make(chan struct{}) // of this bubble
		w := httptest.NewRecorder()
		req := httptest.NewRequest(http.MethodPost, "/api/conversations/c/messages", strings.NewReader(`{"text":"a"}`))
		req.Header.Set("Content-Type", "application/json")
		c.mux.ServeHTTP(w, req)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	})
}

func TestAQuietStreamBeatsSoThatADeadOneIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBot(t)
		c, err := New(Config{Transcripts: b})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = c.Receive(ctx, b) }()
		w := httptest.NewRecorder()
		reqCtx, leave := context.WithCancel(t.Context())
		served := make(chan struct{})
		go func() {
			defer close(served)
			c.mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/conversations/c/events", nil).WithContext(reqCtx))
		}()
		time.Sleep(3*heartbeat + time.Second)
		leave()
		<-served
		if n := strings.Count(w.Body.String(), "event: ping\n"); n != 3 {
			t.Errorf("%d beats in %s: %s", n, 3*heartbeat, w.Body)
		}
		cancel()
		synctest.Wait()
	})
}

func TestHubsThatNobodyLooksAtAreLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBot(t)
		c, err := New(Config{Transcripts: b})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = c.Receive(ctx, b) }()
		synctest.Wait()
		for i := range 10 {
			if _, err := c.hub(fmt.Sprint("web:", i), b); err != nil {
				t.Fatal(err)
			}
		}
		looked, _ := c.hub("web:looked", b)
		cl, _ := looked.join("")
		busy, _ := c.hub("web:busy", b)
		b.start("busy")
		synctest.Wait()
		left := func() int {
			synctest.Wait()
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.hubs)
		}
		time.Sleep(keepIdle + 2*sweepEvery)
		if n := left(); n != 2 {
			t.Errorf("%d hubs are left, want the one with a page and the one with a run", n)
		}
		time.Sleep(keepRunning + 2*sweepEvery)
		if n := left(); n != 1 {
			t.Errorf("%d hubs are left, want the one with a page", n)
		}
		looked.leave(cl)
		_ = busy
		cancel()
		synctest.Wait()
		if len(b.subs) != 0 {
			t.Errorf("%d subscriptions are left", len(b.subs))
		}
	})
}

func TestThereIsRoomForManyPagesButNotForAllOfThem(t *testing.T) {
	r := run(t)
	r.channel.streams = maxStreams
	status, answer := r.do("GET", "/api/conversations/c/events", "")
	if status != http.StatusServiceUnavailable || problemOf(answer) == "" {
		t.Errorf("got %d %v", status, answer)
	}
	r.channel.streams = 0
}

func BenchmarkALiveDelta(b *testing.B) {
	for _, pages := range []int{0, 1, 10} {
		b.Run(fmt.Sprint(pages, " pages"), func(b *testing.B) {
			h := &hub{session: "web:c", epoch: "abcdefgh", clients: map[*client]struct{}{}, used: time.Now()}
			for range pages {
				cl, _ := h.join("")
				go func() {
					for {
						select {
						case <-cl.frames:
						case <-cl.gone:
							return
						}
					}
				}()
			}
			ev := channels.LiveEvent{Type: "text", Run: "01J", Text: "a few words of text", At: time.Now()}
			data := make([][]byte, 1000)
			for i := range data {
				ev.Seq, ev.Offset = int64(i+1), i*len(ev.Text)
				data[i], _ = json.Marshal(ev)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				h.onLive("", data[i%len(data)])
			}
			b.StopTimer()
			h.close()
		})
	}
}

func FuzzLiveEventsNeverBreakTheHub(f *testing.F) {
	for _, seed := range []string{`{"type":"text","run":"r","seq":1,"text":"a","offset":0}`, `{"type":"text","offset":-5,"text":"x"}`,
		`{"type":"tool_start","call":{"id":"a","arguments":{"x":1}}}`, `{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"x"}]},"position":3}`,
		`{"type":"message","message":7}`, `{"type":"run_end","error":"x"}`, `{"type":"tool_end","call":null}`} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		h := &hub{session: "web:c", epoch: "abcdefgh", clients: map[*client]struct{}{}, used: time.Now()}
		cl, _ := h.join("")
		h.onLive("", []byte(a))
		h.onNotice("", []byte(b))
		h.onLive("", []byte(b))
		for len(cl.frames) > 0 {
			frame := string(<-cl.frames)
			if !strings.HasSuffix(frame, "\n\n") || strings.Count(frame, "\n") != 4 {
				t.Errorf("a frame that is not one event: %q", frame)
			}
		}
		if s := string(h.snapshot()); strings.Count(s, "\n") != 4 || strings.Contains(s, "data: {}\n") {
			t.Errorf("a snapshot that is not one event: %q", s)
		}
	})
}
