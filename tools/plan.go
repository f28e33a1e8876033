package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Plan is what an agent may see of a set of descriptors, sorted.
type Plan struct {
	Visible []Descriptor
	Hidden  []Hidden
}

// Hidden is a tool that is not shown, with every reason.
type Hidden struct {
	Descriptor  Descriptor
	Diagnostics []Diagnostic
}

// ContractError says that a set of descriptors can't be planned: somebody who
// wrote a tool made a mistake that must not be papered over.
type ContractError struct {
	Code    string // "duplicate-tool-name" or "missing-executor"
	Tool    string
	Message string
}

func (e *ContractError) Error() string { return e.Message }

// BuildPlan parts the descriptors into visible and hidden ones. It changes
// nothing and depends on nothing but its arguments. Names that occur twice,
// even hidden, and visible tools that nothing executes are a [ContractError].
func BuildPlan(descriptors []Descriptor, ctx *Context) (Plan, error) {
	order := inOrder(descriptors)
	if name, twice := repeated(descriptors, order); twice {
		return Plan{}, &ContractError{"duplicate-tool-name", name,
			fmt.Sprintf("two tools are named %q: rename one or remove its source", name)}
	}
	plan := Plan{Visible: make([]Descriptor, 0, len(descriptors))}
	for _, p := range order {
		d := &descriptors[p.at]
		if diagnostics := Evaluate(d.Availability, ctx); len(diagnostics) > 0 {
			plan.Hidden = append(plan.Hidden, Hidden{*d, diagnostics})
			continue
		}
		if d.Executor == nil {
			return Plan{}, &ContractError{"missing-executor", d.Name,
				fmt.Sprintf("tool %q is visible but nothing executes it", d.Name)}
		}
		plan.Visible = append(plan.Visible, *d)
	}
	return plan, nil
}

// place is where a descriptor is, and what it is sorted by. Descriptors are
// large; these are sorted in their stead.
type place struct {
	key string
	at  int
}

func inOrder(descriptors []Descriptor) []place {
	order := make([]place, len(descriptors))
	for i := range descriptors {
		order[i] = place{cmp.Or(descriptors[i].SortKey, descriptors[i].Name), i}
	}
	slices.SortFunc(order, func(a, b place) int {
		if n := strings.Compare(a.key, b.key); n != 0 {
			return n
		}
		return strings.Compare(descriptors[a.at].Name, descriptors[b.at].Name)
	})
	return order
}

// repeated returns a name that two descriptors have. Without sort keys of their
// own, such two are neighbours.
func repeated(descriptors []Descriptor, order []place) (name string, twice bool) {
	keyed := false
	for i := range order {
		d := &descriptors[order[i].at]
		keyed = keyed || d.SortKey != ""
		if i > 0 && descriptors[order[i-1].at].Name == d.Name {
			return d.Name, true
		}
	}
	if !keyed {
		return "", false
	}
	seen := make(map[string]bool, len(order))
	for i := range descriptors {
		if seen[descriptors[i].Name] {
			return descriptors[i].Name, true
		}
		seen[descriptors[i].Name] = true
	}
	return "", false
}
