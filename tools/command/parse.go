package command

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"clawbot/tools/sandbox"
)

// maxText bounds a command line, in bytes.
const maxText = 16 << 10

// Line is a command line that was read.
type Line struct {
	// Text is the line as it was written, white space around it removed.
	Text string
	// Dir is where a leading "cd DIR &&" leads; empty if there is none.
	Dir       string
	Pipelines []Pipeline
	// Opaque says why the line is no list of literal commands; then Pipelines
	// is empty. The empty string: it is one.
	Opaque string
	// Commands are the words of every command anywhere in the line, nested
	// ones included, as far as they are literal; a word that is not is empty.
	Commands [][]string
}

// Pipeline is commands that read each other's output.
type Pipeline struct {
	When     sandbox.Join
	Negate   bool
	Commands []Words
}

// Words are a command's words. Globs lists the indexes of those that are
// patterns for file names.
type Words struct {
	Words []string
	Globs map[int]bool
}

// opaque is why a line can't be taken apart.
type opaque string

func (o opaque) Error() string { return string(o) }

// Parse reads a command line. An error is what no approval would mend: it is
// empty, too long, or no shell could read it.
func Parse(text string) (*Line, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return nil, errors.New("the command is empty")
	case len(text) > maxText:
		return nil, fmt.Errorf("the command has %d bytes, more than %d: write a script with write_file and run that", len(text), maxText)
	}
	line := &Line{Text: text}
	if why := invisible(text); why != "" {
		line.Opaque = why
		line.Commands = roughCommands(text)
		return line, nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), "")
	if err != nil {
		// What a POSIX shell can't read may be meant for another.
		file, berr := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
		if berr != nil {
			return nil, fmt.Errorf("the command can't be read: %s; check its quotes and operators", strings.TrimPrefix(err.Error(), "1:"))
		}
		line.Commands = literalCommands(file)
		line.Opaque = "it uses what only some shells know"
		return line, nil
	}
	if len(file.Stmts) == 0 {
		return nil, errors.New("the command is only a remark")
	}
	line.Commands = literalCommands(file)
	if strings.ContainsAny(text, "\n\r") {
		line.Opaque = "it has several lines"
		return line, nil
	}
	if err := line.take(file); err != nil {
		line.Pipelines, line.Dir = nil, ""
		line.Opaque = err.Error()
	}
	return line, nil
}

// invisible says which character of the text would make it read otherwise than
// it is.
func invisible(text string) string {
	if !utf8.ValidString(text) {
		return "it is not valid UTF-8"
	}
	for _, r := range text {
		if r != '\n' && r != '\r' && r != '\t' && r != ' ' && !visible(r) {
			return fmt.Sprintf("it holds the invisible character %U", r)
		}
	}
	return ""
}

// blank characters count as printable and show nothing: fillers, selectors of
// variants, the empty Braille pattern.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x034f, 0x034f, 1}, {0x115f, 0x1160, 1}, {0x17b4, 0x17b5, 1}, {0x180b, 0x180f, 1}, {0x2800, 0x2800, 1}, {0x3164, 0x3164, 1},
		{0xfe00, 0xfe0f, 1}, {0xffa0, 0xffa0, 1},
	},
	R32: []unicode.Range32{{0xe0100, 0xe01ef, 1}},
}

func visible(r rune) bool { return unicode.IsPrint(r) && !unicode.Is(blank, r) }

// take builds the pipelines.
func (l *Line) take(file *syntax.File) error {
	for i, stmt := range file.Stmts {
		if err := l.list(stmt, sandbox.Always); err != nil {
			return err
		}
		if i == 0 && len(l.Pipelines) > 1 && l.cd(l.Pipelines) {
			l.Pipelines = l.Pipelines[1:]
			l.Pipelines[0].When = sandbox.Always
		}
	}
	return nil
}

// cd notes the directory of a leading "cd DIR &&".
func (l *Line) cd(list []Pipeline) bool {
	first := list[0]
	if first.Negate || len(first.Commands) != 1 || list[1].When != sandbox.OnSuccess {
		return false
	}
	words := first.Commands[0]
	if len(words.Words) != 2 || words.Words[0] != "cd" || words.Words[1] == "-" || words.Words[1] == "" || len(words.Globs) > 0 {
		return false
	}
	// Further joins go by the cd, too, which has not failed if they are run.
	for _, p := range list[1:] {
		if p.When == sandbox.OnFailure {
			return false
		}
	}
	l.Dir = words.Words[1]
	return true
}

// list adds a statement: a pipeline, or several joined by && and ||.
func (l *Line) list(stmt *syntax.Stmt, when sandbox.Join) error {
	if err := plain(stmt); err != nil {
		return err
	}
	binary, ok := stmt.Cmd.(*syntax.BinaryCmd)
	if !ok || binary.Op == syntax.Pipe || stmt.Negated {
		p := Pipeline{When: when, Negate: stmt.Negated}
		if err := p.add(stmt); err != nil {
			return err
		}
		l.Pipelines = append(l.Pipelines, p)
		return nil
	}
	join := sandbox.OnSuccess
	switch binary.Op {
	case syntax.AndStmt:
	case syntax.OrStmt:
		join = sandbox.OnFailure
	default:
		return opaque("it uses the operator " + binary.Op.String())
	}
	if _, nested := binary.Y.Cmd.(*syntax.BinaryCmd); nested && binary.Y.Cmd.(*syntax.BinaryCmd).Op != syntax.Pipe {
		return opaque("its && and || are nested")
	}
	if err := l.list(binary.X, when); err != nil {
		return err
	}
	return l.list(binary.Y, join)
}

