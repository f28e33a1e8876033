//go:build !amd64

package sandbox

// legacyByPath are the calls of [byPath] that newer architectures don't have.
var legacyByPath []int
