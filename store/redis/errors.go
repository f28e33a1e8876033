package redis

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"clawbot/store"
)

// codes are the errors of our scripts.
func codes(code string) error {
	switch code {
	case "FENCED":
		return store.ErrFenced
	case "GAP":
		return store.ErrGap
	case "CONFLICT":
		return store.ErrConflict
	case "OPENCALL":
		return store.ErrOpenCall
	case "INVALID":
		return store.ErrInvalid
	case "NOTFOUND":
		return store.ErrNotFound
	}
	return nil
}

// newerError is returned for what a later version of this program wrote.
type newerError int64

func (e newerError) Error() string {
	return fmt.Sprintf("written by a newer clawbot (store format %d, this one reads up to %d): update this replica", int64(e), formatVersion)
}

// explain turns an error of Redis's or of the connection into one of the
// contract's, or adds what to do.
func (s *Store) explain(err error) error {
	if answer, ok := errors.AsType[goredis.Error](err); ok {
		code, rest, _ := strings.Cut(answer.Error(), " ")
		if known := codes(code); known != nil {
			return known
		}
		if code == "NEWER" {
			return errors.New(rest)
		}
		if remedy := s.remedyOf(code, answer.Error()); remedy != "" {
			return fmt.Errorf("redis at %s: %w: %s", s.where, err, remedy)
		}
		return fmt.Errorf("redis at %s: %w", s.where, err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, store.ErrClosed) {
		return err
	}
	if unconfirmed, ok := errors.AsType[*unconfirmedError](err); ok {
		return fmt.Errorf("redis at %s: %w", s.where, unconfirmed)
	}
	return fmt.Errorf("redis at %s: %w: %s", s.where, err, s.remedyOfConnection(err))
}

func (s *Store) remedyOf(code, message string) string {
	switch code {
	case "NOAUTH":
		return "it wants a password: set store.url to redis://:PASSWORD@HOST:PORT, or redis://USER:PASSWORD@HOST:PORT"
	case "WRONGPASS":
		return "it refuses the user or password in store.url: mend them there (characters like @ and / are written as %40 and %2F)"
	case "NOPERM":
		return s.rights()
	case "OOM":
		return "it is full: raise maxmemory, or delete what is not clawbot's; messages are refused until then, so that platforms deliver them again"
	case "MISCONF":
		return "it can't write to its disk and refuses changes: free space or mend its permissions; its log says more"
	case "READONLY":
		return "it is a read-only replica: point store.url at the primary, or use redis-sentinel:// so that clawbot finds it"
	case "NOREPLICAS":
		return "too few replicas are connected to it (min-replicas-to-write): start them, or lower the setting"
	case "LOADING":
		return "it is loading its data; wait until it has started"
	case "CLUSTERDOWN", "MASTERDOWN":
		return "parts of it are down: bring them back"
	case "MOVED", "CROSSSLOT":
		return "it is a cluster: set store.url to redis-cluster://HOST:PORT,HOST:PORT"
	}
	switch {
	case strings.Contains(message, "cluster support disabled"):
		return "it is no cluster: set store.url to redis://HOST:PORT/NUMBER"
	case strings.Contains(message, "DB index is out of range"):
		return "it has no database of that number: mend the number at the end of store.url"
	case strings.Contains(message, "max number of clients"):
		return "raise maxclients, or find out who keeps so many connections"
	case strings.Contains(message, "can't access"), strings.Contains(message, "can't run this command"), strings.Contains(message, "No permissions"):
		return s.rights()
	}
	return ""
}

// rights says what the user must be allowed to do.
func (s *Store) rights() string {
	user := s.user
	if user == "" {
		user = "default"
	}
	return fmt.Sprintf("user %q lacks rights: ACL SETUSER %s ~%s:* &%s:* +@all -@dangerous -@admin +info +config|get",
		user, user, s.keys.prefix, s.keys.prefix)
}

func (s *Store) remedyOfConnection(err error) string {
	var dns *net.DNSError
	var certificate x509.UnknownAuthorityError
	var wrongHost x509.HostnameError
	switch message := err.Error(); {
	case errors.As(err, &dns):
		return "there is no such host: mend store.url"
	case errors.As(err, &certificate):
		return "its certificate is signed by nobody known here: add ?ca_file=FILE to store.url"
	case errors.As(err, &wrongHost):
		return "its certificate is another host's: use the name it was issued for in store.url"
	case strings.Contains(message, "does not look like a TLS handshake"):
		return "it does not speak TLS there: use redis:// instead of rediss://, or its TLS port"
	case strings.Contains(message, "connection refused"):
		return "nobody listens there: start Redis, or mend store.url"
	case strings.Contains(message, "all sentinels"):
		return "no sentinel answers, or none knows the name: mend the addresses and the name in store.url (redis-sentinel://HOST:26379,HOST:26379/NAME)"
	case errors.Is(err, io.EOF), strings.Contains(message, "connection reset"):
		return "it closed the connection: is it a Redis, does its port want TLS (rediss://)?"
	}
	if s.tls {
		return "it does not answer: is Redis running and reachable from here, and is that its TLS port?"
	}
	return "it does not answer: is Redis running and reachable from here?"
}
