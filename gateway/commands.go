package gateway

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"clawbot/channels"
)

// verb is what a message asks of the bot itself.
type verb uint8

const (
	verbNone verb = iota // not a command: a message for the model
	verbStop
	verbReset
	verbStatus
	verbHelp
	verbModel
	verbAgent
	verbQueue
	verbCompact
	verbUsage
	verbBudget
	verbTools
	verbMemory
	verbSchedules
	verbForgetMe
	verbPair
	verbBlock
	verbUnblock
)

// command is one command as people see it, and who may use it.
type command struct {
	verb        verb
	name        string
	aliases     []string
	description string
	// hidden commands are in no menu.
	hidden bool
	may    permission
}

// permission says who may use a command in a room. In private, everybody who
// may speak may use all but what is the owner's.
type permission uint8

const (
	mayAll          permission = iota
	mayParticipants            // whoever is in the conversation, moderators and owners
	mayModerators              // moderators and owners
	mayOwners
)

// commands is the one table of what can be said with a slash.
var commands = []command{
	{verb: verbStop, name: "stop", description: "Stop what I am doing", may: mayParticipants},
	{verb: verbReset, name: "new", aliases: []string{"reset"}, description: "Start a new conversation; I forget this one", may: mayParticipants},
	{verb: verbStatus, name: "status", description: "What I am doing, and with which model"},
	{verb: verbModel, name: "model", description: "Which model answers here; /model NAME changes it", may: mayModerators},
	{verb: verbAgent, name: "agent", description: "Who answers here; /agent NAME changes it", may: mayModerators},
	{verb: verbQueue, name: "queue", description: "What a message does while I work; /queue MODE changes it", may: mayModerators},
	{verb: verbCompact, name: "compact", description: "Sum up our conversation so far, so that more fits", may: mayParticipants},
	{verb: verbUsage, name: "usage", description: "What this conversation and you have used, and of which budget"},
	{verb: verbBudget, name: "budget", description: "The caps on what I may spend; /budget raise day 5 raises one", may: mayOwners},
	{verb: verbTools, name: "tools", description: "Which tools I may use for you here"},
	{verb: verbMemory, name: "memory", description: "What I remember about you; /memory delete ID or all forgets it"},
	{verb: verbSchedules, name: "schedules", aliases: []string{"schedule", "reminders"}, description: "What I am to do here later; /schedules cancel ID cancels it"},
	{verb: verbForgetMe, name: "forgetme", aliases: []string{"forget-me", "forget_me"}, description: "Delete all that I keep about you"},
	{verb: verbPair, name: "pair", description: "Let somebody in by their code", may: mayOwners},
	{verb: verbBlock, name: "block", description: "No longer listen to somebody: /block ID", may: mayModerators},
	{verb: verbUnblock, name: "unblock", description: "Listen to somebody again: /unblock ID", hidden: true, may: mayModerators},
	// These are read elsewhere: decisions where approvals are, skills by the agent.
	{name: "approve", description: "Let a call run that waits for approval: /approve ID"},
	{name: "deny", description: "Refuse a call that waits for approval: /deny ID"},
	{name: "skill", description: "Have me read a skill: /skill NAME"},
	{verb: verbHelp, name: "help", aliases: []string{"start"}, description: "What I am and which commands there are"},
}

// Commands are the commands that every channel has, for menus.
func Commands() []channels.Command {
	list := make([]channels.Command, 0, len(commands))
	for i := range commands {
		if c := &commands[i]; !c.hidden {
			list = append(list, channels.Command{Name: c.name, Description: c.description})
		}
	}
	return list
}

// parseCommand reads a command at the beginning of a text, after any emoji, and
// what follows it. A word that is no command of ours is left to the model.
func parseCommand(text string) (v verb, args string) {
	text = strings.TrimLeftFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.In(r, unicode.So, unicode.Sk, unicode.Mn, unicode.Me, unicode.Cf)
	})
	if !strings.HasPrefix(text, "/") {
		return verbNone, ""
	}
	name := text[1:]
	if end := strings.IndexFunc(name, unicode.IsSpace); end >= 0 {
		name, args = name[:end], strings.TrimSpace(name[end:])
	}
	name, _, _ = strings.Cut(name, "@")
	name = strings.ToLower(name)
	for i := range commands {
		if c := &commands[i]; c.name == name || slices.Contains(c.aliases, name) {
			return c.verb, args
		}
	}
	return verbNone, ""
}

// denied says why the sender may not use a command here; empty if they may.
// Changing a setting needs more than asking for it.
func (h *host) denied(v verb, args string, in *channels.Inbound, role string) string {
	if role == RoleOwner {
		return ""
	}
	for i := range commands {
		if commands[i].verb != v {
			continue
		}
		switch commands[i].may {
		case mayOwners:
			return "Only my owner can do that."
		case mayModerators:
			reading := args == "" && (v == verbModel || v == verbAgent || v == verbQueue)
			if reading || moderates(in) || in.Target.Direct && v != verbBlock && v != verbUnblock {
				return ""
			}
			return "Only my owner and those who moderate this room can do that."
		case mayParticipants:
			if in.Target.Direct || moderates(in) || h.g.dispatch.takesPart(in.Target.Conversation, in.Sender.ID) {
				return ""
			}
			return "I am working for others here; only they, those who moderate this room and my owner can do that."
		}
	}
	return ""
}

// obey does what a command asks that is not the model's. It reports whether the
// message was a command.
func (h *host) obey(ctx context.Context, in *channels.Inbound, role string) (done bool, err error) {
	v, args := parseCommand(in.Text)
	if v == verbNone {
		return false, nil
	}
	if reason := h.denied(v, args, in, role); reason != "" {
		h.notice(ctx, in.Target, in.Sender, reason)
		return true, nil
	}
	switch v {
	case verbStop:
		return true, h.acceptSignal(ctx, in, signalStop)
	case verbReset:
		return true, h.acceptSignal(ctx, in, signalReset)
	case verbCompact:
		return true, h.acceptSignal(ctx, in, signalCompact)
	}
	h.notice(ctx, in.Target, in.Sender, h.answer(ctx, v, args, in, role))
	return true, nil
}

// answer is what a command is answered with that touches no lane, so that it
// works while everything else is busy.
func (h *host) answer(ctx context.Context, v verb, args string, in *channels.Inbound, role string) string {
	session := in.Target.Conversation
	m := &speaker{h.channel.Name(), in.Target, in.Sender, role}
	switch v {
	case verbStatus:
		return h.g.status(ctx, m)
	case verbModel:
		return h.chooseModel(ctx, m, args)
	case verbAgent:
		return h.chooseAgent(ctx, m, args)
	case verbQueue:
		return h.chooseQueue(ctx, session, args)
	case verbUsage:
		return h.usage(ctx, in, role)
	case verbBudget:
		return h.budget(ctx, in, args)
	case verbTools:
		return h.listTools(ctx, in, role)
	case verbMemory:
		return h.memory(ctx, in, args)
	case verbSchedules:
		return h.schedules(ctx, in, role, args)
	case verbForgetMe:
		return h.forgetMe(ctx, in, args)
	case verbPair:
		return h.pair(ctx, in, args)
	case verbBlock, verbUnblock:
		return h.block(ctx, in, role, args, v == verbBlock)
	default:
		return h.g.help(m)
	}
}
