package tools

import (
	"fmt"
	"reflect"
	"strings"
)

// Evaluate returns why the expression does not hold in ctx; no diagnostics mean
// that it holds. A nil expression always holds.
//
// All parts of an AllOf report. An AnyOf holds when one part does, but a
// malformed part hides the tool even then: a typing mistake must not open what
// it was meant to guard.
func Evaluate(a *Availability, ctx *Context) []Diagnostic {
	if a == nil {
		return nil
	}
	if ctx == nil {
		ctx = &Context{}
	}
	return evaluate(*a, ctx)
}

func evaluate(a Availability, ctx *Context) []Diagnostic {
	switch {
	case a.Signal != nil && a.AllOf == nil && a.AnyOf == nil:
		return a.Signal.check(ctx)
	case a.Signal == nil && len(a.AllOf) > 0 && a.AnyOf == nil:
		var all []Diagnostic
		for _, part := range a.AllOf {
			all = append(all, evaluate(part, ctx)...)
		}
		return all
	case a.Signal == nil && a.AllOf == nil && len(a.AnyOf) > 0:
		return evaluateAny(a.AnyOf, ctx)
	default:
		return []Diagnostic{{Reason: ReasonUnsupported, Message: "the availability is empty or sets several of signal, allOf and anyOf"}}
	}
}

func evaluateAny(parts []Availability, ctx *Context) []Diagnostic {
	var all, malformed []Diagnostic
	holds := false
	for _, part := range parts {
		diagnostics := evaluate(part, ctx)
		holds = holds || len(diagnostics) == 0
		for _, d := range diagnostics {
			if d.Reason == ReasonUnsupported {
				malformed = append(malformed, d)
			}
		}
		all = append(all, diagnostics...)
	}
	if holds {
		return malformed
	}
	return all
}

// check returns why the signal is not given in ctx.
func (s *Signal) check(ctx *Context) []Diagnostic {
	missing := func(reason Reason, format string, args ...any) []Diagnostic {
		return []Diagnostic{{Reason: reason, Signal: s, Message: fmt.Sprintf(format, args...)}}
	}
	switch s.Kind {
	case SignalAlways:
		return nil
	case SignalAuth:
		if !ctx.Auth[s.Name] {
			return missing(ReasonAuthMissing, "no key for %q is configured", s.Name)
		}
	case SignalConfig:
		ok, known := s.configured(ctx)
		if !known {
			return missing(ReasonUnsupported, "unknown configuration check %q", s.Check)
		}
		if !ok {
			return missing(ReasonConfigMissing, "%s is not set", strings.Join(s.Path, "."))
		}
	case SignalEnv:
		if strings.TrimSpace(ctx.Env[s.Name]) == "" {
			return missing(ReasonEnvMissing, "the environment variable %s is not set", s.Name)
		}
	case SignalPluginEnabled:
		if !ctx.Plugins[s.Name] {
			return missing(ReasonPluginDisabled, "the plugin %q is not enabled", s.Name)
		}
	case SignalContext:
		value, defined := ctx.Values[s.Name]
		if !defined || s.Equals != nil && !reflect.DeepEqual(value, s.Equals) {
			return missing(ReasonContextMismatch, "not in this context (%s)", s.Name)
		}
	default:
		return missing(ReasonUnsupported, "unknown signal %q", s.Kind)
	}
	return nil
}

// configured reports whether the value at the signal's path passes its check,
// and whether there is such a check. Only tables are walked: an array on the
// way ends the path.
func (s *Signal) configured(ctx *Context) (ok, known bool) {
	switch s.Check {
	case "", CheckExists, CheckNonEmpty, CheckAvailable:
	default:
		return false, false
	}
	var value any = ctx.Config
	for _, key := range s.Path {
		table, isTable := value.(map[string]any)
		if !isTable {
			return false, true
		}
		if value, isTable = table[key]; !isTable {
			return false, true
		}
	}
	if len(s.Path) == 0 || value == nil {
		return false, true
	}
	switch s.Check {
	case CheckNonEmpty:
		return nonEmpty(value), true
	case CheckAvailable:
		return ctx.Available != nil && ctx.Available(s.Path, value), true
	default:
		return true, true
	}
}

func nonEmpty(value any) bool {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.String:
		return strings.TrimSpace(v.String()) != ""
	case reflect.Slice, reflect.Array, reflect.Map:
		return v.Len() > 0
	default:
		return true
	}
}
