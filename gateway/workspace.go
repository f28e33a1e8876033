package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Workspace is the folder that tools work in.
type Workspace struct {
	// Root is an absolute path; empty means that there is no workspace.
	Root string
	// Scope "auto" (default) gives the root to owners in a direct conversation
	// and every other conversation a folder of its own in it; "shared" gives
	// everybody the root.
	Scope string
}

// conversations holds the folders of the conversations that don't use the root.
const conversations = "conversations"

// open opens what the conversation's tools may touch; the caller closes.
func (w Workspace) open(session, role string, direct bool) (*os.Root, error) {
	if w.Root == "" {
		return nil, nil
	}
	dir := w.dir(session, role, direct)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	return os.OpenRoot(dir)
}

// dir is the folder that the conversation's tools may touch.
func (w Workspace) dir(session, role string, direct bool) string {
	if w.Scope == "shared" || role == RoleOwner && direct {
		return w.Root
	}
	// A session id holds no plus sign, so the name is unique; the prefix keeps
	// it from being "." or "..".
	return filepath.Join(w.Root, conversations, "c-"+strings.ReplaceAll(session, ":", "+"))
}
