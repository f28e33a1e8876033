package config

import (
	"time"

	"clawbot/internal/redact"
	"clawbot/providers"
	"clawbot/tools"
)

// Config is everything that can be configured. The names of its keys are fixed;
// config.example.toml describes each.
type Config struct {
	Agent      Agent               `toml:"agent"`
	Loop       Loop                `toml:"loop"`
	Providers  map[string]Provider `toml:"providers"`
	Compaction Compaction          `toml:"compaction"`
	Queue      Queue               `toml:"queue"`
	Audio      Audio               `toml:"audio"`
	Tools      Tools               `toml:"tools"`
	Skills     Skills              `toml:"skills"`
	Schedules  Schedules           `toml:"schedules"`
	Retention  Retention           `toml:"retention"`
	Store      Store               `toml:"store"`
	Server     Server              `toml:"server"`
	Access     Access              `toml:"access"`
	Channels   Channels            `toml:"channels"`
	Budget     Budget              `toml:"budget"`
	Log        Log                 `toml:"log"`

	// Agents are others than Agent; Routes say where they answer.
	Agents map[string]*AgentProfile `toml:"agents"`
	Routes []Route                  `toml:"routes"`

	// Origin says where the configuration came from.
	Origin Origin `toml:"-"`
}

// Agent is who the bot is and which model it speaks with.
type Agent struct {
	Name string `toml:"name" rule:"nonempty"`
	// Model is "provider/model"; empty until [Config.Detect] has chosen one.
	Model     string   `toml:"model"`
	Fallbacks []string `toml:"fallbacks"`
	// Models are others that /model may choose.
	Models           []string `toml:"models"`
	SystemPrompt     string   `toml:"system_prompt"`
	SystemPromptFile string   `toml:"system_prompt_file" rule:"path"`
	// Temperature is nil for the model's own: several models refuse any other.
	Temperature *float64 `toml:"temperature" min:"0" max:"2"`
	MaxTokens   int64    `toml:"max_tokens" min:"1"`
	Thinking    string   `toml:"thinking" enum:"off|low|medium|high"`
	// TimeZone is the IANA zone of people who name none; empty is the machine's.
	TimeZone string `toml:"time_zone" rule:"zone"`
}

// Loop bounds a run.
type Loop struct {
	MaxIterations        int           `toml:"max_iterations" min:"1"`
	MaxIterationsSummary bool          `toml:"max_iterations_summary"`
	Timeout              time.Duration `toml:"timeout" min:"1s"`
	RetryOnError         int           `toml:"retry_on_error" min:"0" max:"20"`
	ToolExecution        string        `toml:"tool_execution" enum:"parallel|sequential"`
	MaxParallelTools     int           `toml:"max_parallel_tools" min:"1" max:"1000"`
}

// Compaction says when the older part of a conversation is summed up, so that
// the model's window holds what follows.
type Compaction struct {
	Enabled bool `toml:"enabled"`
	// Reserve and Keep are in tokens; 0 is the default for the model.
	Reserve int64 `toml:"reserve" min:"0"`
	Keep    int64 `toml:"keep" min:"0"`
}

// Audio says how speech is understood.
type Audio struct {
	// Transcribe is "provider/model" of a model that turns speech into text;
	// empty leaves voice messages unread.
	Transcribe string `toml:"transcribe"`
	// USDPerMinute is what that costs for a minute of speech; nil is what the
	// built-in table says.
	USDPerMinute *float64 `toml:"usd_per_minute" min:"0" max:"1000"`
}

// Provider is one model vendor or server.
type Provider struct {
	Format  string                   `toml:"format"`
	BaseURL string                   `toml:"base_url" rule:"url:http,https"`
	APIKey  redact.Secrets           `toml:"api_key"`
	Proxy   string                   `toml:"proxy" rule:"proxy"`
	Headers map[string]redact.Secret `toml:"headers" rule:"header"`
	// IdleTimeout bounds the silence in a stream; 0 is the provider's default.
	IdleTimeout time.Duration                      `toml:"idle_timeout" min:"0s"`
	Compat      providers.Compat                   `toml:"compat"`
	Models      map[string]providers.ModelSettings `toml:"models"`
}

