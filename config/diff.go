package config

import (
	"cmp"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// Change is a key that two configurations have differently, for people. It has
// no secret: of one there is only that it has changed.
type Change struct {
	Key string `json:"key"`
	// Old and New are written as in the file; empty where the key is not there.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
	// Secret is set when the values are masked.
	Secret bool `json:"secret,omitempty"`
}

// String writes "budget.daily_usd: 1 -> 2", or "providers.x.api_key: changed".
func (c Change) String() string {
	switch {
	case c.Secret, c.Old == c.New:
		return c.Key + ": changed"
	case c.Old == "":
		return c.Key + ": " + c.New + " (new)"
	case c.New == "":
		return c.Key + ": gone (was " + c.Old + ")"
	}
	return c.Key + ": " + c.Old + " -> " + c.New
}

// Diff returns what now has differently from before, sorted by key.
func Diff(before, now *Config) []Change {
	old := map[string]Setting{}
	settings, was := before.settings()
	for _, s := range settings {
		old[s.Key] = s
	}
	settings, is := now.settings()
	var list []Change
	for _, s := range settings {
		prior, ok := old[s.Key]
		delete(old, s.Key)
		if ok && reflect.DeepEqual(was[s.Key], is[s.Key]) {
			continue
		}
		list = append(list, Change{Key: s.Key, Old: prior.Value, New: s.Value, Secret: s.Secret || prior.Secret})
	}
	for _, gone := range old {
		list = append(list, Change{Key: gone.Key, Old: gone.Value, Secret: gone.Secret})
	}
	slices.SortFunc(list, func(a, b Change) int { return cmp.Compare(a.Key, b.Key) })
	return list
}

// Files lists the files that the configuration was read from, whether or not
// they are there: the file itself, the .env beside it, what ${file:…} names and
// the files of system prompts. Without a configuration file there are none.
func (c *Config) Files() []string {
	if c.Origin.File == "" {
		return nil
	}
	list := []string{c.Origin.File, filepath.Join(c.Origin.Dir, ".env")}
	for _, text := range c.Origin.references {
		for _, ref := range reference.FindAllStringSubmatch(text, -1) {
			path, ok := strings.CutPrefix(ref[1], "file:")
			if !ok || strings.HasPrefix(ref[0], "$$") {
				continue
			}
			if !filepath.IsAbs(path) {
				path = filepath.Join(c.Origin.Dir, path)
			}
			list = append(list, path)
		}
	}
	prompts := []string{c.Agent.SystemPromptFile}
	for name := range c.Agents {
		prompts = append(prompts, c.As(name).SystemPromptFile)
	}
	for _, path := range prompts {
		if path != "" {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
