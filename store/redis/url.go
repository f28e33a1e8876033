package redis

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// target is a parsed store.url.
type target struct {
	kind     string // "", "sentinel" or "cluster"
	addrs    []string
	user     string
	password string
	db       int
	master   string // the name that sentinels know

	sentinelUser, sentinelPassword string

	tls *tls.Config
}

const forms = "one of redis://[USER:PASSWORD@]HOST:PORT/NUMBER, redis-sentinel://HOST:26379,HOST:26379/NAME/NUMBER," +
	" redis-cluster://HOST:PORT,HOST:PORT; rediss… for TLS"

// escapes is what to do about a password that ends too early.
const escapes = "special characters in a password are escaped: @ is %40, / is %2F, : is %3A, ? is %3F, # is %23"

// parse reads a URL. Its errors repeat no part of it: any may be one of a
// password that was not escaped.
func parse(raw string) (*target, error) {
	u, err := url.Parse(raw)
	if err != nil {
		if _, ok := errors.AsType[*url.Error](err); ok {
			err = errors.New("it can't be read")
		}
		return nil, fmt.Errorf("store.url: %w; it is %s; %s", err, forms, escapes)
	}
	t := &target{user: u.User.Username()}
	t.password, _ = u.User.Password()
	scheme, kind, _ := strings.Cut(u.Scheme, "-")
	if scheme != "redis" && scheme != "rediss" || kind != "" && kind != "sentinel" && kind != "cluster" {
		return nil, fmt.Errorf("store.url has an unknown scheme; it is %s", forms)
	}
	t.kind = kind
	port := "6379"
	if kind == "sentinel" {
		port = "26379"
	}
	if t.addrs, err = addresses(u.Host, port); err != nil {
		return nil, err
	}
	if err := t.path(strings.Trim(u.Path, "/")); err != nil {
		return nil, err
	}
	if err := t.query(u.Query(), scheme == "rediss"); err != nil {
		return nil, err
	}
	return t, nil
}

func addresses(hosts, port string) (list []string, err error) {
	for h := range strings.SplitSeq(hosts, ",") {
		host, p, err := net.SplitHostPort(h)
		if err != nil {
			host, p = strings.Trim(h, "[]"), port
		}
		if host == "" {
			host = "127.0.0.1"
		}
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return nil, fmt.Errorf("store.url: the port is no number from 1 to 65535; %s", escapes)
		}
		list = append(list, net.JoinHostPort(host, p))
	}
	return list, nil
}

// path reads what follows the hosts: the sentinels' name for the primary and
// the database's number.
func (t *target) path(path string) error {
	if t.kind == "" && len(t.addrs) > 1 {
		return fmt.Errorf("store.url names several hosts; that needs redis-sentinel:// or redis-cluster://")
	}
	if t.kind == "sentinel" {
		t.master, path, _ = strings.Cut(path, "/")
		if t.master == "" {
			return errors.New("store.url lacks the name that the sentinels have for the primary: redis-sentinel://HOST:26379/NAME")
		}
	}
	if path == "" {
		return nil
	}
	n, err := strconv.Atoi(path)
	if err != nil || n < 0 {
		return fmt.Errorf("store.url: what follows the host is no database number; %s", escapes)
	}
	if t.kind == "cluster" && n != 0 {
		return errors.New("store.url: a cluster has only database 0; use store.prefix to keep things apart")
	}
	t.db = n
	return nil
}

func (t *target) query(q url.Values, secure bool) error {
	if secure {
		t.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	for key := range q {
		value := q.Get(key)
		switch key {
		case "sentinel_username":
			t.sentinelUser = value
		case "sentinel_password":
			t.sentinelPassword = value
		case "ca_file":
			if !secure {
				return errors.New("store.url: ca_file is for rediss://")
			}
			pem, err := os.ReadFile(value)
			if err != nil {
				return fmt.Errorf("store.url: ca_file: %w", err)
			}
			t.tls.RootCAs = x509.NewCertPool()
			if !t.tls.RootCAs.AppendCertsFromPEM(pem) {
				return fmt.Errorf("store.url: ca_file: %s holds no certificate in PEM form", value)
			}
		default:
			return fmt.Errorf("store.url: after ? there can be ca_file, sentinel_username and sentinel_password, nothing else; %s", escapes)
		}
	}
	return nil
}
