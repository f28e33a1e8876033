package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// maxFile bounds a configuration file, in bytes.
const maxFile = 4 << 20

// Loader finds and reads a configuration. The zero value looks in the usual
// places and in the process's environment.
type Loader struct {
	// Path is the file to read; empty to look for one.
	Path string
	// Env looks a variable up; default os.LookupEnv.
	Env func(name string) (string, bool)
	// WorkDir is where ./clawbot.toml is looked for; default the process's.
	WorkDir string

	// Formats, Drivers and Channels are the wire formats, store drivers and
	// channels that the program has. Anything else that is configured is a
	// problem; when empty, all that the configuration knows are taken.
	Formats, Drivers, Channels []string
	// Absent are settings that the program doesn't act on.
	Absent []Absent

	sections map[string]any
}

// Origin says where a configuration came from.
type Origin struct {
	// File is the file that was read, as it was named; empty when there is
	// none.
	File string
	// Dir is the absolute folder that relative paths begin in: the file's, or
	// the data folder.
	Dir string
	// Warnings are doubts that don't keep the bot from running.
	Warnings []Problem

	env func(name string) (string, bool)
	// places are where the keys of File stand, references the texts in it that
	// name a variable or file.
	places     map[string]place
	references map[string]string
}

// Section registers a table for a part of the program that this package doesn't
// know: the table [name] is decoded into target, a pointer to a struct with
// toml tags that holds the defaults. A target with a Validate() error method is
// asked after decoding. It is called before Load.
func (l *Loader) Section(name string, target any) error {
	v := reflect.ValueOf(target)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("config section %s: want a pointer to a struct, got %T", name, target)
	}
	taken := slices.ContainsFunc(fieldsOf(reflect.TypeFor[Config]()), func(f field) bool { return f.name == name })
	if _, twice := l.sections[name]; taken || twice {
		return fmt.Errorf("config section %s: the name is taken", name)
	}
	if l.sections == nil {
		l.sections = map[string]any{}
	}
	l.sections[name] = target
	return nil
}

// Load returns the configuration, complete but for the model where none is
// configured (see [Config.Detect]). An error that concerns the configuration is
// an *[Error] with everything that is wrong.
func (l *Loader) Load() (*Config, error) {
	file, err := l.find()
	if err != nil {
		return nil, err
	}
	dir, err := l.baseDir(file)
	if err != nil {
		return nil, err
	}
	var data []byte
	if file != "" {
		if data, err = readFile(file); err != nil {
			return nil, err
		}
	}
	return l.decode(file, dir, data)
}

func (l *Loader) decode(file, dir string, data []byte) (*Config, error) {
	r := &report{}
	dotenv := filepath.Join(dir, ".env")
	vars := readDotenv(dotenv, r)
	lookup := func(name string) (string, bool) {
		value, ok := l.env(name)
		if ok && strings.TrimSpace(value) != "" {
			return value, true
		}
		if value, ok := vars[name]; ok {
			return value, true
		}
		return value, ok
	}
	cfg := Default()
	cfg.Origin = Origin{File: file, Dir: dir, env: lookup}
	doc := parse(file, data, r)
	if doc == nil {
		return nil, r.err()
	}
	d := &decoder{
		doc: doc, report: r, missing: map[string]Problem{}, root: reflect.TypeFor[Config](),
		expand: &expander{dir: dir, lookup: lookup, dotenv: dotenv},
	}
	l.decodeSections(d)
	d.decode(setting{raw: doc.values}, reflect.ValueOf(cfg).Elem())
	c := &checker{decoder: d, cfg: cfg, loader: l, lookup: lookup}
	c.complete()
	absolute(reflect.ValueOf(cfg).Elem(), "", dir)
	c.check()
	c.readable()
	for i := range r.problems {
		r.problems[i].Message = d.expand.conceal(r.problems[i].Message)
	}
	order(r.warnings)
	cfg.Origin.Warnings = r.warnings
	cfg.Origin.places, cfg.Origin.references = doc.places, map[string]string{}
	references(nil, doc.values, cfg.Origin.references)
	if err := r.err(); err != nil {
		return nil, err
	}
	return cfg, nil
}

