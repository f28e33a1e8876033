package channeltest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"clawbot/channels"
)

func runSending(t *testing.T, o Options) {
	t.Run("a message is posted and edited", o.postAndEdit)
	t.Run("an edit to what is there already is a success", o.notModified)
	t.Run("text of the longest length is taken and longer text is refused", o.length)
	t.Run("a status line stands below the text and goes", o.status)
	t.Run("whatever a model writes is shown and never refused", o.anyMarkdown)
	t.Run("many messages at once are all shown", o.parallel)
}

func runFailing(t *testing.T, o Options) {
	t.Run("a rate limit says how long to wait", o.rateLimit)
	t.Run("a lost answer is an unknown outcome", o.lostAnswer)
	t.Run("a server error is an unknown outcome", o.serverError)
	t.Run("a message that is gone is told apart", o.gone)
	t.Run("a place that the bot was removed from is told apart", o.expelled)
}

func (o Options) postAndEdit(t *testing.T) {
	b := o.start(t)
	to := b.direct()
	id := b.post(to, "one **two**")
	if got := b.shown(to); got.ID != id || !strings.Contains(got.Text, "one") || !strings.Contains(got.Text, "two") {
		t.Errorf("posted: %+v", got)
	}
	if err := b.channel.Edit(b.ctx, to, id, channels.Outgoing{Markdown: "three"}); err != nil {
		t.Fatal(err)
	}
	if got := b.shown(to); got.Text != "three" || got.ID != id {
		t.Errorf("edited: %+v", got)
	}
	if r := b.Refusals(); len(r) > 0 {
		t.Error("the platform refused:", r)
	}
}

