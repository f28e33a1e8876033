package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/gateway/budget"
	"clawbot/store"
)

// Config is what a [Gateway] is made of. Store, Model and at least one channel
// are required; the zero value of everything else works.
type Config struct {
	Store    store.Store
	Channels []channels.Channel
	// Model answers; retry, failover and budgets are decorators of it.
	Model agentcore.Model
	// Models makes the models that people may choose for a conversation with
	// /model, by reference ("provider/model"); ModelRefs lists them, Model's
	// first. Without both there is only Model. It is called often and must keep
	// what it has made.
	Models    func(ref string) (agentcore.Model, error)
	ModelRefs []string
	// Toolbox gives the tools of a run; nil means none. If it is a [Judge], it
	// also says which calls a person must approve.
	Toolbox Toolbox
	// Transcriber turns voice messages into text; nil leaves them unread.
	Transcriber Transcriber
	// Compactor shortens a transcript that no longer fits the model's window;
	// nil has the conversation's model write a summary.
	Compactor  Compactor
	Compaction Compaction
	// Workspace says which folder tools work in.
	Workspace Workspace
	// Schedules bounds what people may have done later.
	Schedules Schedules
	// Retention says what is deleted when it is old; zero keeps everything.
	Retention Retention

	Agent Agent
	// Agents are others than Agent, by name, and Routes say where they answer;
	// people choose among them with /agent.
	Agents map[string]Profile
	Routes []Route
	Loop   Loop
	Queue  Queue
	Access Access
	// Budget is what Model, Models and Transcriber count with; nil is none. The
	// gateway tells it whom calls are for, runs it, and tells people of it.
	Budget *budget.Budget

	// MaxRuns bounds the runs at once in this process; 0 means 256.
	MaxRuns int
	// Drain is how long runs may go on after Run's context ended; 0 means
	// 20 s, a negative value hands them off at once.
	Drain time.Duration
	// Owner names this process among those that share the store. It is unique
	// per process start; empty makes one.
	Owner string
	// LeaseTTL is how long a session stays held after its holder was last
	// heard of; 0 means 15 s. Renewals come at a third of it.
	LeaseTTL time.Duration
	// CacheBytes bounds the decoded transcripts kept in memory; 0 means 32 MB.
	CacheBytes int64
	// Audit is given every tool call, when it begins and when it has ended or
	// was refused. A call whose beginning it can't keep is not run. It is called
	// from several goroutines.
	Audit func(AuditRecord) error
	// Deleted is told of every session that was deleted, in every process that
	// shares the store unless the hint is lost, for what is kept beside it. It
	// returns soon.
	Deleted func(session string)
	// Observer is told what the gateway does; nil tells nobody.
	Observer Observer
	// Alerts is what others notice that owners must be told of; nil makes one.
	Alerts *Alerts
	Logger *slog.Logger // default: discard
}

// Agent is who the bot is: the table [agent].
type Agent struct {
	Name         string   // default "clawbot"
	SystemPrompt string   // default: names the bot, its platform, the time zone and the workspace
	Temperature  *float64 // nil: the provider's default
	MaxTokens    int64    // of one model call; 0: 8192
	Thinking     string   // off (default), low, medium, high
	// Zone is the time zone of people who name none; nil is the machine's.
	Zone *time.Location
}

// Schedules bounds reminders and recurring tasks: the table [schedules].
type Schedules struct {
	PerUser         int           // of one person on one channel; 0: 20
	PerConversation int           // 0: 50
	MinInterval     time.Duration // between two occurrences; 0: 5 minutes
}

// Loop bounds one run: the table [loop].
type Loop struct {
	MaxIterations int // model calls that may use tools; 0: 32
	// NoLimitSummary leaves out the closing account at MaxIterations.
	NoLimitSummary   bool
	Timeout          time.Duration // of one run; 0: 10 minutes
	ToolExecution    string        // parallel (default) or sequential
	MaxParallelTools int           // 0: 8
}

// The queue modes: what a message does that arrives during a run.
const (
	ModeSteer     = "steer"     // the run's next model call sees it
	ModeFollowUp  = "followup"  // it gets a run of its own afterwards
	ModeCollect   = "collect"   // all that wait get one run afterwards
	ModeInterrupt = "interrupt" // the run ends and the next one begins with it
)

