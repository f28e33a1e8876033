package google

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"clawbot/agentcore"
	"clawbot/providers/providertest"
)

// FuzzStream checks that no body makes the adapter panic, hang or break the
// contract of streams.
func FuzzStream(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "cases", "go-*", "input.sse"))
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, file := range files {
		seed, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	f.Add([]byte(`[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},{"candidates":[{"finishReason":"STOP"}]}]`))
	f.Fuzz(func(t *testing.T, body []byte) { providertest.Any(t, format, body) })
}

// FuzzSchema checks that any schema becomes one that the API takes, the same
// each time.
func FuzzSchema(f *testing.F) {
	for _, seed := range schemas {
		f.Add([]byte(seed.in))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		spec := agentcore.ToolSpec{Name: "t", Schema: json.RawMessage(schema)}
		for _, encode := range []func(agentcore.ToolSpec) []byte{legacySchema, jsonSchema} {
			first, second := encode(spec), encode(spec)
			if string(first) != string(second) {
				t.Fatalf("%s and %s", first, second)
			}
			if first == nil {
				continue
			}
			var root map[string]any
			if err := json.Unmarshal(first, &root); err != nil || root["type"] != "object" {
				t.Fatalf("%v: %s", err, first)
			}
		}
	})
}
