//go:build !linux

package main

import "os"

// hideInput can't keep what is typed off the terminal on this system.
func hideInput(*os.File) (show func(), ok bool) { return func() {}, false }