// plain refuses what surrounds a command.
func plain(stmt *syntax.Stmt) error {
	switch {
	case stmt.Background || stmt.Coprocess:
		return opaque("it leaves something in the background (use process for that)")
	case len(stmt.Redirs) > 0:
		return opaque("it redirects input or output")
	}
	return nil
}

// add adds the commands of a pipeline.
func (p *Pipeline) add(stmt *syntax.Stmt) error {
	if err := plain(stmt); err != nil {
		return err
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.BinaryCmd:
		if cmd.Op != syntax.Pipe || cmd.X.Negated || cmd.Y.Negated {
			return opaque("its operators are nested")
		}
		if err := p.add(cmd.X); err != nil {
			return err
		}
		return p.add(cmd.Y)
	case *syntax.CallExpr:
		if len(cmd.Assigns) > 0 {
			return opaque("it sets variables")
		}
		words := Words{}
		for i, w := range cmd.Args {
			text, glob, err := literal(w)
			if err != nil {
				return err
			}
			if glob {
				if words.Globs == nil {
					words.Globs = map[int]bool{}
				}
				words.Globs[i] = true
			}
			words.Words = append(words.Words, text)
		}
		if len(words.Words) == 0 || words.Words[0] == "" || words.Globs[0] {
			return opaque("the name of its program is not literal")
		}
		p.Commands = append(p.Commands, words)
		return nil
	default:
		return opaque("it is a script, not a command")
	}
}

// literal returns the text of a word without expansions. A glob keeps its
// quoted characters behind backslashes.
func literal(w *syntax.Word) (text string, glob bool, err error) {
	var plainText, pattern strings.Builder
	quoted := func(s string) {
		plainText.WriteString(s)
		for _, r := range s {
			if strings.ContainsRune(`*?[]\`, r) {
				pattern.WriteByte('\\')
			}
			pattern.WriteRune(r)
		}
	}
	for i, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if err := unquoted(part.Value, i == 0, quoted, func(s string) {
				plainText.WriteString(s)
				pattern.WriteString(s)
				glob = glob || strings.ContainsAny(s, "*?[")
			}); err != nil {
				return "", false, err
			}
		case *syntax.SglQuoted:
			if part.Dollar {
				return "", false, opaque("it uses $'…', which shells read differently")
			}
			quoted(part.Value)
		case *syntax.DblQuoted:
			if part.Dollar {
				return "", false, opaque(`it uses $"…"`)
			}
			for _, inner := range part.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", false, expansion(inner)
				}
				quoted(unescape(lit.Value))
			}
		default:
			return "", false, expansion(part)
		}
	}
	if glob {
		return pattern.String(), true, nil
	}
	return plainText.String(), false, nil
}

func expansion(part syntax.WordPart) error {
	switch part.(type) {
	case *syntax.ParamExp:
		return opaque("it uses a variable")
	case *syntax.CmdSubst, *syntax.ProcSubst:
		return opaque("it uses the output of another command")
	case *syntax.ArithmExp:
		return opaque("it calculates")
	}
	return opaque("one of its words is not literal")
}

// unquoted reads what stands outside of quotes.
func unquoted(value string, first bool, quoted, bare func(string)) error {
	if first && strings.HasPrefix(value, "~") {
		return opaque("it uses ~ (write the path out)")
	}
	if strings.Contains(value, "{") && (strings.Contains(value, ",") || strings.Contains(value, "..")) {
		return opaque("it uses {…}, which shells read differently")
	}
	for i := 0; i < len(value); i++ {
		switch c := value[i]; c {
		case '$', '`':
			return opaque("it uses an expansion")
		case '\\':
			if i++; i < len(value) {
				_, n := utf8.DecodeRuneInString(value[i:])
				quoted(value[i : i+n])
				i += n - 1
			}
		default:
			bare(value[i : i+1])
		}
	}
	return nil
}

// unescape reads what stands inside double quotes.
func unescape(value string) string {
	if !strings.Contains(value, `\`) {
		return value
	}
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' && i+1 < len(value) && strings.IndexByte("$`\"\\", value[i+1]) >= 0 {
			i++
		}
		out.WriteByte(value[i])
	}
	return out.String()
}

// literalCommands lists the commands anywhere in a script.
func literalCommands(file *syntax.File) [][]string {
	var all [][]string
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		words := make([]string, len(call.Args))
		for i, w := range call.Args {
			if text, glob, err := literal(w); err == nil && !glob {
				words[i] = text
			}
		}
		all = append(all, words)
		return true
	})
	return all
}

// roughCommands takes every word of a text that no shell reads for a command.
func roughCommands(text string) [][]string {
	var all [][]string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./+", r)
	}) {
		all = append(all, []string{word})
	}
	return all
}

// Escaped is the text as it is shown to a person: what would be invisible, or
// would make the rest read otherwise, stands as an escape.
func Escaped(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&out, `\x%02x`, text[i])
		case r == '\n' || r == '\t' || r == ' ' || visible(r):
			out.WriteString(text[i : i+n])
		case r < 0x80:
			fmt.Fprintf(&out, `\x%02x`, r)
		case r > 0xffff:
			fmt.Fprintf(&out, `\U%08x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		i += n
	}
	return out.String()
}
