package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/store"
)

// History is one position of a transcript as people read it.
type History struct {
	Position int64
	Kind     store.EntryKind
	At       time.Time
	// EventID is, of a person's message, the event it arrived as.
	EventID string
	// Sender is who wrote it, empty for what no person did, and Channel is
	// where.
	Sender  channels.Sender
	Channel string
	// Message is what the entry holds: of a person's message, what they wrote;
	// of a summary or note, its text. It is not changed.
	Message *agentcore.Message
}

// Sessions lists sessions whose ids begin with prefix, the latest active first,
// at most limit, those after the cursor; an empty next ends the list.
func (g *Gateway) Sessions(ctx context.Context, prefix, after string, limit int) ([]store.SessionInfo, string, error) {
	return g.cfg.Store.Archive().Sessions(ctx, prefix, after, limit)
}

// Transcript reads up to limit entries of a session from position from on. It
// needs no lease; an unknown session has none.
func (g *Gateway) Transcript(ctx context.Context, session string, from int64, limit int) ([]History, error) {
	return ReadTranscript(ctx, g.cfg.Store, session, from, limit)
}

// ReadTranscript is [Gateway.Transcript] for programs without a gateway.
func ReadTranscript(ctx context.Context, s store.Store, session string, from int64, limit int) ([]History, error) {
	entries, err := s.Archive().Read(ctx, session, from, limit)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := make([]History, 0, len(entries))
	for _, e := range entries {
		h, err := readable(e)
		if err != nil {
			return nil, fmt.Errorf("entry %d of %s: %w", e.Position, session, err)
		}
		out = append(out, h)
	}
	return out, nil
}

func readable(e store.Entry) (History, error) {
	h := History{Position: e.Position, Kind: e.Kind, At: e.At}
	if e.Kind == store.KindUser {
		r, err := userRecord(e)
		if err != nil {
			return h, err
		}
		h.EventID, h.Message, h.Sender, h.Channel = r.Event, r.plain(), r.Sender, r.Channel
		return h, nil
	}
	p, err := readPayload(e)
	if err != nil {
		return h, err
	}
	switch {
	case p.Message != nil:
		h.Message = p.Message
	case p.Note != nil:
		h.Message = systemText(e, p.Note.remark())
	default:
		h.Message = systemText(e, p.Summary)
	}
	return h, nil
}

func systemText(e store.Entry, text string) *agentcore.Message {
	m := &agentcore.Message{ID: e.ID, Role: agentcore.RoleUser, Time: e.At}
	if text != "" {
		m.Content = []agentcore.Block{agentcore.Text{Text: text}}
	}
	return m
}
