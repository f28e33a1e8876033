package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"clawbot/channels"
	"clawbot/config"
	"clawbot/gateway"
	"clawbot/server/admin"
	"clawbot/tools"
	"clawbot/tools/mcp"
)

func newTools(io streams, loader func() *config.Loader) *cobra.Command {
	root := &cobra.Command{
		Use:   "tools",
		Short: "See which tools the agent has",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var who toolsAudience
	list := &cobra.Command{
		Use:   "list",
		Short: "List the tools: who may use them, and why others are hidden",
		Long: "List the tools as an owner sees them in a direct conversation, with where each comes from, when it asks for\n" +
			"approval, and why others are hidden. The flags show what somebody else sees.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return listTools(cmd.Context(), io, loader(), who) },
	}
	list.Flags().BoolVar(&who.guest, "guest", false, "as somebody who is no owner")
	list.Flags().StringVar(&who.role, "role", "", "as somebody with this `ROLE` of [tools.roles]")
	list.Flags().BoolVar(&who.room, "room", false, "in a room, not in a direct conversation")
	list.Flags().StringVar(&who.channel, "channel", "", "on this `CHANNEL`, or in CHANNEL:CHAT")
	list.Flags().BoolVar(&who.json, "json", false, "as JSON, one tool a line")
	root.AddCommand(list)
	return root
}

type toolsAudience struct {
	guest, room, json bool
	role, channel     string
}

func (a toolsAudience) request() gateway.ToolRequest {
	channel, chat, _ := strings.Cut(a.channel, ":")
	req := gateway.ToolRequest{Channel: channel, Role: gateway.RoleOwner, Target: channels.Target{Chat: chat, Direct: !a.room}}
	if a.guest {
		req.Role = gateway.RoleGuest
	}
	if a.role != "" {
		req.Role = a.role
	}
	return req
}

// toolLine is one tool as it is listed.
type toolLine = admin.Tool

// serverPatience is how long a command waits for the servers of [tools.mcp].
const serverPatience = 15 * time.Second

func listTools(ctx context.Context, io streams, loader *config.Loader, who toolsAudience) error {
	cfg, err := loader.Load()
	if err != nil {
		return err
	}
	box, err := newToolbox(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer box.close()
	defer box.start(ctx)()
	lines, err := box.lines(who.request())
	if err != nil {
		return err
	}
	if who.json {
		encoder := json.NewEncoder(io.out)
		for _, line := range lines {
			if err := encoder.Encode(line); err != nil {
				return err
			}
		}
		return nil
	}
	return printTools(io, lines)
}

// lines lists the tools as the request's people see them.
func (b *toolbox) lines(req gateway.ToolRequest) ([]toolLine, error) {
	set, err := b.set(audience(req))
	if err != nil {
		return nil, err
	}
	var lines []toolLine
	for _, t := range set.Tools {
		line := b.line(t.Name)
		line.Visible = true
		lines = append(lines, line)
	}
	lines = append(lines, b.skillLines(set.Tools)...)
	for name, server := range b.servers {
		lines = append(lines, serverLines(name, server)...)
	}
	for _, h := range set.Hidden {
		line := b.line(h.Descriptor.Name)
		for _, d := range h.Diagnostics {
			line.Hidden = append(line.Hidden, fmt.Sprintf("%s: %s", d.Reason, d.Message))
		}
		lines = append(lines, line)
	}
	slices.SortStableFunc(lines, func(a, b toolLine) int { return cmp.Compare(a.Name, b.Name) })
	return lines, nil
}

// serverLines are about what a server offers nothing of: itself if it never
// answered, and the tools that were left out.
func serverLines(name string, s *mcp.Server) []toolLine {
	var lines []toolLine
	source := s.Source()
	if err := s.Err(); err != nil && len(source.Tools) == 0 {
		lines = append(lines, toolLine{Name: name + "__*", Source: source.Name, Approval: "-", Hidden: []string{fmt.Sprintf("%s: %v", tools.ReasonDown, err)}})
	}
	for _, problem := range s.Problems() {
		lines = append(lines, toolLine{Name: name + "__?", Source: source.Name, Approval: "-", Hidden: []string{fmt.Sprintf("%s: %s", tools.ReasonUnsupported, problem)}})
	}
	return lines
}

func (b *toolbox) line(name string) toolLine {
	line := toolLine{Name: name}
	entry, ok := b.registry.Get(name)
	if !ok {
		return line
	}
	line.Source, line.Overrides = entry.Source, entry.Overrides
	line.Approval, line.Deferred = b.approval(&entry.Tool), b.isDeferred(name)
	return line
}

// approval says when a person must approve.
func (b *toolbox) approval(t *tools.Tool) string {
	mode := b.rules.Load().permissions[t.Name].Mode
	switch {
	case t.Judge != nil && b.rules.Load().permissions["exec"].Mode == "allow" && mode != "ask":
		return "never"
	case t.Judge != nil:
		return "by command"
	case mode == "ask":
		return "always"
	default:
		return "never"
	}
}

func printTools(io streams, lines []toolLine) error {
	table := tabwriter.NewWriter(io.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TOOL\tSOURCE\tASKS\tHIDDEN BECAUSE")
	for _, line := range lines {
		source := line.Source
		if len(line.Overrides) > 0 {
			source += " (instead of " + strings.Join(line.Overrides, ", ") + ")"
		}
		hidden := strings.Join(line.Hidden, "; ")
		switch {
		case line.Visible && line.Deferred:
			hidden = "- (found with " + findTools + ")"
		case line.Visible:
			hidden = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", line.Name, source, line.Approval, hidden)
	}
	return table.Flush()
}
