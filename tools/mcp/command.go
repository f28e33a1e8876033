package mcp

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// endPatience is how long a server may take to end when its input does.
	endPatience = 2 * time.Second
	// maxLogLine bounds what is logged of one line of a server's stderr.
	maxLogLine = 500
)

// command is a transport to a program; release kills it and what it started.
func (s *Server) command() (t sdk.Transport, release func()) {
	cmd := exec.Command(s.cfg.Command[0], s.cfg.Command[1:]...)
	for _, name := range []string{"PATH", "HOME", "LANG", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Env = append(cmd.Env, s.cfg.Env...)
	cmd.Dir = s.cfg.Dir
	ownGroup(cmd)
	read, write := io.Pipe()
	cmd.Stderr = write
	cmd.WaitDelay = endPatience
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		s.logLines(read)
	}()
	return &sdk.CommandTransport{Command: cmd, TerminateDuration: endPatience}, func() {
		killGroup(cmd)
		_ = write.Close()
		<-logged
	}
}

// logLines logs what a server says beside the protocol.
func (s *Server) logLines(r io.Reader) {
	lines := bufio.NewReaderSize(r, 4096)
	for {
		line, more, err := lines.ReadLine()
		if err != nil {
			return
		}
		if !more && len(line) > 0 {
			s.log.Debug("the server says", "line", string(line[:min(len(line), maxLogLine)]))
		}
	}
}
