package budget

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"clawbot/agentcore"
)

const (
	// maxSpeech bounds a recording; no vendor takes larger ones.
	maxSpeech = 26 << 20
	// bytesPerMinute is what a minute of speech has at least: at 6 kbit/s
	// nobody is understood any more.
	bytesPerMinute = 45_000
)

// Hearer turns speech into text and tells how long it was; 0 if it is not
// known.
type Hearer interface {
	Hear(ctx context.Context, name, mimeType string, audio io.Reader) (text string, heard time.Duration, err error)
}

// Transcriber is a [Hearer] within a budget.
type Transcriber struct {
	b         *Budget
	hearer    Hearer
	info      agentcore.ModelInfo
	perMinute *float64
}

// Transcriber bounds and counts what it costs to have speech turned into text
// by the model ref, at US dollars a minute; nil is not known, which fails while
// a cap in dollars is set. A length that the vendor doesn't tell is estimated
// from the recording's size, as the longest that it can be.
func (b *Budget) Transcriber(hearer Hearer, ref agentcore.ModelRef, perMinute *float64) *Transcriber {
	return &Transcriber{b: b, hearer: hearer, info: agentcore.ModelInfo{Ref: ref}, perMinute: perMinute}
}

// Transcribe returns what is said in the audio. Errors are *[agentcore.Error],
// of class [agentcore.ErrLimit] if a cap is reached.
func (t *Transcriber) Transcribe(ctx context.Context, name, mimeType string, audio io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(audio, maxSpeech))
	if err != nil {
		return "", fmt.Errorf("read the audio: %w", err)
	}
	longest := time.Duration(float64(len(data))/bytesPerMinute*float64(time.Minute)) + time.Second
	c, err := t.open(ctx, longest)
	if err != nil {
		return "", err
	}
	text, heard, err := t.hearer.Hear(ctx, name, mimeType, bytes.NewReader(data))
	if err != nil {
		if c.failed(ctx, err); !c.over {
			c.over = true
			c.record(agentcore.Usage{Cost: t.cost(longest)}, 1)
		}
		return "", err
	}
	if heard <= 0 {
		heard = longest
	}
	c.over = true
	c.settle(ctx, t.cost(heard), 0)
	c.record(agentcore.Usage{Cost: t.cost(heard)}, 0)
	return text, nil
}

func (t *Transcriber) open(ctx context.Context, longest time.Duration) (*call, error) {
	c := t.b.newCall(ctx, &t.info, nil)
	if !t.b.limits.Load().dollars() {
		return c, nil
	}
	if t.perMinute == nil {
		return nil, &agentcore.Error{
			Class: agentcore.ErrLimit,
			Message: fmt.Sprintf("what %s costs is not known, and [budget] has a cap in dollars: set audio.usd_per_minute "+
				"(0 for what costs nothing), or set the caps to 0", t.info.Ref),
			User: "what listening costs is not known, and I may spend only so much; whoever runs me can set `usd_per_minute` of `[audio]`",
		}
	}
	c.fixed = t.cost(longest)
	if c.fixed == 0 {
		return c, nil
	}
	if err := c.reserveDollars(ctx); err != nil {
		return nil, c.refused(err)
	}
	return c, nil
}

func (t *Transcriber) cost(d time.Duration) int64 {
	if t.perMinute == nil {
		return 0
	}
	return int64(math.Ceil(d.Minutes() * *t.perMinute * agentcore.NanosPerDollar))
}
