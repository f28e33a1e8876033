package config

import (
	"reflect"
	"slices"
	"strings"
)

// Absent is a setting that the program doesn't act on, so that whoever sets it
// is told and not deceived.
type Absent struct {
	// Key is a key or a table: "budget.daily_usd", "tools.mcp".
	Key string
	// Message says what that means, for people.
	Message string
	// Refuse makes it a problem instead of a warning: for what protects.
	Refuse bool
}

// checkAbsent reports the settings of Loader.Absent that differ from their
// defaults.
func (c *checker) checkAbsent() {
	defaults := reflect.ValueOf(Default()).Elem()
	absolute(defaults, "", c.cfg.Origin.Dir)
	for _, m := range c.loader.Absent {
		path := strings.Split(m.Key, ".")
		is, was := lookUp(reflect.ValueOf(c.cfg).Elem(), path), lookUp(defaults, path)
		if !is.IsValid() || same(is, was) {
			continue
		}
		p := c.at(c.mentioned(path), "%s", m.Message)
		p.Key = m.Key
		if m.Refuse {
			c.report.problems = append(c.report.problems, p)
		} else {
			c.report.warnings = append(c.report.warnings, p)
		}
	}
}

// mentioned is the first key below path, or path itself, that the file has.
func (c *checker) mentioned(path []string) []string {
	if _, ok := c.doc.places[keyPath(path)]; ok {
		return path
	}
	prefix := keyPath(path) + "."
	var below []string
	for key := range c.doc.places {
		if strings.HasPrefix(key, prefix) {
			below = append(below, key)
		}
	}
	if len(below) == 0 {
		return path
	}
	return []string{slices.Min(below)}
}

// lookUp returns the value of a key, an invalid one if there is none.
func lookUp(v reflect.Value, path []string) reflect.Value {
	for _, name := range path {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}
			}
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return reflect.Value{}
		}
		fields := fieldsOf(v.Type())
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			return reflect.Value{}
		}
		v = v.FieldByIndex(fields[i].index)
	}
	return v
}

func same(a, b reflect.Value) bool {
	if !b.IsValid() {
		return a.IsZero()
	}
	if k := a.Kind(); (k == reflect.Slice || k == reflect.Map) && a.Len() == 0 && b.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
