package config

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"clawbot/internal/redact"
)

// Setting is one key of a configuration as it holds, for people. It has no
// secret.
type Setting struct {
	Key string `json:"key"` // "agent.model"
	// Value is written as in the file. What is secret is masked.
	Value string `json:"value"`
	// Default is set when it is what holds without being configured.
	Default bool `json:"default,omitempty"`
	// Secret is set when the value is masked.
	Secret bool `json:"secret,omitempty"`
	// From is the file and line that say so, "environment" when a variable or
	// what was found on the machine does, and empty for a default.
	From string `json:"from,omitempty"`
}

// Settings returns every key that the configuration has, sorted by table as in
// the example, with where each value came from.
func (c *Config) Settings() []Setting {
	list, _ := c.settings()
	return list
}

// settings also returns the values themselves, secrets included, by key.
func (c *Config) settings() ([]Setting, map[string]any) {
	defaults := reflect.ValueOf(Default()).Elem()
	absolute(defaults, "", c.Origin.Dir)
	l := &lister{origin: &c.Origin, raw: map[string]any{}}
	l.list(nil, reflect.ValueOf(c).Elem(), defaults, "")
	return l.out, l.raw
}

// lister walks a configuration beside its defaults.
type lister struct {
	origin *Origin
	out    []Setting
	raw    map[string]any
}

func (l *lister) list(path []string, v, def reflect.Value, tag reflect.StructTag) {
	if v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Struct {
		if v.IsNil() {
			return // a channel that is not configured
		}
		fresh := reflect.New(v.Type().Elem())
		if d, ok := fresh.Interface().(defaulter); ok {
			d.setDefaults()
		}
		l.list(path, v.Elem(), fresh.Elem(), tag)
		return
	}
	switch {
	case v.Kind() == reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			below := reflect.Value{}
			if def.IsValid() {
				below = def.FieldByIndex(f.index)
			}
			l.list(append(slices.Clone(path), f.name), v.FieldByIndex(f.index), below, f.tag)
		}
	case v.Kind() == reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for _, key := range keys {
			below := reflect.Value{}
			if def.IsValid() {
				below = def.MapIndex(key)
			}
			l.list(append(slices.Clone(path), key.String()), v.MapIndex(key), below, tag)
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct && v.Len() > 0:
		for i := range v.Len() {
			l.list(append(slices.Clone(path), fmt.Sprint(i)), v.Index(i), reflect.Zero(v.Type().Elem()), tag)
		}
	default:
		l.leaf(path, v, def, tag)
	}
}

func (l *lister) leaf(path []string, v, def reflect.Value, tag reflect.StructTag) {
	s := Setting{Key: keyPath(path), Default: same(v, def)}
	s.Value, s.Secret = l.show(path, v, tag)
	at, written := l.origin.places[s.Key]
	switch {
	case written && !s.Default:
		s.From = fmt.Sprintf("%s:%d", filepath.Base(l.origin.File), at.line)
	case written: // says what holds anyway
		s.From = fmt.Sprintf("%s:%d", filepath.Base(l.origin.File), at.line)
		s.Default = false
	case !s.Default:
		s.From = "environment"
	}
	l.out = append(l.out, s)
	l.raw[s.Key] = v.Interface()
}

// show writes a value as the file would, without secrets: what stands for a
// variable's value is the variable's name, for any of them may be one.
func (l *lister) show(path []string, v reflect.Value, tag reflect.StructTag) (text string, secret bool) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "", false
		}
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case redact.Secret:
		switch {
		case x == "":
			return `""`, false
		case isURL(tag):
			return quoted(l.address(path, x.Reveal())), false
		}
		return redact.Mask, true
	case redact.Secrets:
		if len(x) == 0 {
			return `""`, false
		}
		return redact.Mask, true
	case time.Duration:
		return quoted(x.String()), false
	}
	switch v.Kind() {
	case reflect.String:
		switch ref, referred := l.origin.references[keyPath(path)]; {
		case isURL(tag), hasRule(tag, "proxy"):
			return quoted(l.address(path, v.String())), false
		case referred:
			return quoted(ref), false
		}
		return quoted(v.String()), false
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			part, hidden := l.show(append(slices.Clone(path), fmt.Sprint(i)), v.Index(i), tag)
			parts[i], secret = part, secret || hidden
		}
		return "[" + strings.Join(parts, ", ") + "]", secret
	default:
		return fmt.Sprint(v.Interface()), false
	}
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }

// address is an address that may be shown: without a password, without what
// stands alone before the host, which is often a token, and without the values
// of its query.
func (l *lister) address(path []string, address string) string {
	if ref, ok := l.origin.references[keyPath(path)]; ok {
		address = strings.NewReplacer("${", "(", "}", ")").Replace(ref)
	}
	u, err := url.Parse(address)
	if err != nil {
		return redact.Mask
	}
	const mask = "MASK"
	if u.User != nil {
		if _, has := u.User.Password(); has {
			u.User = url.UserPassword(u.User.Username(), mask)
		} else {
			u.User = url.User(mask)
		}
	}
	if query := u.Query(); len(query) > 0 {
		for name := range query {
			query[name] = []string{mask}
		}
		u.RawQuery = query.Encode()
	}
	if u.User == nil && u.RawQuery == "" {
		return address
	}
	return strings.ReplaceAll(u.String(), mask, redact.Mask)
}

// references collects the texts of a file that refer to variables or files, by
// key.
func references(path []string, raw any, out map[string]string) {
	switch raw := raw.(type) {
	case map[string]any:
		for name, value := range raw {
			references(append(slices.Clone(path), name), value, out)
		}
	case []any:
		for i, value := range raw {
			references(append(slices.Clone(path), fmt.Sprint(i)), value, out)
		}
	case string:
		if strings.Contains(raw, "${") {
			out[keyPath(path)] = raw
		}
	}
}
