package config

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"clawbot/internal/redact"
)

// decoder lays a document over a configuration and reports what doesn't fit.
type decoder struct {
	doc    *document
	expand *expander
	report *report
	// missing collects references that could not be resolved, by key: whether
	// one is a problem depends on whether its table is used.
	missing map[string]Problem
	// literal holds the keys of secrets that stand in the file itself.
	literal []string
	// root is the type that suggestions search.
	root reflect.Type
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	timeType     = reflect.TypeFor[time.Time]()
	secretType   = reflect.TypeFor[redact.Secret]()
	secretsType  = reflect.TypeFor[redact.Secrets]()
)

// defaulter is a table whose absence is different from its defaults.
type defaulter interface{ setDefaults() }

// multiAccount is a channel table with named accounts.
type multiAccount interface{ account() any }

// setting is one value on its way into a field.
type setting struct {
	path []string
	raw  any
	tag  reflect.StructTag
}

func (s setting) child(name string, raw any, tag reflect.StructTag) setting {
	return setting{append(append([]string(nil), s.path...), name), raw, tag}
}

// shown is the value as a message may quote it: what a reference stands for is
// never told.
func (s setting) shown(value string) string {
	if raw, ok := s.raw.(string); ok && strings.Contains(raw, "${") {
		return raw
	}
	return value
}

func (d *decoder) problem(path []string, format string, args ...any) {
	d.report.problems = append(d.report.problems, d.at(path, format, args...))
}

func (d *decoder) at(path []string, format string, args ...any) Problem {
	p := d.doc.at(path)
	return Problem{File: d.doc.name, Line: p.line, Column: p.column, Key: keyPath(path), Message: fmt.Sprintf(format, args...)}
}

func (d *decoder) decode(s setting, dst reflect.Value) {
	switch dst.Type() {
	case secretType, secretsType:
		d.secret(s, dst)
		return
	case durationType:
		d.duration(s, dst)
		return
	case timeType:
		d.date(s, dst)
		return
	}
	switch dst.Kind() {
	case reflect.Pointer:
		if dst.IsNil() {
			dst.Set(reflect.New(dst.Type().Elem()))
			if v, ok := dst.Interface().(defaulter); ok {
				v.setDefaults()
			}
		}
		d.decode(s, dst.Elem())
	case reflect.Struct:
		d.table(s, dst)
	case reflect.Map:
		d.mapping(s, dst)
	case reflect.Slice:
		d.list(s, dst)
	default:
		d.scalar(s, dst)
	}
}

func (d *decoder) table(s setting, dst reflect.Value) {
	raw, ok := s.raw.(map[string]any)
	if !ok {
		d.problem(s.path, "expected a table ([%s]), found %s", keyPath(s.path), describe(s.raw))
		return
	}
	fields := fieldsOf(dst.Type())
	known := make(map[string]bool, len(fields))
	for _, f := range fields {
		known[f.name] = true
		value, ok := raw[f.name]
		if !ok {
			continue
		}
		field := dst.FieldByIndex(f.index)
		if accounts, ok := dst.Addr().Interface().(multiAccount); ok && f.name == "accounts" {
			d.accounts(s.child(f.name, value, f.tag), field, accounts)
			continue
		}
		d.decode(s.child(f.name, value, f.tag), field)
	}
	for name := range raw {
		if !known[name] {
			path := s.child(name, nil, "").path
			d.problem(path, "%s", unknownKey(d.root, s.path, name, fields))
		}
	}
}

// accounts decodes named accounts; fieldsOf puts them last, so that what they
// begin as is complete.
func (d *decoder) accounts(s setting, dst reflect.Value, channel multiAccount) {
	raw, ok := s.raw.(map[string]any)
	if !ok {
		d.problem(s.path, "expected tables ([%s.NAME]), found %s", keyPath(s.path), describe(s.raw))
		return
	}
	dst.Set(reflect.MakeMap(dst.Type()))
	for name, value := range raw {
		element := reflect.New(dst.Type().Elem()).Elem()
		element.Set(reflect.ValueOf(channel.account()))
		d.decode(s.child(name, value, ""), element)
		dst.SetMapIndex(reflect.ValueOf(name), element)
	}
}

func (d *decoder) mapping(s setting, dst reflect.Value) {
	raw, ok := s.raw.(map[string]any)
	if !ok {
		d.problem(s.path, "expected a table ([%s]), found %s", keyPath(s.path), describe(s.raw))
		return
	}
	out := reflect.MakeMap(dst.Type())
	for name, value := range raw {
		element := reflect.New(dst.Type().Elem()).Elem()
		if old := dst.MapIndex(reflect.ValueOf(name)); old.IsValid() {
			element.Set(old)
		}
		d.decode(s.child(name, value, s.tag), element)
		out.SetMapIndex(reflect.ValueOf(name), element)
	}
	dst.Set(out)
}

func (d *decoder) list(s setting, dst reflect.Value) {
	raw, ok := s.raw.([]any)
	if !ok {
		d.problem(s.path, "expected a list (%s), found %s", exampleList(dst.Type()), describe(s.raw))
		return
	}
	out := reflect.MakeSlice(dst.Type(), len(raw), len(raw))
	for i, value := range raw {
		d.decode(s.child(fmt.Sprint(i), value, s.tag), out.Index(i))
	}
	dst.Set(out)
}

func exampleList(t reflect.Type) string {
	if t.Elem().Kind() == reflect.String {
		return `["one", "two"]`
	}
	return "[…]"
}

