package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

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
	cmd.AddCommand(&cobra.Command{
		Use:   "init",
		Short: "Write a commented configuration with every key (default: ./clawbot.toml)",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return initConfig(io, *path) },
	}, &cobra.Command{
		Use:   "check",
		Short: "Check the configuration; every problem is told with its line and column",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return checkConfig(io, loader()) },
	})
	return cmd
}

func initConfig(io streams, path string) error {
	if path == "" {
		path = "clawbot.toml"
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of %s: %w; name another file with --config", path, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already and stays as it is; name another file with --config, or move it away", path)
	}
	if err != nil {
		return fmt.Errorf("write the configuration: %w; name another file with --config", err)
	}
	_, err = f.WriteString(config.Example())
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	_, err = fmt.Fprintf(io.out, "wrote %s; edit it, then: clawbot config check --config %s\n", path, path)
	return err
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
