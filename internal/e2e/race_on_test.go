//go:build race

package e2e

// buildFlags has the binary built as the tests are.
var buildFlags = []string{"-race"}
