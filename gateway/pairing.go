package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"clawbot/channels"
	"clawbot/store"
)

const (
	// pairingFor is how long a code is good.
	pairingFor = time.Hour
	// pairingMost is how many people may wait for approval on one channel.
	pairingMost = 3

	pairingPrefix = "pairing/"
	// firstOwnerKey is put once, by the approval that makes the first owner.
	firstOwnerKey = rulesPrefix + "first-owner"

	// codeLetters have no two that look alike.
	codeLetters = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
	codeLength  = 8
)

// Errors of [Pairing] that callers tell apart.
var (
	// ErrNoSuchCode: no request has this code, or it has expired.
	ErrNoSuchCode = errors.New("there is no such code; it may have expired after an hour, then the next message makes a new one")
	// ErrNobody: the person was not let in by pairing.
	ErrNobody = errors.New("nobody was let in by that code or id")

	errTooMany = errors.New("too many people are waiting for approval")
)

// Pairing lets people in who wrote to the bot, and takes that back. It works on
// the store alone, so also beside a running bot, which sees a change within two
// seconds.
type Pairing struct {
	State store.State
	// MakesOwner says that the approval is made on the bot's own machine and
	// that no owner is configured: then the first one makes the owner.
	MakesOwner bool
}

// PairingRequest is somebody who asks to be let in. Name is untrusted text.
type PairingRequest struct {
	Code    string          `json:"code"`
	Channel string          `json:"channel"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Target  channels.Target `json:"target"`
	At      time.Time       `json:"at"`
}

// Paired is somebody who was let in. Name is untrusted text.
type Paired struct {
	Channel, ID, Name string
	Owner             bool
	Blocked           bool
	By                string
	At                time.Time
}

func (r *PairingRequest) expired() bool { return time.Since(r.At) >= pairingFor }

// Requests lists who waits, the longest first.
func (p Pairing) Requests(ctx context.Context) ([]PairingRequest, error) {
	list, err := p.State.List(ctx, pairingPrefix)
	if err != nil {
		return nil, fmt.Errorf("list the pairing requests: %w", err)
	}
	var out []PairingRequest
	for _, v := range list {
		out = append(out, readRequests(v.Data)...)
	}
	slices.SortFunc(out, func(a, b PairingRequest) int { return a.At.Compare(b.At) })
	return out, nil
}

// People lists who was let in or blocked.
func (p Pairing) People(ctx context.Context) ([]Paired, error) {
	list, err := p.State.List(ctx, peoplePrefix)
	if err != nil {
		return nil, fmt.Errorf("list who was let in: %w", err)
	}
	var out []Paired
	for _, v := range list {
		var who person
		if json.Unmarshal(v.Data, &who) != nil || !who.Paired && !who.Blocked && len(who.Rooms) == 0 {
			continue
		}
		out = append(out, Paired{
			Channel: who.Channel, ID: who.ID, Name: displayName(who.Name), Owner: who.Role == RoleOwner,
			Blocked: who.Blocked || len(who.Rooms) > 0, By: who.By, At: who.At,
		})
	}
	return out, nil
}

// Approve lets in whoever has the code, and reports whether that made the
// owner. The running bot tells them.
func (p Pairing) Approve(ctx context.Context, code, by string) (r PairingRequest, owner bool, err error) {
	r, err = p.find(ctx, code)
	if err != nil {
		return r, false, err
	}
	if p.MakesOwner {
		_, err := p.State.Put(ctx, firstOwnerKey, []byte(r.Channel+":"+r.ID), 0)
		if owner = err == nil; err != nil && !errors.Is(err, store.ErrConflict) {
			return r, false, fmt.Errorf("approve: %w", err)
		}
	}
	err = changePerson(ctx, p.State, r.Channel, r.ID, func(who *person) {
		who.Name, who.By, who.At, who.Paired, who.Blocked, who.Greet = r.Name, by, time.Now(), true, false, &r.Target
		if owner {
			who.Role = RoleOwner
		}
	})
	if err != nil {
		return r, false, fmt.Errorf("approve: %w", err)
	}
	return r, owner, p.drop(ctx, r)
}

// Deny refuses a request by its code, or takes back that a person was let in:
// "telegram:12345". It returns who that is.
func (p Pairing) Deny(ctx context.Context, what string) (string, error) {
	if r, err := p.find(ctx, what); err == nil {
		return r.Channel + ":" + r.ID, p.drop(ctx, r)
	} else if !errors.Is(err, ErrNoSuchCode) {
		return "", err
	}
	channel, id, ok := strings.Cut(what, ":")
	if !ok {
		return "", ErrNobody
	}
	v, err := p.State.Get(ctx, personKey(channel, id))
	if errors.Is(err, store.ErrNotFound) {
		return "", ErrNobody
	}
	var who person
	if err != nil || json.Unmarshal(v.Data, &who) == nil && !who.Paired {
		return "", errors.Join(err, ErrNobody)
	}
	err = changePerson(ctx, p.State, channel, id, func(who *person) {
		who.Paired, who.Role, who.Greet = false, RoleGuest, nil
	})
	if err == nil && who.Role == RoleOwner {
		err = p.State.Delete(ctx, firstOwnerKey)
	}
	return what, err
}

func (p Pairing) find(ctx context.Context, code string) (PairingRequest, error) {
	list, err := p.Requests(ctx)
	if err != nil {
		return PairingRequest{}, err
	}
	code = strings.ToUpper(strings.NewReplacer("-", "", " ", "", "`", "").Replace(code))
	for _, r := range list {
		if r.Code == code {
			return r, nil
		}
	}
	return PairingRequest{}, ErrNoSuchCode
}

func (p Pairing) drop(ctx context.Context, gone PairingRequest) error {
	return update(ctx, p.State, pairingPrefix+keyPart(gone.Channel), func(data []byte) ([]byte, error) {
		return json.Marshal(slices.DeleteFunc(readRequests(data), func(r PairingRequest) bool { return r.Code == gone.Code }))
	})
}

// ask returns the sender's open request, or makes one.
func (p Pairing) ask(ctx context.Context, channel string, in *channels.Inbound) (r PairingRequest, err error) {
	err = update(ctx, p.State, pairingPrefix+keyPart(channel), func(data []byte) ([]byte, error) {
		open := readRequests(data)
		for _, r = range open {
			if r.ID == in.Sender.ID {
				return data, nil
			}
		}
		if len(open) >= pairingMost {
			return nil, errTooMany
		}
		r = PairingRequest{
			Code: newCode(), Channel: channel, ID: in.Sender.ID, Name: displayName(in.Sender.Name), Target: in.Target, At: time.Now(),
		}
		return json.Marshal(append(open, r))
	})
	return r, err
}

// readRequests leaves out what has expired or is damaged.
func readRequests(data []byte) []PairingRequest {
	var list []PairingRequest
	if json.Unmarshal(data, &list) != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(r PairingRequest) bool { return r.expired() })
}

func newCode() string {
	var raw [codeLength]byte
	_, _ = rand.Read(raw[:]) // it never fails
	for i := range raw {
		raw[i] = codeLetters[int(raw[i])%len(codeLetters)]
	}
	return string(raw[:])
}
