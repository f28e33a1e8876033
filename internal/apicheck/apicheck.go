// Package apicheck lists what packages export, a line for each thing that a
// program can depend on, so that a change of it is seen where it is made.
package apicheck

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// Lines lists the exported API of the package in dir, sorted. Names of
// parameters are left out: they break nobody.
func Lines(dir string) ([]string, error) {
	pkg, err := build.Default.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	l := lister{files: token.NewFileSet()}
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(l.files, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			l.declaration(decl)
		}
	}
	slices.Sort(l.lines)
	return slices.Compact(l.lines), nil
}

type lister struct {
	files *token.FileSet
	lines []string
}

func (l *lister) add(format string, args ...any) {
	l.lines = append(l.lines, strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}

func (l *lister) declaration(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		l.function(d)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					l.typ(s)
				}
			case *ast.ValueSpec:
				l.values(d.Tok, s)
			}
		}
	}
}

func (l *lister) function(d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	if d.Recv == nil {
		l.add("func %s%s%s", d.Name.Name, l.typeParams(d.Type.TypeParams), l.signature(d.Type))
		return
	}
	receiver := l.text(d.Recv.List[0].Type)
	if base, _, _ := strings.Cut(strings.TrimLeft(receiver, "*"), "["); ast.IsExported(base) {
		l.add("method (%s) %s%s", receiver, d.Name.Name, l.signature(d.Type))
	}
}

func (l *lister) values(kind token.Token, s *ast.ValueSpec) {
	for _, name := range s.Names {
		if !name.IsExported() {
			continue
		}
		typ := ""
		if s.Type != nil {
			typ = l.text(s.Type)
		}
		l.add("%s %s %s", kind, name.Name, typ)
	}
}

func (l *lister) typ(s *ast.TypeSpec) {
	head := "type " + s.Name.Name + l.typeParams(s.TypeParams)
	switch t := s.Type.(type) {
	case *ast.StructType:
		l.add("%s struct", head)
		for _, f := range t.Fields.List {
			l.field(head+" struct,", f)
		}
	case *ast.InterfaceType:
		l.add("%s interface", head)
		for _, m := range t.Methods.List {
			if f, ok := m.Type.(*ast.FuncType); ok && len(m.Names) == 1 {
				l.add("%s interface, %s%s", head, m.Names[0].Name, l.signature(f))
			} else {
				l.add("%s interface, %s", head, l.text(m.Type))
			}
		}
	default:
		alias := ""
		if s.Assign.IsValid() {
			alias = "="
		}
		l.add("%s %s %s", head, alias, l.text(s.Type))
	}
}

func (l *lister) field(head string, f *ast.Field) {
	if len(f.Names) == 0 { // embedded
		l.add("%s embedded %s", head, l.text(f.Type))
	}
	for _, name := range f.Names {
		if name.IsExported() {
			l.add("%s %s %s", head, name.Name, l.text(f.Type))
		}
	}
}

func (l *lister) signature(f *ast.FuncType) string {
	out := "(" + l.types(f.Params) + ")"
	if f.Results != nil {
		out += " (" + l.types(f.Results) + ")"
	}
	return out
}

func (l *lister) types(list *ast.FieldList) string {
	var all []string
	for _, f := range list.List {
		for range max(1, len(f.Names)) {
			all = append(all, l.text(f.Type))
		}
	}
	return strings.Join(all, ", ")
}

func (l *lister) typeParams(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	return "[" + l.types(list) + "]"
}

func (l *lister) text(n ast.Node) string {
	var out bytes.Buffer
	// Printing to memory does not fail.
	_ = printer.Fprint(&out, l.files, n)
	return out.String()
}
