// Package pdftext takes the text out of PDF files, so that a model which can't
// read such a file is shown at least what it says.
//
// Files come from strangers. Everything that a file can make grow is bounded:
// decoded bytes, objects, operations, depth and the text itself, and the
// caller's context ends what takes long. A damaged file gives what can be found
// in it: cross-reference tables are not trusted but the file is scanned for its
// objects, the last of each number counting. Nothing is executed, drawn or
// fetched.
//
// What is not done: recognising letters in pictures, columns (text comes in the
// order in which it is drawn), and passwords.
//
//	file.go, object.go, filter.go, crypt.go   objects (ISO 32000-1, 7)
//	page.go, content.go, layout.go            pages and what is drawn on them
//	font.go, cmap.go, encoding.go             codes to characters (9.6–9.10)
package pdftext
