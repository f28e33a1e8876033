package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"clawbot/tools"
)

// AgentProfile is another agent, [agents.NAME]. What it leaves out is as
// [agent] says.
type AgentProfile struct {
	Name             string   `toml:"name"`
	Model            string   `toml:"model"`
	Fallbacks        []string `toml:"fallbacks"`
	SystemPrompt     string   `toml:"system_prompt"`
	SystemPromptFile string   `toml:"system_prompt_file" rule:"path"`
	Temperature      *float64 `toml:"temperature" min:"0" max:"2"`
	MaxTokens        int64    `toml:"max_tokens" min:"1"`
	Thinking         string   `toml:"thinking" enum:"off|low|medium|high"`
	// Tools and Deny narrow what [tools] gives; nil Tools are all of it.
	Tools []string `toml:"tools"`
	Deny  []string `toml:"deny"`
}

// Route says where an agent answers, [[routes]]. Empty fields fit everything.
type Route struct {
	Agent   string `toml:"agent"`
	Channel string `toml:"channel"`
	Room    string `toml:"room"`
	User    string `toml:"user"`
	Role    string `toml:"role"`
}

// mainAgent is what routes call the table [agent].
const mainAgent = "main"

// As returns [agent] as the named profile has it.
func (c *Config) As(name string) Agent {
	a, p := c.Agent, c.Agents[name]
	if p == nil {
		return a
	}
	if p.Name != "" {
		a.Name = p.Name
	}
	if p.Model != "" {
		a.Model = p.Model
	}
	if p.Fallbacks != nil {
		a.Fallbacks = p.Fallbacks
	}
	if p.SystemPrompt != "" || p.SystemPromptFile != "" {
		a.SystemPrompt, a.SystemPromptFile = p.SystemPrompt, p.SystemPromptFile
	}
	if p.Temperature != nil {
		a.Temperature = p.Temperature
	}
	if p.MaxTokens != 0 {
		a.MaxTokens = p.MaxTokens
	}
	if p.Thinking != "" {
		a.Thinking = p.Thinking
	}
	return a
}

// AllModels are the models that may answer without having been chosen: of all
// agents, each once, the main agent's first.
func (c *Config) AllModels() []string {
	refs := append([]string{c.Agent.Model}, c.Agent.Fallbacks...)
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		a := c.As(name)
		refs = append(append(refs, a.Model), a.Fallbacks...)
	}
	var out []string
	for _, ref := range refs {
		if ref != "" && !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	return out
}

func (c *checker) checkAgents() {
	for _, name := range slices.Sorted(maps.Keys(c.cfg.Agents)) {
		p, path := c.cfg.Agents[name], []string{"agents", name}
		switch {
		case name == mainAgent || name == "default":
			c.problem(path, "%q is the agent of the table [agent]; choose another name", mainAgent)
		case !validName.MatchString(name):
			c.problem(path, "%q is no name for an agent; use letters, digits, _ and -", name)
		}
		if p.SystemPrompt != "" && p.SystemPromptFile != "" {
			c.problem(append(path, "system_prompt_file"), "system_prompt is set too; keep one of them")
		}
		if p.Model != "" {
			c.checkModel(append(path, "model"), p.Model)
		}
		for i, ref := range p.Fallbacks {
			c.checkModel(append(slices.Clone(path), "fallbacks", fmt.Sprint(i)), ref)
		}
		c.checkRules(path, tools.Rules{Enabled: p.Tools, Deny: p.Deny})
	}
	for i, r := range c.cfg.Routes {
		c.checkRoute([]string{"routes", fmt.Sprint(i)}, &r)
	}
}

func (c *checker) checkRoute(path []string, r *Route) {
	at := func(key string) []string { return append(slices.Clone(path), key) }
	names := append([]string{mainAgent}, slices.Sorted(maps.Keys(c.cfg.Agents))...)
	switch {
	case r.Agent == "":
		c.problem(path, "agent is missing; name one of %s", strings.Join(names, ", "))
	case !slices.Contains(names, r.Agent):
		c.problem(at("agent"), "%s", noneOf(r.Agent, names))
	}
	if r.Channel != "" {
		c.checkChannelName(at("channel"), r.Channel)
		if strings.Contains(r.Channel, ":") {
			c.problem(at("channel"), "%q is a room; write room = %q", r.Channel, r.Channel)
		}
	}
	if r.User != "" {
		c.checkPerson(at("user"), r.User)
	}
	if _, id, ok := strings.Cut(r.Room, ":"); r.Room != "" && (!ok || id == "") {
		c.problem(at("room"), "%q must be platform:id, such as \"slack:C0123ABCD\"", r.Room)
	} else if r.Room != "" {
		c.checkChannelName(at("room"), r.Room)
	}
}
