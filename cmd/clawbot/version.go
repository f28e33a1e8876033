package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"clawbot/internal/version"
)

func newVersion(io streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Tell which build this is",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(io.out, "clawbot "+version.Get().String())
			return err
		},
	}
}