// Queue says what becomes of messages that arrive during a run: the table
// [queue].
type Queue struct {
	Mode     string            // default steer
	Channels map[string]string // modes of single channels, by channel name
	// SteerBy says whose message may steer a run in a room: starter,
	// participants (default) or anyone. Others' messages become follow-ups.
	SteerBy  string
	Debounce time.Duration // 0: 500 ms; negative: none
	Cap      int           // messages that may wait; 0: 20
	// Drop is what becomes of messages beyond the cap: summarize (default)
	// shortens the oldest into one entry, old and new bury the oldest or the
	// newest. Their senders are told.
	Drop string
}

// Access says who may speak with the bot: the table [access] and what channels
// say for themselves.
type Access struct {
	DMPolicy    string // pairing (default), allowlist, members, open
	GroupPolicy string // mention (default), allowlist, open, off
	// Owners are "platform:id" or "channel:id", never names. Approvers, too,
	// may approve what others ask for; they have no other rights.
	Owners    []string
	Approvers []string
	Rate      Rate
	// Acknowledge is the reaction that a message in a room has from when it is
	// taken until it is answered, and Failed the one that it keeps if its run
	// failed; empty is none.
	Acknowledge, Failed string
	// Bots says which other bots' messages are taken: off (default), mention
	// (those that mean this bot), open.
	Bots string
	// Progress and Partial say where the tools that run are shown, and text that
	// is still being written: all (default), direct, rooms, off.
	Progress, Partial string
	Channels          map[string]ChannelAccess // by channel name
	// Rooms overrides the policies for single rooms, by "platform:id" or
	// "channel:id".
	Rooms map[string]RoomAccess
}

// ChannelAccess overrides [Access] for one channel; empty fields keep it.
type ChannelAccess struct {
	DMPolicy    string
	GroupPolicy string
	// AllowFrom lists ids of senders, and of rooms for group policies.
	AllowFrom []string
	// Owners lists ids of senders who are owners in this channel alone, such
	// as the person at the loopback page; "*" is everybody (the terminal).
	Owners []string
}

func (c Config) withDefaults() (Config, error) {
	if c.Store == nil || c.Model == nil || len(c.Channels) == 0 {
		return c, errors.New("gateway: Config needs a Store, a Model and at least one channel")
	}
	c.MaxRuns = cmp.Or(c.MaxRuns, 256)
	c.Drain = max(0, cmp.Or(c.Drain, 20*time.Second))
	c.LeaseTTL = cmp.Or(c.LeaseTTL, 15*time.Second)
	c.CacheBytes = cmp.Or(c.CacheBytes, 32<<20)
	c.Owner = cmp.Or(c.Owner, newID())
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Alerts == nil {
		c.Alerts = &Alerts{}
	}
	if c.Observer == nil {
		c.Observer = blind{}
	}
	if c.Compactor == nil {
		c.Compactor = summarizer{&c}
	}
	c.Agent.Name = cmp.Or(c.Agent.Name, "clawbot")
	c.Agent.MaxTokens = cmp.Or(c.Agent.MaxTokens, 8192)
	c.Loop.MaxIterations = cmp.Or(c.Loop.MaxIterations, 32)
	c.Loop.Timeout = cmp.Or(c.Loop.Timeout, 10*time.Minute)
	c.Queue.Mode = cmp.Or(c.Queue.Mode, ModeSteer)
	c.Queue.SteerBy = cmp.Or(c.Queue.SteerBy, steerParticipants)
	c.Queue.Debounce = max(0, cmp.Or(c.Queue.Debounce, 500*time.Millisecond))
	c.Queue.Cap = cmp.Or(c.Queue.Cap, 20)
	c.Queue.Drop = cmp.Or(c.Queue.Drop, dropSummarize)
	c.Schedules.PerUser = cmp.Or(c.Schedules.PerUser, 20)
	c.Schedules.PerConversation = cmp.Or(c.Schedules.PerConversation, 50)
	c.Schedules.MinInterval = cmp.Or(c.Schedules.MinInterval, 5*time.Minute)
	c.Agent.Zone = c.zone()
	c.Access.DMPolicy = cmp.Or(c.Access.DMPolicy, dmPairing)
	c.Access.GroupPolicy = cmp.Or(c.Access.GroupPolicy, groupMention)
	return c, c.check()
}

