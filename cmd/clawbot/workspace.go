package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const workspaceReadme = `# The workspace

This folder is what clawbot's file tools may read and write. Put files here that
you want to talk about; ask the bot to look at them, to change them or to make
new ones.

Nothing outside of this folder is within its reach. This file is written once
and never again: change it or remove it as you like.
`

// makeWorkspace makes the folder for the file tools. A folder that is there
// stays as it is, with or without a README.md.
func makeWorkspace(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("tools.workspace: %s is no folder; name another, or move it away", dir)
		}
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("tools.workspace: %w; name a folder that clawbot may use", err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("tools.workspace: %w; name a folder that clawbot may make", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "README.md"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("tools.workspace: %w", err)
	}
	_, err = f.WriteString(workspaceReadme)
	return errors.Join(err, f.Close())
}
