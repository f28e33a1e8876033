package redact

import (
	"fmt"
	"io"
	"log/slog"
)

// Mask is what stands in a secret's place.
const Mask = "[redacted]"

// Secret is a value that must not be printed. Everything that formats or
// encodes it writes [Mask], or nothing when it is empty; [Secret.Reveal] is the
// one way to read it.
type Secret string

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String returns [Mask].
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return Mask
}

// GoString returns [Mask] in quotes.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// Format writes [Mask] for every verb: a bad verb would otherwise print the
// underlying string.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'q' || (verb == 'v' && f.Flag('#')) {
		text = s.GoString()
	}
	_, _ = io.WriteString(f, text)
}

// MarshalJSON encodes [Mask].
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// MarshalText encodes [Mask].
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue logs [Mask].
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Secrets are alternatives of one secret: keys used in turn, or tokens that are
// all accepted while one replaces another.
type Secrets []Secret

// First returns the first secret, empty if there is none.
func (s Secrets) First() Secret {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

// Reveal returns the secrets themselves.
func (s Secrets) Reveal() []string {
	out := make([]string, len(s))
	for i, v := range s {
		out[i] = v.Reveal()
	}
	return out
}
