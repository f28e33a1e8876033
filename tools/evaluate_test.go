package tools

import (
	"slices"
	"testing"
)

func signal(s Signal) Availability { return Availability{Signal: &s} }

func TestToolsAreHiddenForEveryReasonThatHolds(t *testing.T) {
	always := signal(Signal{Kind: SignalAlways})
	noKey := signal(Signal{Kind: SignalAuth, Name: "github"})
	noEnv := signal(Signal{Kind: SignalEnv, Name: "CI"})
	malformed := Availability{}
	config := func(check ConfigCheck, path ...string) Availability {
		return signal(Signal{Kind: SignalConfig, Path: path, Check: check})
	}
	ctx := &Context{
		Auth:    map[string]bool{"anthropic": true},
		Env:     map[string]string{"HOME": "/root", "BLANK": " \t"},
		Plugins: map[string]bool{"weather": true},
		Values:  map[string]any{"direct": true, "nothing": nil},
		Config: map[string]any{
			"web": map[string]any{"key": "", "blank": "  ", "port": 0, "off": false, "list": []any{}, "null": nil, "full": []any{1}},
		},
		Available: func(path []string, _ any) bool { return path[len(path)-1] == "port" },
	}
	tests := []struct {
		name string
		a    Availability
		want []Reason
	}{
		{"always", always, nil},
		{"a key that is there", signal(Signal{Kind: SignalAuth, Name: "anthropic"}), nil},
		{"a key that is not", noKey, []Reason{ReasonAuthMissing}},
		{"a variable that is set", signal(Signal{Kind: SignalEnv, Name: "HOME"}), nil},
		{"a variable that is blank", signal(Signal{Kind: SignalEnv, Name: "BLANK"}), []Reason{ReasonEnvMissing}},
		{"exists accepts an empty string", config("", "web", "key"), nil},
		{"exists refuses null", config(CheckExists, "web", "null"), []Reason{ReasonConfigMissing}},
		{"arrays end a path", config(CheckExists, "web", "full", "0"), []Reason{ReasonConfigMissing}},
		{"an empty path", config(CheckExists), []Reason{ReasonConfigMissing}},
		{"non-empty refuses blank text", config(CheckNonEmpty, "web", "blank"), []Reason{ReasonConfigMissing}},
		{"non-empty refuses an empty list", config(CheckNonEmpty, "web", "list"), []Reason{ReasonConfigMissing}},
		{"non-empty accepts zero", config(CheckNonEmpty, "web", "port"), nil},
		{"non-empty accepts false", config(CheckNonEmpty, "web", "off"), nil},
		{"available asks", config(CheckAvailable, "web", "port"), nil},
		{"available says no", config(CheckAvailable, "web", "off"), []Reason{ReasonConfigMissing}},
		{"an unknown check", config("shiny", "web", "key"), []Reason{ReasonUnsupported}},
		{"an enabled plugin", signal(Signal{Kind: SignalPluginEnabled, Name: "weather"}), nil},
		{"a disabled plugin", signal(Signal{Kind: SignalPluginEnabled, Name: "x"}), []Reason{ReasonPluginDisabled}},
		{"a null context value is defined", signal(Signal{Kind: SignalContext, Name: "nothing"}), nil},
		{"an equal context value", signal(Signal{Kind: SignalContext, Name: "direct", Equals: true}), nil},
		{"another context value", signal(Signal{Kind: SignalContext, Name: "direct", Equals: "true"}), []Reason{ReasonContextMismatch}},
		{"an unknown signal", signal(Signal{Kind: "moon"}), []Reason{ReasonUnsupported}},
		{"an empty expression", malformed, []Reason{ReasonUnsupported}},
		{"an empty group", Availability{AllOf: []Availability{}}, []Reason{ReasonUnsupported}},
		{"a signal and a group at once", Availability{Signal: always.Signal, AnyOf: []Availability{always}}, []Reason{ReasonUnsupported}},
		{"allOf reports all", Availability{AllOf: []Availability{noKey, always, noEnv}}, []Reason{ReasonAuthMissing, ReasonEnvMissing}},
		{"anyOf with one that holds", Availability{AnyOf: []Availability{noKey, always}}, nil},
		{"anyOf with none", Availability{AnyOf: []Availability{noKey, noEnv}}, []Reason{ReasonAuthMissing, ReasonEnvMissing}},
		{"a malformed sibling hides", Availability{AnyOf: []Availability{always, malformed}}, []Reason{ReasonUnsupported}},
		{"groups nest", Availability{AllOf: []Availability{{AnyOf: []Availability{noKey, always}}, noEnv}}, []Reason{ReasonEnvMissing}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []Reason
			for _, d := range Evaluate(&test.a, ctx) {
				got = append(got, d.Reason)
				if d.Message == "" {
					t.Errorf("%s has no message", d.Reason)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("reasons = %v, want %v", got, test.want)
			}
		})
	}
}

func TestAMissingContextIsAnEmptyOne(t *testing.T) {
	available := signal(Signal{Kind: SignalConfig, Path: []string{"a"}, Check: CheckAvailable})
	if got := Evaluate(&available, nil); len(got) != 1 || got[0].Reason != ReasonConfigMissing {
		t.Errorf("diagnostics = %v, want config-missing", got)
	}
	if got := Evaluate(nil, nil); got != nil {
		t.Errorf("no availability is hidden: %v", got)
	}
}
