package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write docs/cli.md anew")

var (
	root = filepath.Join("..", "..")
	docs = filepath.Join(root, "docs")
)

// manual writes the reference of a command and those below it.
func manual(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(w, "\n## %s\n\n", cmd.CommandPath())
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	fmt.Fprintf(w, "%s\n\n```\n%s\n```\n", strings.NewReplacer("<", "\\<").Replace(text), cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(w, "\n```sh\n%s\n```\n", unindent(cmd.Example))
	}
	var flags []string
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			flags = append(flags, flagLine(f))
		}
	})
	if len(flags) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(flags, "\n"))
	}
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && sub.Name() != "help" && sub.Name() != "completion" {
			manual(w, sub)
		}
	}
}

func flagLine(f *pflag.Flag) string {
	kind, usage := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	if kind != "" {
		name += " " + kind
	}
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" {
		usage += " (" + f.DefValue + ")"
	}
	return "- `" + name + "`: " + usage
}

func unindent(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

func TestTheReferenceOfCommandsIsWhatTheProgramHas(t *testing.T) {
	var want strings.Builder
	want.WriteString("# Commands\n\nWritten from the program by `go test ./cmd/clawbot -run Reference -update`. `clawbot completion SHELL` prints the\n" +
		"completion for bash, zsh, fish or powershell.\n")
	manual(&want, newRoot(streams{}))
	file := filepath.Join(docs, "cli.md")
	if *update {
		if err := os.WriteFile(file, []byte(want.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Errorf("docs/cli.md is not what the program has; write it anew: go test ./cmd/clawbot -run Reference -update")
	}
}

// fatal are the files whose errors a run can end with.
var fatal = []string{
	"cmd/clawbot/run.go", "cmd/clawbot/workspace.go", "cmd/clawbot/replicas.go", "cmd/clawbot/audit.go",
	"cmd/clawbot/wire.go", "cmd/clawbot/traces.go", "cmd/clawbot/gateway.go", "server/config.go", "server/server.go",
	"store/sqlite/open.go", "store/sqlite/lock.go", "store/sqlite/schema.go", "store/sqlite/errors.go",
	"store/redis/open.go", "store/redis/url.go", "store/redis/begin.go", "gateway/gateway.go", "config/load.go",
	"channels/telegram/config.go", "channels/telegram/check.go", "channels/telegram/webhook.go",
	"channels/slack/config.go", "channels/slack/errors.go", "channels/discord/config.go",
	"providers/client.go", "tools/plugin/manifest.go", "cmd/clawbot/servers.go",
}

// internalErrors never reach whoever runs the bot: they are caught on the way,
// or mean that the program itself is wrong.
var internalErrors = []string{
	"the lock is taken", "the bot is shutting down",
	"config section %s: want a pointer to a struct, got %T", "config section %s: the name is taken",
}

var (
	words   = regexp.MustCompile(`\pL{2,}`)
	verb    = regexp.MustCompile(`%[-+# 0-9.\[\]]*[a-zA-Z]`)
	heading = regexp.MustCompile("(?m)^### `(.*)`$")
)

func TestEveryErrorThatRunCanEndWithHasAHeadingInTroubleshooting(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(docs, "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	headings := heading.FindAllStringSubmatch(string(page), -1)
	used := map[string]bool{}
	n := 0
	for _, file := range fatal {
		for _, message := range messagesOf(t, file) {
			if len(words.FindAllString(verb.ReplaceAllString(message, ""), -1)) < 4 || slices.Contains(internalErrors, message) || strings.HasPrefix(message, "PRAGMA") {
				continue // it only says where another error came from
			}
			n++
			i := slices.IndexFunc(headings, func(h []string) bool { return matches(h[1], message) })
			if i < 0 {
				t.Errorf("%s: there is no heading for %q", file, message)
				continue
			}
			for _, h := range headings {
				used[h[1]] = used[h[1]] || matches(h[1], message)
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d messages were found", n)
	}
	// Headings that no error has any more are for these, which are made of parts.
	for _, made := range []string{"there is no such file", "store.url", "no API key: set", "no model is named", "is no URL", "channel …", "serve HTTP on", "find the folder of …", "subscribe to hints", "Run was called twice", "the port is missing", "redis: unknown kind of client"} {
		used[made] = true
	}
	for _, h := range headings {
		if !used[h[1]] {
			t.Errorf("no error has the words of the heading %q", h[1])
		}
	}
}

// matches reports whether the parts of a heading, between its …, stand in a
// message in that order.
func matches(heading, message string) bool {
	for part := range strings.SplitSeq(heading, "…") {
		part = strings.TrimSpace(part)
		i := strings.Index(message, part)
		if i < 0 {
			return false
		}
		message = message[i+len(part):]
	}
	return true
}

// messagesOf returns the texts of all errors that a file makes, and those of
// its variables named remedy.
func messagesOf(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if ok && (slices.Contains([]string{"Errorf", "Sprintf", "New"}, sel.Sel.Name)) && len(n.Args) > 0 {
				out = append(out, literal(n.Args[0]))
			}
		case *ast.AssignStmt:
			if id, ok := n.Lhs[0].(*ast.Ident); ok && id.Name == "remedy" {
				out = append(out, literal(n.Rhs[0]))
			}
		}
		return true
	})
	return out
}

// literal is the text of a string, or of several that are joined.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil {
			return s
		}
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	}
	return ""
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

func TestEveryPageIsInTheIndexAndEveryLinkLeadsSomewhere(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(docs, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(docs, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")) {
		if name := filepath.Base(page); filepath.Dir(page) == docs && name != "README.md" && !strings.Contains(string(index), "("+name+")") {
			t.Errorf("docs/README.md does not name %s", name)
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}
