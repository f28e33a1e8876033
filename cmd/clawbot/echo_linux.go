package main

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// hideInput keeps what is typed off the terminal until show is called.
func hideInput(terminal *os.File) (show func(), ok bool) {
	fd := int(terminal.Fd())
	state, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return func() {}, false
	}
	hidden := *state
	hidden.Lflag &^= unix.ECHO
	if unix.IoctlSetTermios(fd, unix.TCSETS, &hidden) != nil {
		return func() {}, false
	}
	restore := func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, state) }
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, unix.SIGTERM)
	go func() {
		select {
		case <-signals: // or the shell would be left without an echo
			restore()
			os.Exit(130)
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		restore()
	}, true
}
