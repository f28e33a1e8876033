package tools

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func described(name, sortKey string, a *Availability) Descriptor {
	return Descriptor{Name: name, SortKey: sortKey, Availability: a, Executor: &Executor{Kind: Core, Name: name}}
}

func TestPlanSortsAndPartsDescriptors(t *testing.T) {
	never := signal(Signal{Kind: SignalEnv, Name: "NO_SUCH"})
	in := []Descriptor{described("zeta", "1", nil), described("beta", "", nil), described("alpha", "", &never), described("gamma", "1", nil)}
	before := slices.Clone(in)
	plan, err := BuildPlan(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	var visible []string
	for _, d := range plan.Visible {
		visible = append(visible, d.Name)
	}
	if want := []string{"gamma", "zeta", "beta"}; !slices.Equal(visible, want) {
		t.Errorf("visible = %v, want %v", visible, want)
	}
	if len(plan.Hidden) != 1 || plan.Hidden[0].Descriptor.Name != "alpha" {
		t.Errorf("hidden = %v, want alpha", plan.Hidden)
	}
	for i := range in {
		if in[i].Name != before[i].Name {
			t.Fatal("the argument was reordered")
		}
	}
}

func TestPlanRefusesWhatItsAuthorGotWrong(t *testing.T) {
	never := signal(Signal{Kind: SignalEnv, Name: "NO_SUCH"})
	tests := []struct {
		name string
		in   []Descriptor
		code string
	}{
		{"a name twice though hidden", []Descriptor{described("a", "", nil), described("a", "z", &never)}, "duplicate-tool-name"},
		{"visible without executor", []Descriptor{{Name: "a"}}, "missing-executor"},
		{"hidden without executor", []Descriptor{{Name: "a", Availability: &never}}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := BuildPlan(test.in, nil)
			var contract *ContractError
			if errors.As(err, &contract); (contract == nil) != (test.code == "") || contract != nil && contract.Code != test.code {
				t.Errorf("error = %v, want code %q", err, test.code)
			}
		})
	}
}

func BenchmarkPlan200Descriptors(b *testing.B) {
	var in []Descriptor
	set := signal(Signal{Kind: SignalEnv, Name: "HOME"})
	for i := range 200 {
		in = append(in, described(fmt.Sprintf("tool_%03d", (i*37)%200), "", &set))
	}
	ctx := &Context{Env: map[string]string{"HOME": "/"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := BuildPlan(in, ctx); err != nil {
			b.Fatal(err)
		}
	}
}