func (l *Loader) decodeSections(d *decoder) {
	for name, target := range l.sections {
		raw, ok := d.doc.values[name]
		delete(d.doc.values, name)
		before := len(d.report.problems)
		if ok {
			d.decode(setting{path: []string{name}, raw: raw}, reflect.ValueOf(target).Elem())
		}
		if v, ok := target.(interface{ Validate() error }); ok && len(d.report.problems) == before {
			if err := v.Validate(); err != nil {
				d.problem([]string{name}, "%s", err)
			}
		}
	}
}

func (l *Loader) env(name string) (string, bool) {
	if l.Env != nil {
		return l.Env(name)
	}
	return os.LookupEnv(name)
}

// find returns the file to read, empty if there is none.
func (l *Loader) find() (string, error) {
	if l.Path != "" {
		return l.Path, mustExist(l.Path, "--config")
	}
	if path, _ := l.env("CLAWBOT_CONFIG"); path != "" {
		return path, mustExist(path, "CLAWBOT_CONFIG")
	}
	candidates := []string{filepath.Join(l.WorkDir, "clawbot.toml")}
	if dir := l.userDir("XDG_CONFIG_HOME", ".config"); dir != "" {
		candidates = append(candidates, filepath.Join(dir, "clawbot", "config.toml"))
	}
	for _, path := range candidates {
		_, err := os.Stat(path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", &Error{[]Problem{{File: path, Message: fmt.Sprintf("can't be read: %v", plain(err))}}}
		}
	}
	return "", nil
}

func mustExist(path, source string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return &Error{[]Problem{{File: path,
			Message: fmt.Sprintf("there is no such file (named by %s); write one with: clawbot config init --config %s", source, path)}}}
	}
	return nil
}

// userDir returns a folder of the XDG base directories, empty if there is none.
func (l *Loader) userDir(env, below string) string {
	// The specification says to ignore relative values.
	if dir, _ := l.env(env); filepath.IsAbs(dir) {
		return dir
	}
	if home, _ := l.env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, below)
	}
	return ""
}

// baseDir returns the absolute folder for relative paths.
func (l *Loader) baseDir(file string) (string, error) {
	if file != "" {
		path, err := filepath.Abs(file)
		if err != nil {
			return "", fmt.Errorf("find the folder of %s: %w", file, err)
		}
		return filepath.Dir(path), nil
	}
	if dir := l.userDir("XDG_DATA_HOME", filepath.Join(".local", "share")); dir != "" {
		return filepath.Join(dir, "clawbot"), nil
	}
	return "", errors.New("there is no folder for data: set HOME or XDG_DATA_HOME, or name a configuration with --config")
}

func readFile(path string) ([]byte, error) {
	fail := func(format string, args ...any) ([]byte, error) {
		return nil, &Error{[]Problem{{File: path, Message: fmt.Sprintf(format, args...)}}}
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fail("can't be read: %v", plain(err))
	case info.IsDir():
		return fail("is a folder; name the file in it")
	case info.Size() > maxFile:
		return fail("is larger than 4 MiB, too large for a configuration")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fail("can't be read: %v; let the user that runs clawbot read it", plain(err))
	}
	return data, nil
}

// absolute makes every path of the configuration absolute.
func absolute(v reflect.Value, tag reflect.StructTag, dir string) {
	isPath := hasRule(tag, "path")
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			absolute(v.Elem(), tag, dir)
		}
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			absolute(v.FieldByIndex(f.index), f.tag, dir)
		}
	case reflect.Slice:
		for i := range v.Len() {
			absolute(v.Index(i), tag, dir)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if e := v.MapIndex(key); e.Kind() == reflect.Pointer { // others can't be changed
				absolute(e, tag, dir)
			}
		}
	case reflect.String:
		if path := v.String(); isPath && path != "" && !filepath.IsAbs(path) {
			v.SetString(filepath.Join(dir, path))
		}
	}
}
