package reply

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clawbot/channels"
)

// growing is a platform whose messages grow natively for a while.
type growing struct {
	*platform
	every, life time.Duration
}

func (g growing) Stream(_ channels.Target, id string) (channels.Stream, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.messages {
		if m.id == id {
			return channels.Stream{Every: g.every, Until: m.writes[0].Add(g.life)}, true
		}
	}
	return channels.Stream{}, false
}

// native is such a platform that can look a message up, too.
type native struct{ growing }

func (n native) Probe(ctx context.Context, to channels.Target, nonce string) (string, error) {
	return prober{n.platform}.Probe(ctx, to, nonce)
}

func TestAMessageThatGrowsNativelyIsWrittenAtItsOwnPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		r, end := begin(t, Config{Channel: growing{p, 300 * time.Millisecond, time.Hour}})
		for range 100 {
			r.Write("some words ")
			pause(100 * time.Millisecond)
		}
		mustFinish(t, end)
		if p.edits < 28 || p.edits > 34 || p.posts != 1 {
			t.Errorf("%d posts, %d edits in 10 s", p.posts, p.edits)
		}
	})
}

func TestAMessageThatCanGrowNoLongerIsFollowedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		r, end := begin(t, Config{Channel: growing{p, time.Second, time.Minute}})
		var want strings.Builder
		for range 150 {
			r.Write("A paragraph of some words.\n\n")
			want.WriteString("A paragraph of some words.\n\n")
			pause(time.Second)
		}
		mustFinish(t, end)
		if n := len(p.messages); n != 3 || p.posts != 3 {
			t.Errorf("%d messages in two and a half minutes", n)
		}
		if got := strings.ReplaceAll(p.reading(), "\n--\n", "\n\n"); got != strings.TrimSpace(want.String()) {
			t.Errorf("people read %q", got)
		}
		for _, m := range p.messages {
			if m.draft || strings.Count(m.text, "A paragraph")*len("A paragraph of some words.") > len(m.text) {
				t.Errorf("a message was not ended at a paragraph: %q", m.text)
			}
		}
	})
}

func TestAShortMessageIsEditedHoweverOldItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		r, end := begin(t, Config{Channel: growing{p, time.Second, time.Minute}})
		r.Write("The beginning of a short answer.")
		pause(2 * time.Minute)
		r.Write(" Its end.")
		pause(2 * time.Second)
		mustFinish(t, end)
		if got := p.reading(); got != "The beginning of a short answer. Its end." {
			t.Errorf("people read %q", got)
		}
	})
}

// mistaken finds the reply's first message whatever it looks for.
type mistaken struct{ *platform }

func (p mistaken) Probe(context.Context, channels.Target, string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.messages) == 0 {
		return "", nil
	}
	return p.messages[0].id, nil
}

func TestAnotherPartOfTheReplyIsNotTakenForTheOneThatIsLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlatform()
		p.script = []fault{none, none, dropped}
		r, end := begin(t, Config{Channel: mistaken{p}})
		r.Write("The first part of it.")
		pause(2 * time.Second)
		r.Freeze()
		pause(2 * time.Second)
		r.Write("The second part of it.")
		pause(2 * time.Second)
		mustFinish(t, end)
		if got := p.reading(); got != "The first part of it.\n--\nThe second part of it." {
			t.Errorf("people read %q", got)
		}
	})
}