func (o Options) notModified(t *testing.T) {
	b := o.start(t)
	to := b.direct()
	id := b.post(to, "the same")
	for range 2 {
		if err := b.channel.Edit(b.ctx, to, id, channels.Outgoing{Markdown: "the same"}); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.shown(to); got.Text != "the same" || got.Edits > 0 && !o.EditsSilently {
		t.Errorf("the message is %+v", got)
	}
}

func (o Options) length(t *testing.T) {
	b := o.start(t)
	to := b.direct()
	limits := b.channel.Limits(to)
	for _, unit := range []string{"a", "ü", "界", "👍"} {
		size := limits.Measure(unit)
		if size < 1 {
			t.Fatalf("%q measures %d", unit, size)
		}
		text := strings.Repeat(unit, limits.Text/size)
		if got := limits.Measure(text); got > limits.Text {
			t.Fatalf("%q measures %d in a row", unit, got)
		}
		id := b.post(to, text)
		if err := b.channel.Edit(b.ctx, to, id, channels.Outgoing{Markdown: text[:len(text)-len(unit)]}); err != nil {
			t.Errorf("edit of the longest text of %q: %v", unit, err)
		}
		if o.TooLongIsCut {
			continue
		}
		_, err := b.channel.Post(b.ctx, to, channels.Outgoing{Markdown: text + unit})
		wantFailure(t, "post", err, channels.Rejected, channels.ReasonTooLong)
		err = b.channel.Edit(b.ctx, to, id, channels.Outgoing{Markdown: text + unit})
		wantFailure(t, "edit", err, channels.Rejected, channels.ReasonTooLong)
	}
}

func wantFailure(t *testing.T, what string, err error, outcome channels.Outcome, reason channels.Reason) {
	t.Helper()
	e, ok := errors.AsType[*channels.SendError](err)
	if !ok || e.Outcome != outcome || e.Reason != reason {
		t.Errorf("%s failed with %#v (%v), want outcome %d and reason %q", what, e, err, outcome, reason)
	}
}

func (o Options) status(t *testing.T) {
	b := o.start(t)
	to := b.direct()
	id, err := b.channel.Post(b.ctx, to, channels.Outgoing{Markdown: "So far 👍", Draft: true, Status: "🔧 reading *notes.txt*"})
	if err != nil {
		t.Fatal(err)
	}
	got := b.shown(to).Text
	if !strings.HasPrefix(got, "So far 👍") || !strings.Contains(got, "notes.txt") {
		t.Errorf("with a status the message is %q", got)
	}
	if err := b.channel.Edit(b.ctx, to, id, channels.Outgoing{Markdown: "So far 👍"}); err != nil {
		t.Fatal(err)
	}
	if got := b.shown(to).Text; got != "So far 👍" {
		t.Errorf("at the end the message is %q", got)
	}
	if _, err := b.channel.Post(b.ctx, to, channels.Outgoing{Draft: true, Status: "thinking"}); err != nil {
		t.Error("a status alone:", err)
	}
	if r := b.Refusals(); len(r) > 0 {
		t.Error("the platform refused:", r)
	}
}

// markdowns are texts that broke other bots, or might.
var markdowns = []string{
	"- item 1.\n- item 2-a\n  - deep_er *one*",
	"**bold _and italic_ ** trailing ** space **",
	"`code` and ``a ` b`` and `` ` ``",
	"```go\nfmt.Println(\"<b>&amp;\")\n```",
	"```\nnever closed",
	"> quote with `code`\n> > and a deeper one\n\nafter",
	"# heading 🙂\n\n## `code` in it\ntext",
	"| a | b |\n|---|---|\n| 1 | `x` |\n| 世界 | 👨‍👩‍👧 |",
	"[link](https://example.org/a_(b)?x=1&y=2) [odd](javascript:alert(1)) [empty]() <https://e.org>",
	"![image](https://example.org/a.png) ![](x)",
	"snake_case_name x86_64 2*3*4 a~~b~~c ~not~ __init__",
	"@everyone @here <!channel> <@U1> <@&5> #general",
	"&lt;tag&gt; <script>alert(1)</script> <b>x</b> </b>",
	"***\n\n---\n\n* * *",
	"1. one\n2. two\n\n   ```\n   x\n   ```\n10. ten",
	"👨‍👩‍👧‍👦🇩🇪é̈ zero\u200bwidth \u202Eright-to-left",
	"***bold-italic*** **a*b*c** *a**b**c*",
	"\\*not bold\\* \\_x\\_ \\`",
	"<details><summary>x</summary>y</details>",
	"- [ ] open\n- [x] done",
	"Euro $400-600K and $x^2$ \\(y\\)",
	"term\u00a0with\u00a0nbsp \t tab",
	"* \n*\n-",
	"text\n\n\n\n\n\ntext",
}

func (o Options) anyMarkdown(t *testing.T) {
	b := o.start(t)
	to := b.direct()
	id := b.post(to, "start")
	for i, text := range markdowns {
		for _, draft := range []bool{true, false} {
			out := channels.Outgoing{Markdown: fmt.Sprintf("%d:\n\n%s", i, text), Draft: draft, Status: "working"}
			if err := b.channel.Edit(b.ctx, to, id, out); err != nil {
				t.Errorf("%q (draft %v): %v", text, draft, err)
			}
			if got := b.shown(to).Text; !strings.HasPrefix(got, fmt.Sprint(i)) {
				t.Errorf("%q is shown as %q", text, got)
			}
		}
	}
	if r := b.Refusals(); len(r) > 0 {
		t.Error("the platform refused:", strings.Join(r, "\n"))
	}
}

func (o Options) parallel(t *testing.T) {
	b := o.start(t)
	to := b.direct()
	const n = 20
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if _, err := b.channel.Post(b.ctx, to, channels.Outgoing{Markdown: fmt.Sprint("number ", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, m := range b.Shown(to) {
		seen[m.Text] = true
	}
	if len(seen) != n {
		t.Errorf("%d different messages are shown, want %d", len(seen), n)
	}
}

func (o Options) rateLimit(t *testing.T) {
	b := o.start(t)
	to := b.direct()
	id := b.post(to, "one")
	b.FailPost(Fault{Status: 429, RetryAfter: 7 * time.Second})
	_, err := b.channel.Post(b.ctx, to, channels.Outgoing{Markdown: "two"})
	wantWait(t, err, 7*time.Second)
	b.FailEdit(Fault{Status: 429, RetryAfter: 3 * time.Second})
	err = b.channel.Edit(b.ctx, to, id, channels.Outgoing{Markdown: "two"})
	wantWait(t, err, 3*time.Second)
	if got := b.shown(to); got.Text != "one" {
		t.Errorf("the message is %+v", got)
	}
}

func wantWait(t *testing.T, err error, wait time.Duration) {
	t.Helper()
	wantFailure(t, "the call", err, channels.RateLimited, "")
	if e, ok := errors.AsType[*channels.SendError](err); ok && e.RetryAfter != wait {
		t.Errorf("it says to wait %s, not %s", e.RetryAfter, wait)
	}
}

func (o Options) lostAnswer(t *testing.T) {
	b := o.start(t)
	to := b.direct()
	b.FailPost(Fault{Lost: true})
	_, err := b.channel.Post(b.ctx, to, channels.Outgoing{Markdown: "one"})
	wantFailure(t, "post", err, channels.Unknown, "")
	got := b.shown(to)
	b.FailEdit(Fault{Lost: true})
	err = b.channel.Edit(b.ctx, to, got.ID, channels.Outgoing{Markdown: "two"})
	wantFailure(t, "edit", err, channels.Unknown, "")
	b.FailPost(Fault{Drop: true})
	_, err = b.channel.Post(b.ctx, to, channels.Outgoing{Markdown: "three"})
	wantFailure(t, "post", err, channels.Unknown, "")
	if got := b.shown(to); got.Text != "two" {
		t.Errorf("an adapter must not send again by itself; the chat shows %+v", got)
	}
}

func (o Options) serverError(t *testing.T) {
	b := o.start(t)
	to := b.direct()
	for _, f := range []Fault{{Status: 500}, {Status: 502, Body: "<html>502 Bad Gateway</html>"}, {Status: 503}, {Status: 504, Body: "upstream timed out"}} {
		b.FailPost(f)
		_, err := b.channel.Post(b.ctx, to, channels.Outgoing{Markdown: "x"})
		wantFailure(t, fmt.Sprint("a post answered with ", f.Status), err, channels.Unknown, "")
	}
}

func (o Options) gone(t *testing.T) {
	b := o.start(t)
	to := b.direct()
	id := b.post(to, "one")
	b.Remove(to, id)
	err := b.channel.Edit(b.ctx, to, id, channels.Outgoing{Markdown: "two"})
	wantFailure(t, "edit of a removed message", err, channels.Rejected, channels.ReasonGone)
	if d, ok := b.channel.(channels.Deleter); ok {
		if err := d.Delete(b.ctx, to, id); err != nil {
			t.Error("deleting what is gone:", err)
		}
	}
}

func (o Options) expelled(t *testing.T) {
	b := o.start(t)
	b.Room(1, 1, "good day", true)
	to := b.next("good day").Target
	id := b.post(to, "one")
	b.Expel(to)
	_, err := b.channel.Post(b.ctx, to, channels.Outgoing{Markdown: "two"})
	wantFailure(t, "post", err, channels.Rejected, channels.ReasonForbidden)
	err = b.channel.Edit(b.ctx, to, id, channels.Outgoing{Markdown: "two"})
	wantFailure(t, "edit", err, channels.Rejected, channels.ReasonForbidden)
}
