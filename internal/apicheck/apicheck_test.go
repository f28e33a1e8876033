package apicheck

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata anew")

// stable are the packages that docs/compatibility.md promises to keep.
var stable = []string{
	"agentcore", "agentcore/compact", "agentcore/repair", "gateway", "gateway/budget", "channels", "channels/channeltest",
	"tools", "tools/builtin", "tools/tooltest", "store", "store/memory", "store/sqlite", "store/redis", "store/storetest",
	"providers", "providers/anthropic", "providers/openai", "providers/google", "providers/mistral", "providers/providertest",
}

// What is gone from a package breaks programs; what is new has to be meant.
func TestTheExportedAPIIsTheRecordedOne(t *testing.T) {
	for _, pkg := range stable {
		t.Run(pkg, func(t *testing.T) {
			now, err := Lines(filepath.Join("..", "..", pkg))
			if err != nil {
				t.Fatal(err)
			}
			record := filepath.Join("testdata", strings.ReplaceAll(pkg, "/", "_")+".txt")
			if *update {
				if err := os.WriteFile(record, []byte(strings.Join(now, "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			raw, err := os.ReadFile(record)
			if err != nil {
				t.Fatal(err)
			}
			before := strings.Split(strings.TrimSpace(string(raw)), "\n")
			for _, line := range before {
				if !slices.Contains(now, line) {
					t.Errorf("gone, which breaks programs: %s", line)
				}
			}
			for _, line := range now {
				if !slices.Contains(before, line) {
					t.Errorf("new: %s", line)
				}
			}
			if t.Failed() {
				t.Log("if it is meant, run: go test ./internal/apicheck -update\nand for what is gone, say in CHANGELOG.md what to do instead")
			}
		})
	}
}

func TestEveryStablePackageIsDocumentedAsOne(t *testing.T) {
	doc, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range stable {
		if parent, _, _ := strings.Cut(pkg, "/"); !strings.Contains(string(doc), "`"+parent+"`") {
			t.Errorf("docs/compatibility.md does not name %s", parent)
		}
	}
	records, err := fs.Glob(os.DirFS("testdata"), "*.txt")
	if err != nil || len(records) != len(stable) {
		t.Errorf("%d records for %d packages (%v)", len(records), len(stable), err)
	}
}

func TestLinesNameWhatProgramsDependOn(t *testing.T) {
	dir := t.TempDir()
	source := `package p

import "io"

const Limit, hidden = 3, 4

type (
	Kind int
	Box[T any] struct {
		io.Reader
		A, B T
		c    int
	}
	Opener interface {
		io.Closer
		Open(name string) (io.Reader, error)
	}
	Name = string
	inner struct{ X int }
)

var Err error

func New[T any](a, b T, more ...int) *Box[T] { return nil }
func (b *Box[T]) Do() {}
func (inner) Do()     {}
func helper()         {}
`
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Lines(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"const Limit",
		"func New[any](T, T, ...int) (*Box[T])",
		"method (*Box[T]) Do()",
		"type Box[any] struct",
		"type Box[any] struct, A T",
		"type Box[any] struct, B T",
		"type Box[any] struct, embedded io.Reader",
		"type Kind int",
		"type Name = string",
		"type Opener interface",
		"type Opener interface, Open(string) (io.Reader, error)",
		"type Opener interface, io.Closer",
		"var Err error",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
