package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// identities are the directories of a command as they were when it was
// prepared.
type identities struct {
	workspace, dir string
	is, dirIs      fs.FileInfo
}

// identify looks at the command's directories, which must not be reached
// through a link in their last place.
func identify(c *Command) (*identities, error) {
	i := &identities{workspace: c.Workspace, dir: c.Dir, is: c.WorkspaceIs, dirIs: c.DirIs}
	if !filepath.IsAbs(c.Workspace) || filepath.Clean(c.Workspace) != c.Workspace || c.Workspace == "/" {
		return nil, fmt.Errorf("sandbox: the workspace %q is no clean absolute path", c.Workspace)
	}
	if c.Dir != c.Workspace && !strings.HasPrefix(filepath.Clean(c.Dir), c.Workspace+"/") {
		return nil, fmt.Errorf("sandbox: the directory %q is outside of the workspace", c.Dir)
	}
	info, err := os.Lstat(c.Workspace)
	switch {
	case err != nil:
		return nil, fmt.Errorf("sandbox: the workspace: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("sandbox: the workspace %s is no directory", c.Workspace)
	}
	if i.is == nil {
		i.is = info
	}
	return i, nil
}

// verify looks at the directories again, as a process whose root is the given
// one sees them.
func (i *identities) verify(root string) error {
	if err := same(root+i.workspace, i.is); err != nil {
		return fmt.Errorf("the workspace %w", err)
	}
	if i.dirIs == nil {
		return nil
	}
	// Inside the root, links may lead anywhere in it, so they are not followed.
	if err := same(root+i.dir, i.dirIs); err != nil {
		return fmt.Errorf("the directory %w", err)
	}
	return nil
}

func same(path string, want fs.FileInfo) error {
	got, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("can't be seen from inside: %w", err)
	}
	// A link may have got the number of the directory that it took the place of.
	if !got.IsDir() || !os.SameFile(got, want) {
		return errors.New("was replaced by another in the meantime: start again")
	}
	return nil
}