// check refuses words that mean nothing, so that a typing error never opens a
// door.
func (c Config) check() error {
	words := []struct {
		key, word string
		known     []string
	}{
		{"agent.thinking", c.Agent.Thinking, thinkingLevels},
		{"loop.tool_execution", c.Loop.ToolExecution, []string{"", "parallel", "sequential"}},
		{"queue.mode", c.Queue.Mode, queueModes},
		{"queue.steer_by", c.Queue.SteerBy, []string{steerStarter, steerParticipants, steerAnyone}},
		{"queue.drop", c.Queue.Drop, []string{dropSummarize, dropOld, dropNew}},
		{"access.dm_policy", c.Access.DMPolicy, dmPolicies},
		{"access.group_policy", c.Access.GroupPolicy, groupPolicies},
		{"access.bots", c.Access.Bots, []string{"", botsOff, botsMention, botsOpen}},
		{"access.progress", c.Access.Progress, places},
		{"access.partial", c.Access.Partial, places},
		{"tools.workspace_scope", c.Workspace.Scope, []string{"", "auto", "shared"}},
	}
	for _, w := range words {
		if !slices.Contains(w.known, w.word) {
			return fmt.Errorf("gateway: %s = %q is none of %q", w.key, w.word, w.known)
		}
	}
	if err := c.checkAgents(); err != nil {
		return err
	}
	for name, mode := range c.Queue.Channels {
		if !slices.Contains(queueModes, mode) {
			return fmt.Errorf("gateway: queue.channels.%s = %q is none of %q", name, mode, queueModes)
		}
	}
	for name, room := range c.Access.Rooms {
		if room.GroupPolicy != "" && !slices.Contains(groupPolicies, room.GroupPolicy) {
			return fmt.Errorf("gateway: access.rooms.%s.group_policy = %q is none of %q", name, room.GroupPolicy, groupPolicies)
		}
	}
	for name, a := range c.Access.Channels {
		if a.DMPolicy != "" && !slices.Contains(dmPolicies, a.DMPolicy) {
			return fmt.Errorf("gateway: channels.%s.dm_policy = %q is none of %q", name, a.DMPolicy, dmPolicies)
		}
		if a.GroupPolicy != "" && !slices.Contains(groupPolicies, a.GroupPolicy) {
			return fmt.Errorf("gateway: channels.%s.group_policy = %q is none of %q", name, a.GroupPolicy, groupPolicies)
		}
	}
	seen := map[string]bool{}
	for _, ch := range c.Channels {
		if seen[ch.Name()] {
			return fmt.Errorf("gateway: two channels are named %q", ch.Name())
		}
		seen[ch.Name()] = true
	}
	return nil
}

var thinkingLevels = []string{"", "off", "low", "medium", "high"}

var queueModes = []string{ModeSteer, ModeFollowUp, ModeCollect, ModeInterrupt}

const (
	steerStarter      = "starter"
	steerParticipants = "participants"
	steerAnyone       = "anyone"

	dropSummarize = "summarize"
	dropOld       = "old"
	dropNew       = "new"
)

// queueMode returns how messages of one channel queue.
func (c *Config) queueMode(channel string) string {
	if mode, ok := c.Queue.Channels[channel]; ok {
		return mode
	}
	if mode, ok := c.Queue.Channels[platformOf(channel)]; ok {
		return mode
	}
	return c.Queue.Mode
}

func (c *Config) thinking() agentcore.ThinkingLevel {
	if c.Agent.Thinking == "off" {
		return agentcore.ThinkingOff
	}
	return agentcore.ThinkingLevel(c.Agent.Thinking)
}

func (c *Config) toolExecution() agentcore.ExecutionMode {
	if c.Loop.ToolExecution == "sequential" {
		return agentcore.Sequential
	}
	return agentcore.Parallel
}