// text returns the setting's text with its references replaced. ok is false
// when the value is no text, or when a reference could not be resolved, which
// is then noted.
func (d *decoder) text(s setting, want string) (value string, ok bool) {
	raw, isText := s.raw.(string)
	if !isText {
		d.problem(s.path, "expected %s, found %s", want, describe(s.raw))
		return "", false
	}
	value, _, err := d.expand.expand(raw)
	if err != nil {
		message := strings.ReplaceAll(err.Error(), "\n", "; ")
		d.missing[keyPath(s.path)] = d.at(s.path, "%s", message)
		return "", false
	}
	return value, true
}

func (d *decoder) scalar(s setting, dst reflect.Value) {
	switch dst.Kind() {
	case reflect.String:
		d.string(s, dst)
	case reflect.Bool:
		if v, ok := s.raw.(bool); ok {
			dst.SetBool(v)
			return
		}
		d.problem(s.path, "expected true or false, found %s", describe(s.raw))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v, ok := s.raw.(int64)
		if !ok || dst.OverflowInt(v) {
			d.problem(s.path, "expected a whole number, found %s", describe(s.raw))
			return
		}
		dst.SetInt(v)
		d.checkNumber(s, float64(v))
	case reflect.Float32, reflect.Float64:
		v, ok := number(s.raw)
		if !ok {
			d.problem(s.path, "expected a number, found %s", describe(s.raw))
			return
		}
		dst.SetFloat(v)
		d.checkNumber(s, v)
	case reflect.Interface:
		dst.Set(reflect.ValueOf(s.raw))
	default:
		d.problem(s.path, "can't be set from a file")
	}
}

func number(raw any) (float64, bool) {
	switch v := raw.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	return 0, false
}

func (d *decoder) string(s setting, dst reflect.Value) {
	// Ids are often written as numbers; they are texts to us.
	if id, ok := s.raw.(int64); ok && hasRule(s.tag, "ids") {
		dst.SetString(fmt.Sprint(id))
		return
	}
	value, ok := d.text(s, "text in quotes")
	if !ok {
		return
	}
	dst.SetString(value)
	d.checkText(s, value)
}

func (d *decoder) duration(s setting, dst reflect.Value) {
	value, ok := d.text(s, `a duration in quotes, such as "500ms", "20s" or "10m"`)
	if !ok {
		return
	}
	v, err := time.ParseDuration(value)
	if err != nil {
		d.problem(s.path, `%q is no duration; write one like "500ms", "20s", "10m" or "1h30m"`, s.shown(value))
		return
	}
	dst.SetInt(int64(v))
	d.checkDuration(s, v)
}

// date takes a day, which begins in UTC, or a time; in quotes or not.
func (d *decoder) date(s setting, dst reflect.Value) {
	var t time.Time
	switch v := s.raw.(type) {
	case time.Time:
		t = v
	case toml.LocalDate:
		t = v.AsTime(time.UTC)
	case toml.LocalDateTime:
		t = v.AsTime(time.UTC)
	case string:
		value, ok := d.text(s, "")
		if !ok {
			return
		}
		var err error
		if t, err = time.Parse(time.DateOnly, value); err != nil {
			if t, err = time.Parse(time.RFC3339, value); err != nil {
				d.problem(s.path, "%q is no date; write one like 2026-01-31", s.shown(value))
				return
			}
		}
	default:
		d.problem(s.path, "expected a date such as 2026-01-31, found %s", describe(s.raw))
		return
	}
	dst.Set(reflect.ValueOf(t.UTC()))
}

// secret takes a text or a list of texts. Its value is never part of a message.
func (d *decoder) secret(s setting, dst reflect.Value) {
	raws, isList := s.raw.([]any)
	if !isList {
		raws = []any{s.raw}
	}
	var values redact.Secrets
	for i, raw := range raws {
		one := setting{s.path, raw, s.tag}
		if isList {
			one = s.child(fmt.Sprint(i), raw, s.tag)
		}
		text, isText := raw.(string)
		if !isText {
			d.problem(one.path, "expected text in quotes or a list of texts, found %s", kindOf(raw))
			continue
		}
		if text != "" && !strings.Contains(text, "${") && !isURL(s.tag) {
			d.literal = append(d.literal, keyPath(one.path))
		}
		if value, ok := d.text(one, ""); ok && value != "" {
			if d.checkSecret(one, value) {
				values = append(values, redact.Secret(value))
			}
		}
	}
	if dst.Type() == secretsType {
		dst.Set(reflect.ValueOf(values))
		return
	}
	if len(values) > 1 {
		d.problem(s.path, "takes one value here; for several bots write a table [%s.accounts.NAME] for each", keyPath(s.path[:len(s.path)-1]))
		return
	}
	dst.Set(reflect.ValueOf(values.First()))
}

// describe tells what a value is in the words of the file; kindOf does so
// without the value.
func describe(raw any) string {
	switch v := raw.(type) {
	case string:
		if strings.Contains(v, "${") || len(v) > 40 {
			return "text"
		}
		return fmt.Sprintf("the text %q", v)
	case int64, float64, bool:
		return fmt.Sprintf("%s (%v)", kindOf(raw), v)
	}
	return kindOf(raw)
}

func kindOf(raw any) string {
	switch raw.(type) {
	case string:
		return "text"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	case bool:
		return "true or false"
	case map[string]any:
		return "a table"
	case []any:
		return "a list"
	default:
		return "a date or time"
	}
}
