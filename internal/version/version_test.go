package version

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestALinkedReleaseWinsOverWhatTheRepositorySays(t *testing.T) {
	build := &debug.BuildInfo{
		Main: debug.Module{Version: "v0.0.0-20261129-abc"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "4f2a9c1b77aa0123456789"},
			{Key: "vcs.time", Value: "2026-11-29T10:00:00Z"},
			{Key: "vcs.modified", Value: "true"},
		},
	}
	got := from("v1.2.3", build).String()
	if want := "v1.2.3 (4f2a9c1b77aa, modified, 2026-11-29T10:00:00Z) "; !strings.HasPrefix(got, want) {
		t.Errorf("String() = %q, want the prefix %q", got, want)
	}
	if got := from("", build).Version; got != "v0.0.0-20261129-abc" {
		t.Errorf("without a release, Version = %q", got)
	}
}

func TestABuildThatKnowsNothingIsDevel(t *testing.T) {
	for _, build := range []*debug.BuildInfo{nil, {Main: debug.Module{Version: "(devel)"}}} {
		if got := from("", build).String(); !strings.HasPrefix(got, "devel go") {
			t.Errorf("String() = %q", got)
		}
	}
}
