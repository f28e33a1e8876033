// Command clawbot is the bot: it reads the configuration, wires the rooms
// together and runs them.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"clawbot/config"
	"clawbot/tools/sandbox"
)

func main() {
	sandbox.Main() // in a helper of the sandbox, this does not return
	os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// execute runs one command and returns the exit code.
func execute(args []string, in io.Reader, out, errs io.Writer) int {
	io := streams{in, out, errs}
	cmd := newRoot(io)
	cmd.SetArgs(args)
	cmd.SetIn(in)
	cmd.SetOut(out)
	cmd.SetErr(errs)
	err := cmd.Execute()
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		if e.err != nil {
			fmt.Fprintln(errs, "clawbot: "+e.err.Error())
		}
		return e.code
	}
	if e, ok := errors.AsType[*config.Error](err); ok {
		fmt.Fprintln(errs, e.Error())
		return 1
	}
	fmt.Fprintln(errs, "clawbot: "+err.Error())
	return 1
}

// exitError ends the program with a code of its own; err may be nil, when all
// has been said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func newRoot(io streams) *cobra.Command {
	var path string
	root := &cobra.Command{
		Use:   "clawbot",
		Short: "A chat bot with an agent inside",
		Long: "clawbot answers in Telegram, Slack and Discord, on its own web page and in this terminal, with an agent that uses tools.\n" +
			"Without a configuration, `clawbot run` serves the page on http://127.0.0.1:8080/ and `clawbot chat` talks here.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().StringVar(&path, "config", "", "configuration `FILE` (default: $CLAWBOT_CONFIG, ./clawbot.toml, $XDG_CONFIG_HOME/clawbot/config.toml)")
	loader := func() *config.Loader {
		l := newLoader()
		l.Path = path
		return l
	}
	root.AddCommand(newRun(io, loader), newChat(io, loader), newDoctor(io, loader), newSessions(io, loader), newBackup(io, loader), newTools(io, loader),
		newConfig(io, loader, &path), newSlack(io), newPairing(io, loader), newUsers(io, loader), newVersion(io), newHealthcheck(loader))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see: %s --help", err, cmd.CommandPath())
	})
	return root
}

// noSuchCommand refuses arguments of a command that only has commands.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	message := fmt.Sprintf("there is no command %q", cmd.CommandPath()+" "+args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("%s; did you mean %q?", message, cmd.CommandPath()+" "+near[0])
	}
	return fmt.Errorf("%s; see: %s --help", message, cmd.CommandPath())
}
