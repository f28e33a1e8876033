package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"clawbot/agentcore"
)

// Manifest is a plugin.toml.
type Manifest struct {
	// Name begins its tools' names: letters, digits, - and single _ between
	// them, at most 30.
	Name string `toml:"name"`
	// Env lists variables of the bot's environment that it gets, beside PATH,
	// HOME, LANG and TMPDIR.
	Env   []string `toml:"env"`
	Tools []Tool   `toml:"tools"`
	Hooks Hooks    `toml:"hooks"`

	dir string
}

// Tool is one tool of a plugin.
type Tool struct {
	Name        string `toml:"name"`
	Title       string `toml:"title"`
	Description string `toml:"description"`
	// Schema is the JSON Schema of the arguments, an object; SchemaFile has it
	// in a file beside the manifest.
	Schema     string `toml:"schema"`
	SchemaFile string `toml:"schema_file"`
	// Command is a program with its arguments; one that begins with ./ lies in
	// the plugin's directory.
	Command    []string `toml:"command"`
	Mode       string   `toml:"mode"` // sequential (default) or parallel
	Idempotent bool     `toml:"idempotent"`
	Timeout    string   `toml:"timeout"` // default 60s

	schema  json.RawMessage
	timeout time.Duration
}

// Hooks are the programs that see every call, and every result.
type Hooks struct {
	ToolCall   []string `toml:"tool_call"`
	ToolResult []string `toml:"tool_result"`
}

const (
	toolTimeout = time.Minute
	hookTimeout = 5 * time.Second
	manifest    = "plugin.toml"
	maxPlugin   = 30 // characters of a name; an error names it, too
)

var (
	// A name with two underscores, or one at its end, could make a tool's name
	// that is another plugin's.
	validPlugin = regexp.MustCompile(`^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*$`)
	validTool   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)
)

// Load reads the plugins in the directories: each has a directory of its own in
// one of them. A directory that is missing has none. The error tells of every
// plugin that can't be used.
func Load(dirs []string) ([]*Manifest, error) {
	var found []*Manifest
	var failed []error
	seen := map[string]string{}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
		for _, e := range entries {
			file := filepath.Join(dir, e.Name(), manifest)
			if _, err := os.Stat(file); err != nil {
				continue // no plugin
			}
			m, err := read(file)
			if err == nil && seen[m.Name] != "" {
				err = fmt.Errorf("%s has the same name, %q", seen[m.Name], m.Name)
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", file, err))
				continue
			}
			seen[m.Name] = file
			found = append(found, m)
		}
	}
	return found, errors.Join(failed...)
}

func read(file string) (*Manifest, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var m Manifest
	if err := toml.NewDecoder(strings.NewReader(string(data))).DisallowUnknownFields().Decode(&m); err != nil {
		if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok {
			return nil, fmt.Errorf("unknown keys:\n%s", strict.String())
		}
		return nil, err
	}
	if m.dir, err = filepath.Abs(filepath.Dir(file)); err != nil {
		return nil, err
	}
	return &m, m.check()
}

func (m *Manifest) check() error {
	if !validPlugin.MatchString(m.Name) || len(m.Name) > maxPlugin {
		return fmt.Errorf("name = %q: want 1 to 30 letters, digits, - or single _ between them", m.Name)
	}
	if len(m.Tools) == 0 && len(m.Hooks.ToolCall) == 0 && len(m.Hooks.ToolResult) == 0 {
		return errors.New("it has neither tools nor hooks")
	}
	for i := range m.Tools {
		t := &m.Tools[i]
		if slices.ContainsFunc(m.Tools[:i], func(o Tool) bool { return o.Name == t.Name }) {
			return fmt.Errorf("tool %q is there twice", t.Name)
		}
		if err := m.checkTool(t); err != nil {
			return fmt.Errorf("tool %q: %w", t.Name, err)
		}
	}
	return nil
}

func (m *Manifest) checkTool(t *Tool) (err error) {
	switch {
	case !validTool.MatchString(t.Name):
		return errors.New("a name has 1 to 32 letters, digits, _ or -")
	case strings.TrimSpace(t.Description) == "":
		return errors.New("it has no description for the model")
	case len(t.Command) == 0 || t.Command[0] == "":
		return errors.New("it has no command")
	case t.Mode != "" && t.Mode != "sequential" && t.Mode != "parallel":
		return fmt.Errorf("mode = %q is neither sequential nor parallel", t.Mode)
	case t.Schema != "" && t.SchemaFile != "":
		return errors.New("it has both a schema and a schema_file")
	}
	t.timeout = toolTimeout
	if t.Timeout != "" {
		if t.timeout, err = time.ParseDuration(t.Timeout); err != nil || t.timeout <= 0 {
			return fmt.Errorf("timeout = %q is no duration, such as \"30s\"", t.Timeout)
		}
	}
	t.schema = json.RawMessage(t.Schema)
	if t.SchemaFile != "" {
		if t.schema, err = os.ReadFile(filepath.Join(m.dir, t.SchemaFile)); err != nil {
			return err
		}
	}
	if len(t.schema) == 0 {
		t.schema = json.RawMessage(`{"type":"object"}`)
	}
	var shape struct{ Type any }
	if err := json.Unmarshal(t.schema, &shape); err != nil || shape.Type != "object" {
		return errors.New("its schema is not one of an object")
	}
	return agentcore.CheckSchema(t.schema)
}
