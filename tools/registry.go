package tools

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"clawbot/agentcore"
)

// SourceKind orders sources: a later kind's tool takes the place of an earlier
// one's with the same name.
type SourceKind uint8

// The kinds, in order.
const (
	Builtin   SourceKind = iota
	Extension            // servers, plugins
	Custom               // the embedding program's own
)

// Source is a set of tools from one place.
type Source struct {
	Name  string // for people: "builtin", "mcp:github"
	Kind  SourceKind
	Tools []Tool
}

// Entry is a registered tool.
type Entry struct {
	Tool   Tool
	Source string
	Kind   SourceKind
	// Overrides names the sources whose tool of this name it hides.
	Overrides []string

	// core is the tool as the loop takes it, made once so that its schema is
	// compiled once.
	core *agentcore.Tool
}

// Registry is the one map of tools. It is safe for concurrent use; what it
// hands out is not changed by a later Rebuild.
type Registry struct {
	mu      sync.RWMutex
	entries map[string]*Entry
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{} }

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Rebuild replaces all the registry holds by the tools of the sources. Of tools
// with the same name the later kind wins, then the later source; two in one
// source are an error. On an error the registry stays as it was.
func (r *Registry) Rebuild(sources ...Source) error {
	ordered := slices.Clone(sources)
	slices.SortStableFunc(ordered, func(a, b Source) int { return cmp.Compare(a.Kind, b.Kind) })
	entries := make(map[string]*Entry)
	for _, source := range ordered {
		seen := make(map[string]bool, len(source.Tools))
		for _, tool := range source.Tools {
			switch {
			case !validName.MatchString(tool.Name):
				return fmt.Errorf("source %s: tool name %q: want 1 to 64 letters, digits, _ or -", source.Name, tool.Name)
			case seen[tool.Name]:
				return &ContractError{"duplicate-tool-name", tool.Name,
					fmt.Sprintf("source %s has two tools named %q", source.Name, tool.Name)}
			}
			seen[tool.Name] = true
			entry := &Entry{Tool: tool, Source: source.Name, Kind: source.Kind, core: tool.core()}
			if earlier := entries[tool.Name]; earlier != nil {
				entry.Overrides = append(slices.Clone(earlier.Overrides), earlier.Source)
			}
			entries[tool.Name] = entry
		}
	}
	r.mu.Lock()
	r.entries = entries
	r.mu.Unlock()
	return nil
}

// core is the tool in the form that the loop takes.
func (t *Tool) core() *agentcore.Tool {
	return &agentcore.Tool{
		Name:             t.Name,
		Label:            cmp.Or(t.Label, t.Title, t.Name),
		Description:      t.Description,
		Schema:           t.InputSchema,
		Mode:             t.Mode,
		Idempotent:       t.Idempotent,
		PrepareArguments: t.Prepare,
		Execute:          t.Execute,
	}
}

// Get returns the entry of the named tool.
func (r *Registry) Get(name string) (*Entry, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.entries[name]
	return e, ok
}

// Request asks for the tools of one conversation.
type Request struct {
	Context *Context
	Policy  *Policy // nil: everything available
	Who     Audience
	// Active, if not nil, narrows the set to these names; names that are
	// unknown or hidden are skipped silently.
	Active []string
}

// Set is what a conversation gets: tools as the loop takes them, in the plan's
// order, and what is hidden from it.
type Set struct {
	Tools  []*agentcore.Tool
	Hidden []Hidden
}

// Set plans the registry's tools for a conversation: policy first, then
// availability, then the active names.
func (r *Registry) Set(req Request) (Set, error) {
	r.mu.RLock()
	entries := r.entries
	r.mu.RUnlock()

	var set Set
	descriptors := make([]Descriptor, 0, len(entries))
	for name, entry := range entries {
		if req.Policy != nil {
			if d := req.Policy.Decide(name, entry.Kind != Builtin, req.Who); d != nil {
				set.Hidden = append(set.Hidden, Hidden{entry.Tool.Descriptor, []Diagnostic{*d}})
				continue
			}
		}
		descriptors = append(descriptors, entry.Tool.Descriptor)
	}
	plan, err := BuildPlan(descriptors, req.Context)
	if err != nil {
		return Set{}, err
	}
	for _, d := range plan.Visible {
		if req.Active == nil || slices.Contains(req.Active, d.Name) {
			set.Tools = append(set.Tools, entries[d.Name].core)
		}
	}
	set.Hidden = append(set.Hidden, plan.Hidden...)
	slices.SortFunc(set.Hidden, func(a, b Hidden) int {
		return cmp.Compare(a.Descriptor.Name, b.Descriptor.Name)
	})
	return set, nil
}
