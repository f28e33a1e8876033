package agentcore

import (
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// coercer turns a value that does not fit its schema into the one that was
// meant, where there is no doubt: a number written as a string, JSON written
// as a string, null for something left out. A value that fits is not touched,
// and null never becomes a zero value. The result shares what is unchanged
// with its input, which is not written to.
type coercer struct {
	steps int // left; nested unions could otherwise take for ever
}

// maxCoerceSteps is in values looked at, times their depth. With none left, what is there stays as
// it is and validation has the last word.
const maxCoerceSteps = 300_000

func (c *coercer) coerce(s *jsonschema.Schema, v any) any {
	if c.steps--; s == nil || s.Always != nil || c.steps < 0 {
		return v
	}
	if s.Ref != nil {
		v = c.coerce(s.Ref, v)
	}
	for _, member := range s.AllOf {
		v = c.coerce(member, v)
	}
	v = c.union(s.AnyOf, v)
	v = c.union(s.OneOf, v)
	if len(s.Types) > 0 {
		v = c.convert(s, v)
	}
	switch v := v.(type) {
	case map[string]any:
		return c.object(s, v)
	case []any:
		return c.array(s, v)
	}
	return v
}

// union leaves a value that fits a member alone; otherwise the first member
// that the coerced value fits wins.
func (c *coercer) union(members []*jsonschema.Schema, v any) any {
	for _, member := range members {
		if c.fits(member, v) {
			return c.integers(member, v)
		}
	}
	for _, member := range members {
		if coerced := c.coerce(member, v); c.fits(member, coerced) {
			return coerced
		}
	}
	return v
}

// integers coerces a value that fits, for the sake of integers written with a
// fraction or exponent; anything else stays as it is.
func (c *coercer) integers(s *jsonschema.Schema, v any) any {
	switch v.(type) {
	case json.Number, map[string]any, []any:
		if coerced := c.coerce(s, v); c.fits(s, coerced) {
			return coerced
		}
	}
	return v
}

// fits reports whether v is valid, at the price of its size.
func (c *coercer) fits(s *jsonschema.Schema, v any) bool {
	c.steps -= cost(v, 1)
	return c.steps >= 0 && s.Validate(v) == nil
}

// cost is what validating v takes: the validator spells out the path to every
// value, so deep ones cost more.
func cost(v any, depth int) int {
	n := depth
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			n += cost(item, depth+1)
		}
	case []any:
		for _, item := range v {
			n += cost(item, depth+1)
		}
	}
	return n
}

// convert applies the schema's own type.
func (c *coercer) convert(s *jsonschema.Schema, v any) any {
	for _, t := range s.Types {
		if isType(t, v) {
			if t == "integer" {
				return plainInteger(v)
			}
			return v
		}
	}
	for _, t := range s.Types {
		if converted, ok := c.convertTo(t, s, v); ok {
			return converted
		}
	}
	return v
}

func isType(t string, v any) bool {
	switch v := v.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case []any:
		return t == "array"
	case map[string]any:
		return t == "object"
	case json.Number:
		return t == "number" || t == "integer" && isInteger(v)
	}
	return false
}

func (c *coercer) convertTo(t string, s *jsonschema.Schema, v any) (any, bool) {
	switch t {
	case "number", "integer":
		n, ok := toNumber(v)
		if !ok || t == "integer" && !isInteger(n) {
			return nil, false
		}
		if t == "integer" {
			return plainInteger(n), true
		}
		return n, true
	case "boolean":
		switch v {
		case "true", json.Number("1"):
			return true, true
		case "false", json.Number("0"):
			return false, true
		}
	case "string":
		switch v := v.(type) {
		case json.Number:
			return v.String(), true
		case bool:
			if v {
				return "true", true
			}
			return "false", true
		}
	case "null":
		switch v {
		case "", false, json.Number("0"):
			return nil, true
		}
	case "object":
		if text, ok := v.(string); ok {
			decoded, _, err := parseJSON([]byte(text))
			obj, ok := decoded.(map[string]any)
			return obj, err == nil && ok
		}
	case "array":
		return c.toArray(s, v)
	}
	return nil, false
}