// Queue says what becomes of messages that arrive while the agent works.
type Queue struct {
	Mode     string        `toml:"mode" enum:"steer|followup|collect|interrupt"`
	SteerBy  string        `toml:"steer_by" enum:"starter|participants|anyone"`
	Debounce time.Duration `toml:"debounce" min:"0s" max:"1m"`
	Cap      int           `toml:"cap" min:"1"`
	Drop     string        `toml:"drop" enum:"summarize|old|new"`
	// Channels holds the mode of single channels.
	Channels map[string]string `toml:"channels" enum:"steer|followup|collect|interrupt"`
}

// Tools says what the agent may do, and where.
type Tools struct {
	tools.Rules
	Workspace      string                 `toml:"workspace" rule:"nonempty,path"`
	WorkspaceScope string                 `toml:"workspace_scope" enum:"auto|shared"`
	Sandbox        string                 `toml:"sandbox" enum:"auto|off"`
	Permissions    map[string]Permission  `toml:"permissions"`
	Roles          map[string]tools.Rules `toml:"roles"`
	Channels       map[string]tools.Rules `toml:"channels"`
	MCP            map[string]MCP         `toml:"mcp"`
	Plugins        Plugins                `toml:"plugins"`
}

// Permission says when one tool may run.
type Permission struct {
	Mode  string   `toml:"mode" enum:"deny|ask|allow"`
	Allow []string `toml:"allow"`
	Deny  []string `toml:"deny"`
	// Sandbox "workspace" confines the tool to the workspace.
	Sandbox string `toml:"sandbox" enum:"workspace|off"`
	// Network gives the commands of exec and process the machine's network.
	Network bool `toml:"network"`
}

// MCP is a Model Context Protocol server: a command or a URL.
type MCP struct {
	Command []string                 `toml:"command"`
	Env     map[string]redact.Secret `toml:"env" rule:"header"`
	URL     string                   `toml:"url" rule:"url:http,https"`
	Headers map[string]redact.Secret `toml:"headers" rule:"header"`
	// Parallel lets its tools run beside others; Idempotent lists those that may
	// be repeated after a crash.
	Parallel   bool          `toml:"parallel"`
	Idempotent []string      `toml:"idempotent"`
	Timeout    time.Duration `toml:"timeout" min:"0s"`
	// Defer declares none of its tools: they are found with find_tools.
	Defer bool `toml:"defer"`
}

// Plugins says where plugins are found.
type Plugins struct {
	Dirs []string `toml:"dirs" rule:"path"`
}

// Skills says where skills are found.
type Skills struct {
	Dirs []string `toml:"dirs" rule:"path"`
}

// Schedules bounds reminders and recurring tasks.
type Schedules struct {
	PerUser         int `toml:"per_user" min:"1" max:"1000"`
	PerConversation int `toml:"per_conversation" min:"1" max:"10000"`
	// MinInterval is the least time between two occurrences of one.
	MinInterval time.Duration `toml:"min_interval" min:"1m" max:"168h"`
}

// Retention says what is deleted when it is old; 0 keeps it for ever.
type Retention struct {
	// Age is of conversations in which nothing happens, Count how many of each
	// channel are kept.
	Age         time.Duration `toml:"age" min:"0s"`
	Count       int           `toml:"count" min:"0"`
	DeadLetters time.Duration `toml:"dead_letters" min:"0s"`
}

