package mistral

import (
	"os"
	"path/filepath"
	"testing"

	"clawbot/providers/providertest"
)

// FuzzStream checks that no body makes the adapter panic, hang or break the
// contract of streams.
func FuzzStream(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "cases", "mi-*", "input.sse"))
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
	f.Fuzz(func(t *testing.T, body []byte) { providertest.Any(t, format, body) })
}
