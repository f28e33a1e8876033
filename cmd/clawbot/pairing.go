package main

import (
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"clawbot/config"
	"clawbot/gateway"
	"clawbot/store"
)

func newPairing(io streams, loader func() *config.Loader) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pairing",
		Short: "Let people in who wrote to the bot, or take that back",
		Long: "Whoever writes to the bot in private and is not known is given a code (dm_policy = \"pairing\"). Approve the code\n" +
			"to let them in. While the bot has no owner, the first approval makes one. All of this works beside a running bot.",
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	run := func(fn func(*cobra.Command, gateway.Pairing, []string) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			return beside(cmd.Context(), io, loader(), func(cfg *config.Config, s store.Store) error {
				return fn(cmd, gateway.Pairing{State: s.State(), MakesOwner: len(cfg.Access.Owners) == 0}, args)
			})
		}
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "list",
		Short: "Show who waits to be let in, and who was",
		Args:  cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, p gateway.Pairing, _ []string) error {
			return listPairing(cmd, io, p)
		}),
	}, &cobra.Command{
		Use:   "approve CODE",
		Short: "Let in whoever was given the code",
		Args:  one("code"),
		RunE: run(func(cmd *cobra.Command, p gateway.Pairing, args []string) error {
			return approvePairing(cmd, io, p, args[0])
		}),
	}, &cobra.Command{
		Use:   "deny CODE|CHANNEL:ID",
		Short: "Refuse a code, or shut out somebody who was let in",
		Args:  one("code"),
		RunE: run(func(cmd *cobra.Command, p gateway.Pairing, args []string) error {
			who, err := p.Deny(cmd.Context(), args[0])
			if errors.Is(err, gateway.ErrNobody) {
				return fmt.Errorf("nobody was let in as %q, and no request has that code; see: clawbot pairing list", args[0])
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(io.out, "%s may not write to the bot in private; a running bot knows within two seconds\n", who)
			return err
		}),
	})
	return cmd
}

func listPairing(cmd *cobra.Command, io streams, p gateway.Pairing) error {
	requests, err := p.Requests(cmd.Context())
	if err != nil {
		return err
	}
	people, err := p.People(cmd.Context())
	if err != nil {
		return err
	}
	if len(requests)+len(people) == 0 {
		_, err = fmt.Fprintln(io.out, "nobody waits, and nobody was let in by pairing")
		return err
	}
	w := tabwriter.NewWriter(io.out, 0, 0, 2, ' ', 0)
	if len(requests) > 0 {
		fmt.Fprintln(w, "CODE\tWHO\tNAME\tASKED")
		for _, r := range requests {
			fmt.Fprintf(w, "%s\t%s:%s\t%s\t%s ago\n", r.Code, r.Channel, r.ID, r.Name, time.Since(r.At).Round(time.Minute))
		}
	}
	if len(people) > 0 {
		fmt.Fprintln(w, "STATE\tWHO\tNAME\tSINCE")
		for _, who := range people {
			fmt.Fprintf(w, "%s\t%s:%s\t%s\t%s by %s\n", standing(who), who.Channel, who.ID, who.Name, who.At.Format(time.DateOnly), who.By)
		}
	}
	return w.Flush()
}

func standing(who gateway.Paired) string {
	switch {
	case who.Owner:
		return "owner"
	case who.Blocked:
		return "blocked"
	default:
		return "paired"
	}
}

func approvePairing(cmd *cobra.Command, io streams, p gateway.Pairing, code string) error {
	by := "cli"
	if user := os.Getenv("USER"); user != "" {
		by += ":" + user
	}
	r, owner, err := p.Approve(cmd.Context(), code, by)
	if errors.Is(err, gateway.ErrNoSuchCode) {
		return fmt.Errorf("no request has the code %q; it may have expired after an hour, then their next message makes a new one; see: clawbot pairing list", code)
	}
	if err != nil {
		return err
	}
	what := "may write to the bot in private"
	if owner {
		what = "is the bot's owner, since it had none"
	}
	_, err = fmt.Fprintf(io.out, "%s (%s:%s) %s; a running bot tells them\n", r.Name, r.Channel, r.ID, what)
	return err
}
