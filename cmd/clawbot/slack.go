package main

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"clawbot/channels"
	"clawbot/channels/slack"
	"clawbot/config"
)

func slackBots(cfg *config.Channels, log *slog.Logger) ([]channels.Channel, error) {
	var bots []channels.Channel
	if cfg.Slack == nil {
		return nil, nil
	}
	accounts := cfg.Slack.Bots()
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		a := accounts[name]
		bot, err := slack.New(slack.Config{
			Name: name, BotToken: a.BotToken, AppToken: a.AppToken, SigningSecret: a.SigningSecret, Mode: a.Mode,
			APIURL: a.APIURL, Proxy: a.Proxy, ReplyIn: a.ReplyIn, ReplyInRooms: a.ReplyInRooms, AllowFrom: a.AllowFrom, Logger: log,
			NoStreams: !a.Streams, Guests: a.Guests, Connect: a.Connect, UserGroups: a.UserGroups, DirectThreads: a.DirectThreads, Prompts: a.SuggestedPrompts,
		})
		if err != nil {
			return nil, fmt.Errorf("channels.%w", err)
		}
		bots = append(bots, bot)
	}
	return bots, nil
}

func slackAccounts(cfg *config.Channels) (names []string, configured bool) {
	if cfg.Slack == nil {
		return nil, false
	}
	return slices.Sorted(maps.Keys(cfg.Slack.Bots())), true
}

// newSlack is the command that helps with setting up Slack.
func newSlack(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "slack",
		Short: "Help with setting up Slack",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var name, address string
	manifest := &cobra.Command{
		Use:   "manifest",
		Short: "Print the manifest to make the Slack app from",
		Long: "Prints the manifest of a Slack app with every scope and event that the bot needs, as JSON.\n" +
			"On https://api.slack.com/apps choose Create New App, From a manifest, and paste it.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			data, err := slack.Manifest(name, address)
			if err != nil {
				return fmt.Errorf("--http: %w", err)
			}
			_, err = io.out.Write(data)
			return err
		},
	}
	manifest.Flags().StringVar(&name, "name", "clawbot", "`NAME` of the bot, and of its slash command")
	manifest.Flags().StringVar(&address, "http", "", "public `URL` that Slack posts events to, for mode = \"http\"; without it the app uses Socket Mode")
	cmd.AddCommand(manifest)
	return cmd
}
