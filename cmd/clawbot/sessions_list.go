package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"clawbot/config"
	"clawbot/gateway"
	"clawbot/store"
)

func newSessions(io streams, loader func() *config.Loader) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "Look at conversations, export and delete them, also while the bot runs",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSessionsList(io, loader), newSessionsShow(io, loader), newSessionsExport(io, loader), newSessionsDelete(io, loader))
	return cmd
}

// one takes exactly one argument.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fmt.Errorf("%s takes one %s, not %d arguments; see: %s --help", cmd.CommandPath(), what, len(args), cmd.CommandPath())
	}
}

// listing is what `sessions list` was asked for.
type listing struct {
	prefix string
	limit  int
	json   bool
	agents bool // there are several: show who spoke last
}

func newSessionsList(io streams, loader func() *config.Loader) *cobra.Command {
	var l listing
	cmd := &cobra.Command{
		Use:     "list [PREFIX]",
		Short:   "List conversations, the latest active first",
		Long:    "List conversations, the latest active first: those whose name begins with PREFIX, such as telegram: or slack.work:.",
		Example: "  clawbot sessions list telegram:",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				l.prefix = args[0]
			}
			if l.limit < 1 {
				return errors.New("--limit is at least 1")
			}
			return beside(cmd.Context(), io, loader(), func(cfg *config.Config, s store.Store) error {
				l.agents = len(cfg.Agents) > 0
				return l.print(cmd.Context(), io, s)
			})
		},
	}
	cmd.Flags().IntVar(&l.limit, "limit", 50, "list at most `N`")
	cmd.Flags().BoolVar(&l.json, "json", false, "one JSON object a line")
	return cmd
}

// sessionLine is a session as `sessions list --json` writes it.
type sessionLine struct {
	Session    string    `json:"session"`
	Entries    int64     `json:"entries"`
	Waiting    int       `json:"waiting"`
	Owner      string    `json:"owner,omitempty"`
	Agent      string    `json:"agent,omitempty"` // who spoke last, where there are several
	LastActive time.Time `json:"last_active"`
}

func (l listing) print(ctx context.Context, io streams, s store.Store) error {
	list, next, err := s.Archive().Sessions(ctx, l.prefix, "", l.limit)
	if err != nil {
		return err
	}
	if l.json {
		enc := json.NewEncoder(io.out)
		for _, info := range list {
			agent, err := l.agent(ctx, s, info)
			if err != nil {
				return err
			}
			if err := enc.Encode(sessionLine{info.Session, info.Tail, info.Waiting, info.Owner, agent, info.LastActive}); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(io.err, "there are no such conversations")
		return err
	}
	table := tabwriter.NewWriter(io.out, 0, 0, 2, ' ', 0)
	head := "SESSION\tENTRIES\tWAITING\tSTATE\tLAST ACTIVE"
	if l.agents {
		head += "\tAGENT"
	}
	fmt.Fprintln(table, head)
	for _, info := range list {
		agent, err := l.agent(ctx, s, info)
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s\t%d\t%d\t%s\t%s", info.Session, info.Tail, info.Waiting, stateOf(info), info.LastActive.Local().Format(time.DateTime))
		if l.agents {
			line += "\t" + cmp.Or(agent, "-")
		}
		fmt.Fprintln(table, line)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if next != "" {
		_, err = fmt.Fprintf(io.err, "there are more; raise --limit %d, or name a longer prefix\n", l.limit)
	}
	return err
}

// agent is who spoke last in a session, empty where there is only one.
func (l listing) agent(ctx context.Context, s store.Store, info store.SessionInfo) (string, error) {
	if !l.agents {
		return "", nil
	}
	agent, err := gateway.LatestAgent(ctx, s, info)
	if errors.Is(err, store.ErrNotFound) { // deleted since
		return "", nil
	}
	return agent, err
}

func stateOf(info store.SessionInfo) string {
	if info.Owner != "" {
		return "running"
	}
	return "idle"
}

// find returns the session that name means: itself, or the only one that begins
// with it.
func find(ctx context.Context, s store.Store, name string) (store.SessionInfo, error) {
	list, next, err := s.Archive().Sessions(ctx, name, "", 20)
	if err != nil {
		return store.SessionInfo{}, err
	}
	names := make([]string, 0, len(list))
	for _, info := range list {
		if info.Session == name {
			return info, nil
		}
		names = append(names, info.Session)
	}
	switch {
	case len(names) == 0:
		return store.SessionInfo{}, fmt.Errorf("there is no session %q; see: clawbot sessions list", name)
	case len(names) > 1:
		more := ""
		if next != "" {
			more = " and more"
		}
		return store.SessionInfo{}, fmt.Errorf("several sessions begin with %q: %s%s; name one in full", name, strings.Join(names, ", "), more)
	}
	return list[0], nil
}

// writeAll writes to w and is one error for whatever fails.
type writeAll struct {
	w   io.Writer
	err error
}

func (w *writeAll) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.w, format, args...)
	}
}
