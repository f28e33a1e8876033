//go:build unix

package plugin

import (
	"os/exec"
	"syscall"
)

// ownGroup starts the program in a process group, so that what it starts can be
// ended with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // gone already is as good
	}
}
