package config

import (
	"time"

	"clawbot/tools"
)

// Default returns the configuration that holds where a file says nothing. Its
// paths are relative; [Loader.Load] makes them absolute.
func Default() *Config {
	return &Config{
		Agent: Agent{Name: "clawbot", MaxTokens: 8192, Thinking: "off"},
		Loop: Loop{
			MaxIterations: 32, MaxIterationsSummary: true, Timeout: 10 * time.Minute,
			RetryOnError: 2, ToolExecution: "parallel", MaxParallelTools: 8,
		},
		Compaction: Compaction{Enabled: true},
		Queue:      Queue{Mode: "steer", SteerBy: "participants", Debounce: 500 * time.Millisecond, Cap: 20, Drop: "summarize"},
		Tools: Tools{
			Rules: tools.Rules{Enabled: []string{
				"read_file", "write_file", "edit_file", "apply_patch", "list_dir", "search",
				"exec", "process", "web_fetch", "send_file", "current_time", "schedule", "remember", "forget", "search_history",
			}},
			Workspace: "workspace", WorkspaceScope: "auto", Sandbox: "auto",
			Plugins: Plugins{Dirs: []string{"plugins"}},
		},
		Schedules: Schedules{PerUser: 20, PerConversation: 50, MinInterval: 5 * time.Minute},
		Skills:    Skills{Dirs: []string{"skills"}},
		Store:     Store{Driver: "sqlite", Path: "clawbot.db", URL: "redis://127.0.0.1:6379/0", Prefix: "clawbot", LeaseTTL: 15 * time.Second},
		Server:    Server{Listen: "127.0.0.1:8080", MaxRuns: 256, Drain: 20 * time.Second},
		Access:    Access{DMPolicy: "pairing", GroupPolicy: "mention", ReplyIn: "thread", Acknowledge: "👀", Failed: "⚠️", Bots: "off", Progress: "all", Partial: "all"},
		Channels:  Channels{Web: Web{Enabled: true}},
		Budget:    Budget{WarnAt: 0.8},
		Log:       Log{Level: "info", Format: "text", WireDir: "wire"},
	}
}

// preset is what is known of a provider by its name alone.
type preset struct {
	name    string
	format  string
	baseURL string
	env     []string // names of variables that hold the key, the first one found counts
	model   string   // when no model is configured
}

// presets are in the order in which a model is looked for.
func presets() []preset {
	return []preset{
		{"anthropic", "anthropic", "https://api.anthropic.com", []string{"ANTHROPIC_API_KEY"}, "claude-sonnet-4-6"},
		{"openai", "openai", "https://api.openai.com", []string{"OPENAI_API_KEY"}, "gpt-5-mini"},
		{"google", "google", "https://generativelanguage.googleapis.com", []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, "gemini-2.5-flash"},
		{"mistral", "mistral", "https://api.mistral.ai", []string{"MISTRAL_API_KEY"}, "mistral-medium-latest"},
		{"ollama", "openai", "http://127.0.0.1:11434", nil, ""},
		{"demo", "demo", "", nil, "demo"},
	}
}

func presetOf(name string) (preset, bool) {
	for _, p := range presets() {
		if p.name == name {
			return p, true
		}
	}
	return preset{}, false
}
