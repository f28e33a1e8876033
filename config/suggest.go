package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// unknownKey says that a key is unknown, and which one may have been meant: a
// near one of the same table, else the same or a near name elsewhere.
func unknownKey(root reflect.Type, table []string, name string, fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	if near := nearest(name, names); near != "" {
		return fmt.Sprintf("unknown key; did you mean %s?", keyPath(append(slices.Clone(table), near)))
	}
	if root != nil {
		if elsewhere := nearestPath(root, table, name); elsewhere != "" {
			return fmt.Sprintf("unknown key; did you mean %s?", elsewhere)
		}
	}
	slices.Sort(names)
	if len(names) > 12 {
		return "unknown key; config.example.toml has all there are"
	}
	return "unknown key; known here: " + strings.Join(names, ", ")
}

// nearestPath looks for name in all tables; of equally near ones it takes the
// one that shares most of the path.
func nearestPath(root reflect.Type, table []string, name string) string {
	best, bestScore := "", -1
	walkKeys(root, nil, func(path []string, _ bool) {
		last := path[len(path)-1]
		if last == "NAME" || slices.Contains(path[:len(path)-1], "accounts") {
			return
		}
		var score int
		switch {
		case last == name:
			score = 100
		case similar(name, last):
			score = 50
		default:
			return
		}
		for i := 0; i < len(table) && i < len(path) && table[i] == path[i]; i++ {
			score += 10
		}
		if score -= len(path); score > bestScore {
			best, bestScore = strings.Join(path, "."), score
		}
	})
	return best
}

// nearest returns the candidate that name is most likely a misspelling of, or
// nothing when none is near.
func nearest(name string, candidates []string) string {
	best, bestDistance := "", 1<<30
	for _, c := range candidates {
		if d := distance(fold(name), fold(c)); d < bestDistance && similar(name, c) {
			best, bestDistance = c, d
		}
	}
	return best
}

func similar(name, candidate string) bool {
	a, b := fold(name), fold(candidate)
	if a == b {
		return true
	}
	shorter := min(len(a), len(b))
	if shorter >= 4 && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) {
		return true
	}
	return distance(a, b) <= max(1, shorter/3) && shorter > 2
}

// fold makes spellings equal that people mix up: maxTokens, max-tokens and
// MAX_TOKENS.
func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours between two names. Long ones are cut: they are no misspellings.
func distance(s, t string) int {
	const longest = 64
	a, b := []rune(s), []rune(t)
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
