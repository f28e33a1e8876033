package tools

// Availability is when a tool may be seen: one signal, or a group of
// expressions. Exactly one field is set; anything else hides the tool as
// unsupported.
type Availability struct {
	Signal *Signal
	AllOf  []Availability
	AnyOf  []Availability
}

// SignalKind tells signals apart.
type SignalKind string

// The kinds of signals.
const (
	SignalAlways        SignalKind = "always"
	SignalAuth          SignalKind = "auth"           // Name is a provider id
	SignalConfig        SignalKind = "config"         // Path into the configuration, Check
	SignalEnv           SignalKind = "env"            // Name of a variable
	SignalPluginEnabled SignalKind = "plugin-enabled" // Name is a plugin id
	SignalContext       SignalKind = "context"        // Name is a key; Equals, if not nil
)

// Signal is one condition.
type Signal struct {
	Kind   SignalKind
	Name   string
	Path   []string
	Check  ConfigCheck
	Equals any
}

// ConfigCheck says what a config signal asks of the value at its path.
type ConfigCheck string

// The checks; the zero value is CheckExists.
const (
	CheckExists    ConfigCheck = "exists"    // present and not null; empty strings pass
	CheckNonEmpty  ConfigCheck = "non-empty" // trimmed string, array or table has length; numbers and false pass
	CheckAvailable ConfigCheck = "available" // Context.Available returns true
)

// Context is what availability is judged by; nil is an empty one.
type Context struct {
	Auth    map[string]bool
	Config  map[string]any
	Env     map[string]string
	Plugins map[string]bool
	Values  map[string]any
	// Available answers CheckAvailable; nil hides.
	Available func(path []string, value any) bool
}

// Reason is why a tool is hidden.
type Reason string

// The reasons. The ones after ReasonUnsupported are of the policy.
const (
	ReasonAuthMissing     Reason = "auth-missing"
	ReasonConfigMissing   Reason = "config-missing"
	ReasonEnvMissing      Reason = "env-missing"
	ReasonPluginDisabled  Reason = "plugin-disabled"
	ReasonContextMismatch Reason = "context-mismatch"
	ReasonUnsupported     Reason = "unsupported-signal"
	ReasonNotEnabled      Reason = "not-enabled"
	ReasonDenied          Reason = "denied"
	ReasonRole            Reason = "role"
	ReasonDown            Reason = "server-down"
)

// Diagnostic is one reason with a sentence for people.
type Diagnostic struct {
	Reason  Reason
	Signal  *Signal
	Message string
}
