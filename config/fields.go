package config

import (
	"reflect"
	"slices"
	"strings"
)

// field is a key of a table.
type field struct {
	name  string
	index []int
	typ   reflect.Type
	tag   reflect.StructTag
}

// fieldsOf lists the keys of a struct, embedded structs included, in order, with
// accounts last.
func fieldsOf(t reflect.Type) []field {
	fields := collect(t, nil)
	slices.SortStableFunc(fields, func(a, b field) int {
		switch {
		case a.name != "accounts" && b.name == "accounts":
			return -1
		case a.name == "accounts" && b.name != "accounts":
			return 1
		}
		return 0
	})
	return fields
}

// collect reads toml tags. A struct that has none at all is named by its fields:
// CacheRead is cache_read.
func collect(t reflect.Type, index []int) []field {
	var fields []field
	tagged := false
	for i := range t.NumField() {
		tagged = tagged || t.Field(i).Tag.Get("toml") != "" || t.Field(i).Anonymous
	}
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		if !tagged {
			name = snakeCase(f.Name)
		}
		switch {
		case name == "-":
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			fields = append(fields, collect(f.Type, at)...)
		case f.IsExported() && name != "":
			fields = append(fields, field{name, at, f.Type, f.Tag})
		}
	}
	return fields
}

// Keys lists every key that a configuration can have, in order; NAME stands for
// a name of one's own: "providers.NAME.base_url".
func Keys() []string {
	var keys []string
	walkKeys(reflect.TypeFor[Config](), nil, func(path []string, leaf bool) {
		if leaf {
			keys = append(keys, strings.Join(path, "."))
		}
	})
	return keys
}

// walkKeys calls fn for every table and key below t.
func walkKeys(t reflect.Type, path []string, fn func(path []string, leaf bool)) {
	switch {
	case t.Kind() == reflect.Pointer:
		walkKeys(t.Elem(), path, fn)
	case t.Kind() == reflect.Map:
		walkKeys(t.Elem(), append(slices.Clone(path), "NAME"), fn)
	case t == timeType:
		fn(path, true)
	case t.Kind() == reflect.Struct:
		if len(path) > 0 {
			fn(path, false)
		}
		for _, f := range fieldsOf(t) {
			walkKeys(f.typ, append(slices.Clone(path), f.name), fn)
		}
	default:
		fn(path, true)
	}
}

func snakeCase(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}
