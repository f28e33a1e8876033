package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// maxSecretFile bounds what ${file:PATH} reads, in bytes.
const maxSecretFile = 64 << 10

// reference is $${ (a literal ${), ${NAME} or ${file:PATH}.
var reference = regexp.MustCompile(`\$?\$\{([^}]*)\}`)

var validEnv = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expander replaces references in texts.
type expander struct {
	dir    string // relative paths of ${file:…} begin here
	lookup func(name string) (string, bool)
	dotenv string // the path of the .env file, for remedies
	// resolved holds what references stood for, to be kept out of messages.
	resolved []string
}

// conceal puts references back in the place of what they stood for.
func (e *expander) conceal(message string) string {
	if len(e.resolved) == 0 {
		return message
	}
	return strings.NewReplacer(e.resolved...).Replace(message)
}

// expand returns text with its references replaced, and whether there were any.
// The error names the variable or file that is missing, and the remedy.
func (e *expander) expand(text string) (out string, expanded bool, err error) {
	if !strings.Contains(text, "${") {
		return text, false, nil
	}
	var errs []error
	out = reference.ReplaceAllStringFunc(text, func(ref string) string {
		if strings.HasPrefix(ref, "$$") {
			return ref[1:]
		}
		expanded = true
		value, err := e.resolve(ref[2 : len(ref)-1])
		if err != nil {
			errs = append(errs, err)
		} else if len(value) > 3 {
			e.resolved = append(e.resolved, value, ref)
		}
		return value
	})
	return out, expanded, errors.Join(errs...)
}

func (e *expander) resolve(name string) (string, error) {
	if path, ok := strings.CutPrefix(name, "file:"); ok {
		return e.file(path)
	}
	if !validEnv.MatchString(name) {
		return "", fmt.Errorf("${%s} is no reference; write ${NAME} for a variable, ${file:/path} for a file, $${ for a plain ${", name)
	}
	value, ok := e.lookup(name)
	switch {
	case !ok:
		return "", fmt.Errorf("the environment variable %s is not set; %s", name, e.remedy(name))
	case strings.TrimSpace(value) == "":
		return "", fmt.Errorf("the environment variable %s is empty; %s", name, e.remedy(name))
	}
	return value, nil
}

func (e *expander) remedy(name string) string {
	return fmt.Sprintf("set it, or write %s=… into %s", name, e.dotenv)
}

func (e *expander) file(path string) (string, error) {
	if path == "" {
		return "", errors.New("${file:} names no file; write ${file:/run/secrets/name}")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.dir, path)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("the file %s does not exist; create it or mend the path", path)
	case err != nil:
		return "", fmt.Errorf("the file %s can't be read: %w", path, plain(err))
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is no regular file; name the file that holds the value", path)
	case info.Size() > maxSecretFile:
		return "", fmt.Errorf("the file %s is larger than 64 KiB, too large for a setting", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the file %s can't be read: %w; let the user that runs clawbot read it", path, plain(err))
	}
	value := strings.TrimRight(string(data), "\r\n")
	if strings.TrimSpace(value) == "" {
		return "", fmt.Errorf("the file %s is empty; write the value into it", path)
	}
	return value, nil
}

// plain takes the operation and path, which the caller names itself, off a file
// error.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
