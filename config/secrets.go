package config

import (
	"net/url"
	"reflect"
	"strings"

	"clawbot/internal/redact"
)

// collectSecrets appends the secrets below v. Of an address it takes the
// password alone: hosts are no secrets, and logs are poor without them.
func collectSecrets(v reflect.Value, tag reflect.StructTag, out *[]string) {
	switch {
	case v.Type() == secretType && isURL(tag), v.Kind() == reflect.String && (isURL(tag) || hasRule(tag, "proxy")):
		if u, err := url.Parse(v.String()); err == nil && u.User != nil {
			if password, ok := u.User.Password(); ok {
				*out = append(*out, password)
			}
		}
	case v.Type() == secretType:
		if s := v.Interface().(redact.Secret); s != "" {
			*out = append(*out, s.Reveal())
		}
	case v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			collectSecrets(v.Elem(), tag, out)
		}
	case v.Kind() == reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			collectSecrets(v.FieldByIndex(f.index), f.tag, out)
		}
	case v.Kind() == reflect.Map:
		for it := v.MapRange(); it.Next(); {
			collectSecrets(it.Value(), tag, out)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			collectSecrets(v.Index(i), tag, out)
		}
	}
}

func isURL(tag reflect.StructTag) bool { return strings.Contains(tag.Get("rule"), "url:") }

// Secrets returns every secret of the configuration, passwords in addresses
// included, for redaction.
func (c *Config) Secrets() []string {
	var secrets []string
	collectSecrets(reflect.ValueOf(c).Elem(), "", &secrets)
	return secrets
}
