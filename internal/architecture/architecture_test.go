// Package architecture holds the test that keeps the rooms of the design apart.
package architecture

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rooms says what each package may import of ours. A rule covers the package
// and its children; the longest matching one counts. "x" allows x alone, "x/..."
// x and its children. internal/* packages are nobody's room: all may use them.
var rooms = map[string][]string{
	"agentcore":            {},
	"agentcore/repair":     {"agentcore"},
	"agentcore/compact":    {"agentcore"},
	"providers":            {"agentcore", "providers"},
	"tools":                {"agentcore", "tools"},
	"tools/command":        {"tools/sandbox"},
	"tools/builtin":        {"agentcore", "tools", "tools/command", "tools/sandbox"},
	"store":                {"agentcore", "store", "store/search"},
	"store/search":         {},                                     // folding and matching of texts
	"store/storetest":      {"agentcore", "store", "store/memory"}, // the model that others are compared with
	"channels":             {"agentcore", "channels"},
	"channels/reply":       {"agentcore", "channels", "channels/markdown"},
	"channels/slack":       {"agentcore", "channels", "channels/markdown"},
	"channels/discord":     {"agentcore", "channels", "channels/markdown"},
	"channels/telegram":    {"agentcore", "channels", "channels/markdown"},
	"channels/channeltest": {"agentcore", "channels", "channels/markdown"},
	"gateway":              {"agentcore/...", "providers", "tools", "store", "store/search", "channels", "channels/reply", "channels/markdown", "gateway/budget", "gateway/memory", "gateway/schedule"},
	"gateway/schedule":     {"store", "channels"},               // times, and values of State; nothing runs there
	"gateway/memory":       {"tools", "store"},                  // values of State and prose; nothing of runs
	"gateway/budget":       {"agentcore", "providers", "store"}, // a model decorator that the gateway gives its accounts to
	"server":               {"agentcore", "providers", "tools", "store", "channels", "gateway", "config"},
	"config":               {"..."},
	"cmd":                  {"..."},
	"examples":             {"..."},
	"internal":             {"..."},
}

// agentcoreDependencies are the only modules that agentcore may reach, at any
// depth.
var agentcoreDependencies = []string{"github.com/santhosh-tekuri/jsonschema/v5"}

type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Standard   bool
}

func list(t *testing.T, args ...string) []listed {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps,Standard"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func TestRoomsImportOnlyWhatTheDesignAllows(t *testing.T) {
	packages := list(t, "clawbot/...")
	if len(packages) < 10 {
		t.Fatalf("only %d packages were listed", len(packages))
	}
	for _, p := range packages {
		path := strings.TrimPrefix(p.ImportPath, "clawbot/")
		allowed, ok := ruleOf(path)
		if !ok {
			t.Errorf("%s belongs to no room", path)
			continue
		}
		for _, imported := range p.Imports {
			of, ours := strings.CutPrefix(imported, "clawbot/")
			if ours && !private(path, of) && !permits(allowed, of) {
				t.Errorf("%s imports %s; it may import only %v", path, of, allowed)
			}
		}
	}
}

// private reports whether a package is internal to the module or to the room
// of path, where the compiler keeps the bounds.
func private(path, imported string) bool {
	room, _, internal := strings.Cut("/"+imported, "/internal/")
	return internal && strings.HasPrefix("/"+path+"/", room+"/")
}

func ruleOf(path string) ([]string, bool) {
	for {
		if allowed, ok := rooms[path]; ok {
			return allowed, true
		}
		i := strings.LastIndex(path, "/")
		if i < 0 {
			return nil, false
		}
		path = path[:i]
	}
}

func permits(allowed []string, path string) bool {
	return slices.ContainsFunc(allowed, func(rule string) bool {
		parent, children := strings.CutSuffix(rule, "...")
		return rule == path || children && (parent == "" || strings.HasPrefix(path+"/", parent))
	})
}

func TestAgentcoreStandsOnTheStandardLibraryAndTheValidator(t *testing.T) {
	var foreign []string
	for _, p := range list(t, "-deps", "clawbot/agentcore") {
		ours := strings.HasPrefix(p.ImportPath, "clawbot/agentcore")
		known := slices.ContainsFunc(agentcoreDependencies, func(module string) bool {
			return p.ImportPath == module || strings.HasPrefix(p.ImportPath, module+"/")
		})
		if !p.Standard && !ours && !known {
			foreign = append(foreign, p.ImportPath)
		}
	}
	if len(foreign) > 0 {
		t.Errorf("agentcore depends on %v", foreign)
	}
}
