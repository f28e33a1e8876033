package openai

import (
	"os"
	"path/filepath"
	"testing"

	"clawbot/providers/providertest"
)

func seed(f *testing.F, pattern string) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "cases", pattern, "input.sse"))
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// FuzzChat checks that no body makes the adapter panic, hang or break the
// contract of streams.
func FuzzChat(f *testing.F) {
	seed(f, "oc-*")
	f.Fuzz(func(t *testing.T, body []byte) { providertest.Any(t, formats[0], body) })
}

// FuzzResponses checks the same of Responses.
func FuzzResponses(f *testing.F) {
	seed(f, "or-*")
	f.Fuzz(func(t *testing.T, body []byte) { providertest.Any(t, formats[1], body) })
}
