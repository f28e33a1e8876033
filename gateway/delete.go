package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"clawbot/store"
)

// deleteTTL bounds how long a session stays held when its deletion is cut off.
const deleteTTL = 15 * time.Second

// DeleteSession removes a session whole: its transcript, what waits in its
// inbox, its dead letters and what is scheduled in it. It fails with a
// *store.HeldError while somebody works on the session; a session that does not exist is a success. Gateways
// that share the store forget what they have of it in memory.
func DeleteSession(ctx context.Context, s store.Store, session string) error {
	lease, err := s.Acquire(ctx, session, "delete:"+newID(), deleteTTL)
	if err != nil {
		return fmt.Errorf("delete %s: %w", session, err)
	}
	return deleteHeld(ctx, s, lease)
}

// deleteHeld deletes the session of a lease, which ends with it.
func deleteHeld(ctx context.Context, s store.Store, lease store.Lease) error {
	session := lease.Session()
	if err := deleteSchedules(ctx, s, session); err != nil {
		return fmt.Errorf("delete %s: %w", session, err)
	}
	if err := deleteRules(ctx, s, session); err != nil {
		return fmt.Errorf("delete %s: %w", session, err)
	}
	if err := s.Archive().Purge(ctx, lease); err != nil {
		return fmt.Errorf("delete %s: %w", session, err)
	}
	// A lost hint leaves a decoded transcript in memory until its session is
	// worked on or crowded out, so it is worth an error.
	if err := s.Bus().Publish(ctx, wakeAny, hint{session: session, forget: true}.encode()); err != nil {
		return fmt.Errorf("delete %s: it is deleted, but other processes were not told: %w", session, err)
	}
	return nil
}

// deleteRules removes what was chosen, allowed or asked in a session.
func deleteRules(ctx context.Context, s store.Store, session string) error {
	state := s.State()
	for _, prefix := range []string{approvalKey(session, ""), ruleKey(session, "")} {
		list, err := state.List(ctx, prefix)
		if err != nil {
			return err
		}
		for _, v := range list {
			if err := state.Delete(ctx, v.Key); err != nil {
				return err
			}
		}
	}
	_, err := state.Get(ctx, sessionRules+session)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = state.Delete(ctx, sessionRules+session)
	}
	if err != nil {
		return err
	}
	return ruleChanged(ctx, s)
}