// Store is where everything is kept.
type Store struct {
	Driver string        `toml:"driver"`
	Path   string        `toml:"path" rule:"nonempty,path"`
	URL    redact.Secret `toml:"url" rule:"url:redis,rediss,redis-sentinel,rediss-sentinel,redis-cluster,rediss-cluster"`
	Prefix string        `toml:"prefix" rule:"nonempty"`
	// RequireDurability refuses a Redis that can lose what it acknowledged.
	RequireDurability bool `toml:"require_durability"`
	// WaitReplicas is how many of Redis's own replicas must have a message before
	// its platform is told that it is taken.
	WaitReplicas int `toml:"wait_replicas" min:"0" max:"10"`
	// LeaseTTL is how long a session or poller stays taken after its replica was
	// last heard of.
	LeaseTTL time.Duration `toml:"lease_ttl" min:"250ms" max:"10m"`
}

// Server is the one HTTP listener.
type Server struct {
	Listen        string         `toml:"listen" rule:"nonempty,listen"`
	MetricsListen string         `toml:"metrics_listen" rule:"listen"`
	Token         redact.Secrets `toml:"token" env:"CLAWBOT_TOKEN"`
	MaxRuns       int            `toml:"max_runs" min:"1"`
	Drain         time.Duration  `toml:"drain" min:"0s" max:"1h"`
}

// Access says who may speak with the bot, where no channel says otherwise.
type Access struct {
	DMPolicy    string `toml:"dm_policy" enum:"pairing|allowlist|members|open"`
	GroupPolicy string `toml:"group_policy" enum:"mention|allowlist|open|off"`
	ReplyIn     string `toml:"reply_in" enum:"thread|channel"`
	// Acknowledge is a reaction on messages in rooms while they are worked on,
	// Failed one on those whose run failed.
	Acknowledge string   `toml:"acknowledge"`
	Failed      string   `toml:"failed"`
	Owners      []string `toml:"owners"`
	Approvers   []string `toml:"approvers"`
	// Bots says which other bots are answered.
	Bots string `toml:"bots" enum:"off|mention|open"`
	// Progress and Partial say where running tools and unfinished text show.
	Progress string `toml:"progress" enum:"all|direct|rooms|off"`
	Partial  string `toml:"partial" enum:"all|direct|rooms|off"`
	Rate     Rate   `toml:"rate"`
	// Rooms are what single rooms have differently, by "channel:id".
	Rooms map[string]RoomAccess `toml:"rooms"`
}

// Rate bounds how much one user, room or guild may ask for.
type Rate struct {
	User  RateLimit `toml:"user"`
	Room  RateLimit `toml:"room"`
	Guild RateLimit `toml:"guild"`
	// MinAccountAge refuses younger accounts, where the platform tells their age.
	MinAccountAge time.Duration `toml:"min_account_age" min:"0s"`
}

// RateLimit counts messages in a minute and runs at once; 0 is no limit.
type RateLimit struct {
	Messages int `toml:"messages" min:"0"`
	Runs     int `toml:"runs" min:"0"`
}

// Budget bounds what models may cost; 0 is no limit.
type Budget struct {
	DailyUSD   float64 `toml:"daily_usd" min:"0" max:"1000000"`
	SessionUSD float64 `toml:"session_usd" min:"0" max:"1000000"`
	UserUSD    float64 `toml:"user_usd" min:"0" max:"1000000"`
	RunTokens  int64   `toml:"run_tokens" min:"0" max:"1000000000"`
	// WarnAt is the part of a cap at which people are warned; 0 is never.
	WarnAt float64 `toml:"warn_at" min:"0" max:"1"`
}

// Log says what is logged.
type Log struct {
	Level  string `toml:"level" enum:"debug|info|warn|error"`
	Format string `toml:"format" enum:"text|json"`
	// Audit is a file that gets a line for every tool call; empty is none.
	Audit string `toml:"audit" rule:"path"`
	// Wire keeps every request to a model and its raw answer in WireDir.
	Wire    bool   `toml:"wire"`
	WireDir string `toml:"wire_dir" rule:"nonempty,path"`
}
