// Package e2e tests the real binary: it is built once, run as a process, and
// spoken to over HTTP by the platform fakes and a scripted model server.
package e2e
