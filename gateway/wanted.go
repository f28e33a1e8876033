package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"clawbot/store"
)

const (
	// wantedPage is how many sessions, or entries, are read at a time.
	wantedPage = 200
	// activeSlack allows for the clocks of replicas in when a session was active.
	activeSlack = time.Minute
)

// filesOf lists the blobs that an entry of a transcript speaks of.
func filesOf(e store.Entry) (refs []string, err error) {
	if e.Kind == store.KindUser {
		return nil, nil // what is attached becomes a blob in a note of its own
	}
	p, err := readPayload(e)
	if err != nil {
		return nil, err
	}
	if p.Note != nil {
		for _, f := range p.Note.Files {
			if f.Ref != "" {
				refs = append(refs, f.Ref)
			}
		}
	}
	if p.Message != nil {
		for _, b := range p.Message.Content {
			if ref := refOf(b); ref != "" {
				refs = append(refs, ref)
			}
		}
	}
	return refs, nil
}

// eachFile calls fn for every blob that a session's transcript speaks of. A
// session that does not exist has none; an entry that can't be read is an error,
// for what it wants is not known.
func eachFile(ctx context.Context, s store.Store, session string, fn func(ref string)) error {
	for from := int64(0); ; {
		list, err := s.Archive().Read(ctx, session, from, wantedPage)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the files of %s: %w", session, err)
		}
		for _, e := range list {
			refs, err := filesOf(e)
			if err != nil {
				return fmt.Errorf("read the files of %s, entry %d: %w", session, e.Position, err)
			}
			for _, ref := range refs {
				fn(ref)
			}
		}
		if len(list) < wantedPage {
			return nil
		}
		from = list[len(list)-1].Position + 1
	}
}

// eachSession calls fn once for every session that there is when it is called,
// also for those that are worked on meanwhile and so change their place in the
// list.
func eachSession(ctx context.Context, s store.Store, fn func(store.SessionInfo) error) error {
	since := time.Now().Add(-activeSlack)
	seen := map[string]bool{}
	walk := func(recent bool) (news bool, err error) {
		for after := ""; ; {
			list, next, err := s.Archive().Sessions(ctx, "", after, wantedPage)
			if err != nil {
				return news, fmt.Errorf("list the sessions: %w", err)
			}
			for _, info := range list {
				if recent && info.LastActive.Before(since) {
					return news, nil
				}
				if seen[info.Session] {
					continue
				}
				seen[info.Session], news = true, true
				if err := fn(info); err != nil {
					return news, err
				}
			}
			if next == "" {
				return news, nil
			}
			after = next
		}
	}
	news, err := walk(false)
	for err == nil && news {
		news, err = walk(true)
	}
	return err
}

// dropUnwanted deletes those of refs that no transcript speaks of any more, and
// returns how many there were. What is put again while it looks is kept.
func dropUnwanted(ctx context.Context, s store.Store, refs map[string]bool) (int, error) {
	if len(refs) == 0 {
		return 0, nil
	}
	before := time.Now()
	wanted := map[string]bool{}
	err := eachSession(ctx, s, func(info store.SessionInfo) error {
		return eachFile(ctx, s, info.Session, func(ref string) { wanted[ref] = wanted[ref] || refs[ref] })
	})
	if err != nil {
		return 0, err
	}
	n, err := s.Retention().ForgetBlobs(ctx, before, func(ref string) bool { return !refs[ref] || wanted[ref] })
	if err != nil {
		return n, fmt.Errorf("delete files: %w", err)
	}
	return n, nil
}
