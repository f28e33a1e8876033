package main

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"clawbot/config"
)

func newConfig(io streams, loader func() *config.Loader, path *string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Write or check a configuration",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigInit(io, path), &cobra.Command{
		Use:   "check",
		Short: "Check the configuration; every problem is told with its line and column",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return checkConfig(io, loader()) },
	})
	return cmd
}

func checkConfig(io streams, loader *config.Loader) error {
	cfg, err := loader.Load()
	if err != nil {
		return err
	}
	printWarnings(io, cfg)
	for _, problem := range unpriced(cfg, slog.New(slog.DiscardHandler)) {
		fmt.Fprintln(io.err, "warning: "+problem)
	}
	if cfg.Origin.File == "" {
		_, err = fmt.Fprintln(io.out, "there is no configuration file; the defaults and the environment hold, and they are well (clawbot config init writes a file)")
		return err
	}
	_, err = fmt.Fprintln(io.out, cfg.Origin.File+": ok")
	return err
}

func printWarnings(io streams, cfg *config.Config) {
	for _, w := range cfg.Origin.Warnings {
		fmt.Fprintln(io.err, "warning: "+w.String())
	}
}
