// Package redistest runs a real redis-server for tests, and a proxy before it
// that loses answers, cuts connections and goes silent.
package redistest
