package casetest

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Case is one directory of the bank.
type Case struct {
	Dir  string
	Meta Meta
	// Input is the content of the file that Meta.Input names.
	Input []byte
	// Expected is expected.json.
	Expected json.RawMessage
}

// Meta is meta.json.
type Meta struct {
	ID       string          `json:"id"`
	Provider string          `json:"provider"`
	Note     string          `json:"note"`
	Mode     string          `json:"mode"`
	Kind     string          `json:"kind"`
	Strength string          `json:"strength"`
	Deliver  string          `json:"deliver"`
	Input    string          `json:"input"`
	Tools    json.RawMessage `json:"tools"`
	// All of meta.json, for what only one mode reads.
	All json.RawMessage `json:"-"`
}

// decode reads JSON into v or fails the test.
func decode(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
}

// runner has a method for every mode, named after it.
type runner struct{}

func (runner) method(mode string) (func(*testing.T, Case), bool) {
	if mode == "" {
		return nil, false
	}
	name := strings.ToUpper(mode[:1]) + mode[1:]
	m := reflect.ValueOf(runner{}).MethodByName(name)
	if !m.IsValid() {
		return nil, false
	}
	run, ok := reflect.TypeAssert[func(*testing.T, Case)](m)
	return run, ok
}

func TestCases(t *testing.T) {
	dirs := append([]string{filepath.Join("..", "..", "testdata", "cases")},
		filepath.SplitList(os.Getenv("CLAWBOT_CASES"))...)
	for _, dir := range dirs {
		metas, err := filepath.Glob(filepath.Join(dir, "*", "meta.json"))
		if err != nil || len(metas) == 0 {
			t.Errorf("%s holds no cases (%v)", dir, err)
		}
		for _, meta := range metas {
			c := load(t, meta)
			t.Run(c.Meta.ID, func(t *testing.T) {
				run, ok := runner{}.method(c.Meta.Mode)
				if !ok {
					missing(t, c)
					return
				}
				t.Logf("%s (%s): %s", c.Meta.Provider, c.Meta.Strength, c.Meta.Note)
				run(t, c)
			})
		}
	}
}

// missing fails a case that nothing can run.
func missing(t *testing.T, c Case) {
	t.Helper()
	t.Fatalf("no runner for mode %q and provider %q: add its method to runner (see the package comment)", c.Meta.Mode, c.Meta.Provider)
}

func load(t *testing.T, metaFile string) Case {
	t.Helper()
	c := Case{Dir: filepath.Dir(metaFile)}
	c.Meta.All = read(t, metaFile)
	decode(t, c.Meta.All, &c.Meta)
	if c.Meta.ID == "" {
		c.Meta.ID = filepath.Base(c.Dir)
	}
	if c.Meta.Input == "" {
		for _, name := range []string{"input.json", "input.sse", "input.txt"} {
			if _, err := os.Stat(filepath.Join(c.Dir, name)); err == nil {
				c.Meta.Input = name
			}
		}
	}
	c.Input = read(t, filepath.Join(c.Dir, c.Meta.Input))
	c.Expected = read(t, filepath.Join(c.Dir, "expected.json"))
	return c
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// alternatives returns the expectation and, for each entry of its "accept",
// the expectation with the fields that the entry names replaced.
func alternatives(t *testing.T, expected json.RawMessage) []map[string]json.RawMessage {
	t.Helper()
	var base map[string]json.RawMessage
	decode(t, expected, &base)
	all := []map[string]json.RawMessage{base}
	var accept []map[string]json.RawMessage
	if raw, ok := base["accept"]; ok {
		decode(t, raw, &accept)
	}
	for _, fields := range accept {
		merged := map[string]json.RawMessage{}
		for _, from := range []map[string]json.RawMessage{base, fields} {
			maps.Copy(merged, from)
		}
		all = append(all, merged)
	}
	return all
}