// toArray decodes JSON text, and puts a single value where a list of such
// values is wanted into a list. Text that looks like broken JSON is neither.
func (c *coercer) toArray(s *jsonschema.Schema, v any) (any, bool) {
	if v == nil {
		return nil, false
	}
	if text, ok := v.(string); ok {
		if decoded, _, err := parseJSON([]byte(text)); err == nil {
			if items, ok := decoded.([]any); ok {
				return items, true
			}
		}
		if text = strings.TrimSpace(text); text == "" || text[0] == '[' || text[0] == '{' {
			return nil, false
		}
	}
	items := c.array(s, []any{v})
	return items, c.fits(s, items)
}

// toNumber accepts what a person would call a decimal number.
func toNumber(v any) (json.Number, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return "1", true
		}
		return "0", true
	case json.Number:
		return v, true
	case string:
		return parseDecimal(strings.TrimSpace(v))
	}
	return "", false
}

// parseDecimal rewrites sign, leading zeros, ".5" and "5." as JSON wants them.
func parseDecimal(s string) (json.Number, bool) {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign = "-"
	}
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	mantissa, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i:]
	}
	whole, fraction, dotted := strings.Cut(mantissa, ".")
	if whole == "" && fraction == "" {
		return "", false
	}
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	number := sign + whole
	if dotted && fraction != "" {
		number += "." + fraction
	}
	decoded, _, err := parseJSON([]byte(number + exponent))
	n, ok := decoded.(json.Number)
	return n, err == nil && ok
}

func isInteger(n json.Number) bool {
	if !strings.ContainsAny(n.String(), ".eE") {
		return true
	}
	rat, ok := new(big.Rat).SetString(n.String())
	return ok && rat.IsInt()
}

// plainInteger writes 1e3 and 5.0 as 1000 and 5, which is what a program that
// wants an integer can read.
func plainInteger(v any) any {
	n, ok := v.(json.Number)
	if !ok || !strings.ContainsAny(n.String(), ".eE") {
		return v
	}
	rat, ok := new(big.Rat).SetString(n.String())
	if !ok || !rat.IsInt() {
		return v
	}
	return json.Number(rat.Num().String())
}

func (c *coercer) object(s *jsonschema.Schema, obj map[string]any) any {
	changed := false
	for key, old := range obj {
		sub := propertySchema(s, key)
		if sub == nil {
			continue
		}
		if old == nil && !slices.Contains(s.Required, key) && !c.fits(sub, nil) {
			obj, changed = writable(obj, changed), true
			delete(obj, key)
			continue
		}
		if now := c.coerce(sub, old); !same(old, now) {
			obj, changed = writable(obj, changed), true
			obj[key] = now
		}
	}
	return obj
}

func writable(obj map[string]any, already bool) map[string]any {
	if already {
		return obj
	}
	return maps.Clone(obj)
}

// propertySchema returns what applies to a property, nil if nothing does.
func propertySchema(s *jsonschema.Schema, key string) *jsonschema.Schema {
	if sub := s.Properties[key]; sub != nil {
		return sub
	}
	for pattern, sub := range s.PatternProperties {
		if pattern.MatchString(key) {
			return sub
		}
	}
	sub, _ := s.AdditionalProperties.(*jsonschema.Schema)
	return sub
}

func (c *coercer) array(s *jsonschema.Schema, items []any) any {
	changed := false
	for i, old := range items {
		sub := itemSchema(s, i)
		if sub == nil {
			break
		}
		if now := c.coerce(sub, old); !same(old, now) {
			if !changed {
				items, changed = slices.Clone(items), true
			}
			items[i] = now
		}
	}
	return items
}

func itemSchema(s *jsonschema.Schema, i int) *jsonschema.Schema {
	if i < len(s.PrefixItems) {
		return s.PrefixItems[i]
	}
	if s.Items2020 != nil {
		return s.Items2020
	}
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		return items
	case []*jsonschema.Schema:
		if i < len(items) {
			return items[i]
		}
		sub, _ := s.AdditionalItems.(*jsonschema.Schema)
		return sub
	}
	return nil
}

// same reports whether coercion returned its input. Containers that changed
// were copied, so identity of their storage is enough.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}
