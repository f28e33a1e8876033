package main

import (
	"context"

	"clawbot/channels/web"
	"clawbot/gateway"
	"clawbot/store"
)

// transcripts shows the store's sessions to the page.
type transcripts struct{ store store.Store }

var _ web.Transcripts = transcripts{}

// Sessions implements [web.Transcripts].
func (t transcripts) Sessions(ctx context.Context, prefix, after string, limit int) ([]web.Session, string, error) {
	list, next, err := t.store.Archive().Sessions(ctx, prefix, after, limit)
	if err != nil {
		return nil, "", err
	}
	out := make([]web.Session, len(list))
	for i, s := range list {
		out[i] = web.Session{ID: s.Session, Tail: s.Tail, Running: s.Owner != "", Waiting: s.Waiting, LastActive: s.LastActive}
	}
	return out, next, nil
}

// Read implements [web.Transcripts].
func (t transcripts) Read(ctx context.Context, session string, from int64, limit int) ([]web.Entry, error) {
	list, err := gateway.ReadTranscript(ctx, t.store, session, from, limit)
	if err != nil {
		return nil, err
	}
	out := make([]web.Entry, len(list))
	for i, h := range list {
		out[i] = web.Entry{Position: h.Position, Kind: entryKind(h.Kind), At: h.At, EventID: h.EventID, Message: h.Message}
	}
	return out, nil
}

func entryKind(kind store.EntryKind) web.EntryKind {
	switch kind {
	case store.KindUser:
		return web.EntryUser
	case store.KindAssistant:
		return web.EntryAssistant
	case store.KindToolResult:
		return web.EntryToolResult
	case store.KindSummary:
		return web.EntrySummary
	default:
		return web.EntryNote
	}
}
