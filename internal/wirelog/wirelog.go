// Package wirelog keeps what went to models and what came back, byte for byte
// but for secrets, so that a turn can be looked at as the vendor saw it.
//
// A model call is a file of its own, in a folder for each session. Files are
// written by the process that made the call and read by anybody on the same
// machine.
package wirelog

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"clawbot/agentcore"
	"clawbot/internal/redact"
)

const (
	// perSession is how many calls of a session are kept.
	perSession = 100
	// maxAge is how long a call is kept.
	maxAge = 7 * 24 * time.Hour
	suffix = ".http"
	stamp  = "20060102T150405.000000000Z"
)

// Log is a folder of recorded calls.
type Log struct {
	Dir    string
	Redact *redact.Redactor
	Logger *slog.Logger // of calls that could not be recorded
}

type sessionKey struct{}

// Sessions returns the model with its requests marked as their session's. Calls
// without a session are not recorded.
func Sessions(inner agentcore.Model) agentcore.Model { return &marked{inner} }

type marked struct{ agentcore.Model }

// Info implements [agentcore.Describer].
func (m *marked) Info() agentcore.ModelInfo {
	if d, ok := m.Model.(agentcore.Describer); ok {
		return d.Info()
	}
	return agentcore.ModelInfo{}
}

// Stream implements [agentcore.Model].
func (m *marked) Stream(ctx context.Context, req *agentcore.Request) iter.Seq2[agentcore.StreamEvent, error] {
	return m.Model.Stream(context.WithValue(ctx, sessionKey{}, req.Session), req)
}

// Transport returns next with every call of a session recorded.
func (l *Log) Transport(next http.RoundTripper) http.RoundTripper { return &transport{l, next} }

type transport struct {
	log  *Log
	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	session, _ := req.Context().Value(sessionKey{}).(string)
	if session == "" {
		return t.next.RoundTrip(req)
	}
	rec, err := t.log.begin(session)
	if err != nil {
		agentcore.LoggerOf(req.Context(), t.log.Logger.With("session", session)).Warn("a model call was not recorded (log.wire)", "err", err)
		return t.next.RoundTrip(req)
	}
	req = rec.request(req)
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		rec.printf("\n--- no answer: %v\n", err)
		rec.close()
		return nil, err
	}
	rec.response(resp)
	return resp, nil
}

// begin opens the file of a call and drops the session's oldest.
func (l *Log) begin(session string) (*record, error) {
	dir := l.folder(session)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := thin(dir); err != nil {
		return nil, err
	}
	for at := time.Now().UTC(); ; at = at.Add(1) {
		file, err := os.OpenFile(filepath.Join(dir, at.Format(stamp)+suffix), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !os.IsExist(err) {
			return &record{redact: l.Redact, file: file}, err
		}
	}
}

func (l *Log) folder(session string) string {
	return filepath.Join(l.Dir, "s-"+url.PathEscape(session)) // never . or ..
}

// Calls returns the calls of a session that began between two times, both
// included, each as it was recorded, in order.
func (l *Log) Calls(session string, from, to time.Time) ([]string, error) {
	dir := l.folder(session)
	names, err := calls(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range names {
		if at, ok := startOf(name); !ok || at.Before(from) || at.After(to) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		out = append(out, string(text))
	}
	return out, nil
}

// Forget removes what was recorded of a session on this machine.
func (l *Log) Forget(session string) error {
	if err := os.RemoveAll(l.folder(session)); err != nil {
		return fmt.Errorf("the session's recorded model calls (log.wire): %w", err)
	}
	return nil
}

// Sweep removes what is older than a week, of all sessions.
func (l *Log) Sweep() error {
	folders, err := filepath.Glob(filepath.Join(l.Dir, "s-*"))
	if err != nil {
		return err
	}
	for _, dir := range folders {
		if err := thin(dir); err != nil {
			return err
		}
		_ = os.Remove(dir) // if nothing is left in it
	}
	return nil
}

// thin removes a folder's calls that are too old or too many, with room for one
// more.
func thin(dir string) error {
	names, err := calls(dir)
	if err != nil {
		return err
	}
	for i, name := range names {
		if at, _ := startOf(name); i <= len(names)-perSession || time.Since(at) > maxAge {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// calls are the names of a folder's files, the oldest first; none if there is
// no such folder.
func calls(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var names []string
	for _, e := range list {
		if _, ok := startOf(e.Name()); ok {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

func startOf(name string) (time.Time, bool) {
	text, ok := strings.CutSuffix(name, suffix)
	at, err := time.Parse(stamp, text)
	return at, ok && err == nil
}
