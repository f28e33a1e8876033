package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"clawbot/config"
	"clawbot/store"
)

// backuper is a store that can copy itself while it is used.
type backuper interface {
	Backup(ctx context.Context, path string) error
}

func newBackup(io streams, loader func() *config.Loader) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the database to a new file, while the bot runs",
		Long: "Copy the SQLite database, as it is at this moment, to FILE, which must not exist and is readable by its owner\n" +
			"alone. The bot may be running. To restore, stop the bot and put the copy in the database's place; see docs/operations.md.",
		Example: "  clawbot backup /var/backups/clawbot-$(date +%F).db",
		Args:    one("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return beside(cmd.Context(), io, loader(), func(cfg *config.Config, s store.Store) error {
				b, ok := s.(backuper)
				if !ok {
					return fmt.Errorf("store.driver is %s, which clawbot does not copy: use its own means, such as redis-cli BGSAVE and a copy of the dump and the append-only files", cfg.Store.Driver)
				}
				if err := b.Backup(cmd.Context(), args[0]); err != nil {
					return err
				}
				info, err := os.Stat(args[0])
				if err != nil {
					return fmt.Errorf("back up to %s: %w", args[0], err)
				}
				_, err = fmt.Fprintf(io.out, "wrote %s, %d bytes\n", args[0], info.Size())
				return err
			})
		},
	}
}
