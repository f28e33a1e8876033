package builtin

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"clawbot/agentcore"
	"clawbot/tools"
)

//go:embed search.md
var searchProse string

// Bounds of one search.
const (
	maxMatches     = 200
	maxMatchBytes  = 400
	maxSearchBytes = 64 << 10
	maxFiles       = 100_000
)

func search() tools.Tool {
	return tools.Tool{
		Descriptor: describe("search", "Search files", searchProse, `{
			"type": "object",
			"properties": {
				"pattern":     {"type": "string", "description": "Regular expression for a line"},
				"glob":        {"type": "string", "description": "Which files, for example *.go"},
				"path":        {"type": "string", "description": "Directory relative to the workspace"},
				"ignore_case": {"type": "boolean"},
				"context":     {"type": "integer", "minimum": 0, "maximum": 10}
			}
		}`),
		Idempotent: true,
		Telling: func(raw json.RawMessage) string {
			if pattern := telling("pattern")(raw); pattern != "" {
				return pattern
			}
			return telling("glob")(raw)
		},
		Execute: runSearch,
	}
}

type searchArgs struct {
	Pattern, Glob, Path string
	IgnoreCase          bool `json:"ignore_case"`
	Context             int
}

// finder is one search under way.
type finder struct {
	root    *os.Root
	ignored *ignoreRules
	line    *regexp.Regexp // nil: names only
	glob    *regexp.Regexp // nil: every file
	around  int
	out     strings.Builder
	matches int
	files   int
}

// errEnough ends the walk when there is enough to show.
var errEnough = errors.New("enough matches")

func runSearch(ctx context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
	args, err := arguments[searchArgs](call)
	if err != nil {
		return agentcore.Result{}, err
	}
	root, name, err := located(ctx, args.Path)
	if err != nil {
		return agentcore.Result{}, err
	}
	f, err := newFinder(root, args)
	if err != nil {
		return agentcore.Result{}, err
	}
	err = fs.WalkDir(root.FS(), name, func(file string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return f.visit(ctx, name, file, entry, err)
	})
	switch {
	case errors.Is(err, errEnough):
		fmt.Fprintf(&f.out, "[more than this matches: narrow the search with glob or path]\n")
	case err != nil:
		return agentcore.Result{}, explain(name, err)
	case f.matches == 0:
		return agentcore.TextResult(fmt.Sprintf("No matches in %d files.", f.files)), nil
	}
	return agentcore.TextResult(f.out.String()), nil
}

func newFinder(root *os.Root, args searchArgs) (*finder, error) {
	f := &finder{root: root, ignored: &ignoreRules{}, around: args.Context}
	if args.Pattern == "" && args.Glob == "" {
		return nil, errors.New("give a pattern, a glob, or both")
	}
	if args.Pattern != "" {
		pattern := args.Pattern
		if args.IgnoreCase {
			pattern = "(?i)" + pattern
		}
		line, err := regexp.Compile(pattern)
		if err != nil {
			return nil, fmt.Errorf("pattern: %w (RE2 syntax: no look-around, no back-references)", err)
		}
		f.line = line
	}
	if args.Glob != "" {
		glob, err := globRegexp(args.Glob)
		if err != nil {
			return nil, fmt.Errorf("glob: %w", err)
		}
		f.glob = glob
	}
	return f, nil
}

func (f *finder) visit(ctx context.Context, start, file string, entry fs.DirEntry, err error) error {
	if err != nil {
		if file == start {
			return err
		}
		return nil // a directory that can't be read is no reason to stop
	}
	if entry.IsDir() {
		if entry.Name() == ".git" || file != start && f.ignored.match(file, true) {
			return fs.SkipDir
		}
		f.ignored.add(file, f.rules(path.Join(file, ".gitignore")))
		return nil
	}
	if !entry.Type().IsRegular() || f.ignored.match(file, false) || f.glob != nil && !f.glob.MatchString(file) {
		return nil
	}
	if f.files++; f.files > maxFiles {
		return errEnough
	}
	if f.line == nil {
		return f.report(shownName(file) + "\n")
	}
	return f.searchFile(ctx, file)
}

// maxRules bounds a .gitignore, in bytes.
const maxRules = 256 << 10

// rules reads a .gitignore, which may be anything.
func (f *finder) rules(name string) []byte {
	file, _, err := openRegular(f.root, name)
	if err != nil {
		return nil
	}
	defer file.Close()
	rules, err := io.ReadAll(io.LimitReader(file, maxRules))
	if err != nil {
		return nil
	}
	return rules
}

func (f *finder) report(text string) error {
	if f.matches++; f.matches > maxMatches || f.out.Len()+len(text) > maxSearchBytes {
		return errEnough
	}
	f.out.WriteString(text)
	return nil
}

// searchFile reads the file once, up to where it turns out to be no text. Lines
// longer than the buffer are matched by their pieces.
func (f *finder) searchFile(ctx context.Context, name string) error {
	file, _, err := openRegular(f.root, name)
	if err != nil {
		return nil // gone, or not to be read
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 64<<10)
	if head, _ := r.Peek(sniffBytes); isBinary(head) {
		return nil
	}
	var before [][]byte // the last lines, for context
	after := 0
	for number := 1; ; {
		line, err := r.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) || bytes.IndexByte(line, 0) >= 0 {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if len(line) > 0 {
			switch {
			case f.line.Match(bytes.TrimRight(line, "\r\n")):
				for i, b := range before {
					f.out.WriteString(lineText(name, number-len(before)+i, '-', b))
				}
				before = before[:0]
				if err := f.report(lineText(name, number, ':', line)); err != nil {
					return err
				}
				after = f.around
			case after > 0:
				f.out.WriteString(lineText(name, number, '-', line))
				after--
			case f.around > 0:
				if len(before) == f.around {
					before = append(before[:0], before[1:]...)
				}
				before = append(before, bytes.Clone(line[:min(len(line), maxMatchBytes)]))
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil:
			number++
		}
	}
}

func lineText(name string, number int, mark rune, line []byte) string {
	text := strings.TrimRight(string(line), "\r\n")
	if len(text) > maxMatchBytes {
		text = text[:maxMatchBytes] + "…"
	}
	return fmt.Sprintf("%s%c%d%c %s\n", shownName(name), mark, number, mark, strings.ToValidUTF8(text, "\uFFFD"))
}
