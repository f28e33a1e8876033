package sqlite

import (
	"errors"
	"fmt"

	sqlite3 "modernc.org/sqlite"
)

// Primary result codes of SQLite, https://sqlite.org/rescode.html.
const (
	codePerm     = 3
	codeBusy     = 5
	codeReadOnly = 8
	codeIOErr    = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeNotADB   = 26
)

// explain adds what to do to an error of SQLite's.
func explain(path string, err error) error {
	var se *sqlite3.Error
	if !errors.As(err, &se) {
		return err
	}
	var remedy string
	switch se.Code() & 0xff {
	case codeFull:
		remedy = "the disk is full: free space on it, or move the database and set store.path"
	case codeReadOnly, codePerm, codeCantOpen:
		remedy = "clawbot must be able to write the file and its folder: change their owner or mode, or set store.path"
	case codeNotADB:
		remedy = "the file is no database: set store.path to another file, or restore a backup"
	case codeCorrupt:
		remedy = "the file is damaged: stop clawbot and restore a backup, or keep what can be read with `sqlite3 FILE .recover`"
	case codeIOErr:
		remedy = "the disk failed: check its health and the kernel's log"
	case codeBusy:
		remedy = "another program holds the database locked: close it"
	default:
		return fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("%s: %w: %s", path, err, remedy)
}
