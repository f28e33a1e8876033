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
	// Descriptors are large; what is sorted is where they are.
	order := make([]int, len(descriptors))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &descriptors[i], &descriptors[j]
		return cmp.Or(
			strings.Compare(cmp.Or(a.SortKey, a.Name), cmp.Or(b.SortKey, b.Name)),
			strings.Compare(a.Name, b.Name))
	})
	seen := make(map[string]bool, len(descriptors))
	plan := Plan{Visible: make([]Descriptor, 0, len(descriptors))}
	for _, i := range order {
		d := &descriptors[i]
		if seen[d.Name] {
			return Plan{}, &ContractError{"duplicate-tool-name", d.Name,
				fmt.Sprintf("two tools are named %q: rename one or remove its source", d.Name)}
		}
		seen[d.Name] = true
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
