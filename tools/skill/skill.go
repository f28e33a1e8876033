package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Skill is one SKILL.md.
type Skill struct {
	Name        string
	Description string
	// Tools are those that it needs, by name.
	Tools []string

	dir  string
	body string
}

const (
	skillFile = "SKILL.md"
	// maxFile bounds a file of a skill, in bytes.
	maxFile        = 256 << 10
	maxDescription = 1 << 10
)

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Load reads the skills in the directories; one that is missing has none. Of two
// with the same name the first counts. The error tells of every skill that can't
// be used; the others are returned beside it.
func Load(dirs []string) ([]*Skill, error) {
	var found []*Skill
	var failed []error
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
		for _, e := range entries {
			file := filepath.Join(dir, e.Name(), skillFile)
			if _, err := os.Stat(file); err != nil {
				continue // no skill
			}
			s, err := read(file, e.Name())
			if err == nil && slices.ContainsFunc(found, func(o *Skill) bool { return o.Name == s.Name }) {
				err = fmt.Errorf("another skill is named %q", s.Name)
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", file, err))
				continue
			}
			found = append(found, s)
		}
	}
	return found, errors.Join(failed...)
}

func read(file, dirName string) (*Skill, error) {
	data, err := os.ReadFile(file)
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxFile || !utf8.Valid(data):
		return nil, fmt.Errorf("it is no text of at most %d bytes", maxFile)
	}
	fields, body, err := frontMatter(string(data))
	if err != nil {
		return nil, err
	}
	s := &Skill{Name: dirName, dir: filepath.Dir(file), body: body}
	if name := text(fields["name"]); name != "" {
		s.Name = name
	}
	s.Description = strings.Join(strings.Fields(text(fields["description"])), " ")
	for _, key := range []string{"tools", "allowed-tools"} {
		s.Tools = append(s.Tools, fields[key].list...)
	}
	switch {
	case !validName.MatchString(s.Name):
		return nil, fmt.Errorf("name %q: want 1 to 64 letters, digits, _ or -", s.Name)
	case s.Description == "":
		return nil, errors.New("its front matter has no description, by which it would be chosen")
	case len(s.Description) > maxDescription:
		return nil, fmt.Errorf("its description has more than %d bytes", maxDescription)
	case strings.TrimSpace(body) == "":
		return nil, errors.New("it says nothing")
	}
	return s, nil
}

// Missing returns the tools that the skill needs and that are not there.
func (s *Skill) Missing(has func(tool string) bool) []string {
	return slices.DeleteFunc(slices.Clone(s.Tools), has)
}

// Read returns the skill's text, or that of another file in its directory.
func (s *Skill) Read(file string) (string, error) {
	if file == "" || file == skillFile {
		return s.body + s.files(), nil
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return "", fmt.Errorf("the skill %s is gone", s.Name)
	}
	defer root.Close()
	info, err := root.Stat(file)
	switch {
	case err != nil:
		return "", fmt.Errorf("the skill %s has no file %q", s.Name, file)
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return "", fmt.Errorf("%s is no text of at most %d bytes", file, maxFile)
	}
	data, err := root.ReadFile(file)
	if err != nil || !utf8.Valid(data) {
		return "", fmt.Errorf("%s can't be read as text", file)
	}
	return string(data), nil
}

// files names what else is in the directory.
func (s *Skill) files() string {
	var names []string
	_ = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error { // what can't be seen is not named
		if err == nil && d.Type().IsRegular() && len(names) < 100 {
			if name, err := filepath.Rel(s.dir, path); err == nil && name != skillFile {
				names = append(names, name)
			}
		}
		return nil
	})
	if len(names) == 0 {
		return ""
	}
	return "\n\n[files of this skill, for `file`: " + strings.Join(names, ", ") + "]"
}
