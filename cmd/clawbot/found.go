package main

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"clawbot/agentcore"
	"clawbot/config"
	"clawbot/tools"
	"clawbot/tools/skill"
)

// addSkills reads the skills. One that can't be used is told of and left out.
func (b *toolbox) addSkills(cfg *config.Config, log *slog.Logger) {
	var err error
	if b.skills, err = skill.Load(cfg.Skills.Dirs); err != nil && log != nil {
		log.Warn("skills are left out", "err", err)
	}
}

// indirect are the tools by which the model reaches what is not declared to it:
// deferred tools and skills. They stand in the registry, so that policy counts
// for them; what they say depends on who is there, see [toolbox.fill].
func (b *toolbox) indirect() tools.Source {
	source := tools.Source{Name: "clawbot", Kind: tools.Extension}
	add := func(t *agentcore.Tool) {
		source.Tools = append(source.Tools, tools.Tool{
			Descriptor: tools.Descriptor{
				Name: t.Name, Title: t.Label, Description: t.Description, InputSchema: t.Schema,
				Owner: tools.Owner{Kind: tools.Core}, Executor: &tools.Executor{Kind: tools.Core, Name: t.Name},
			},
			Idempotent: true, Execute: t.Execute,
		})
	}
	for _, deferred := range b.deferred {
		if deferred {
			add(finder(nil))
			break
		}
	}
	if len(b.skills) > 0 {
		add(skill.Tool(b.skills))
	}
	return source
}

// fill makes of what is granted what is declared: deferred tools are behind the
// tool that finds them, and skills whose tools are there behind the one that
// reads them.
func (b *toolbox) fill(granted []*agentcore.Tool) []*agentcore.Tool {
	has := func(tool string) bool {
		return slices.ContainsFunc(granted, func(t *agentcore.Tool) bool { return t.Name == tool })
	}
	var declared, deferred []*agentcore.Tool
	for _, t := range granted {
		if b.isDeferred(t.Name) {
			deferred = append(deferred, t)
		}
	}
	var ready []*skill.Skill
	for _, s := range b.skills {
		if len(s.Missing(has)) == 0 {
			ready = append(ready, s)
		}
	}
	for _, t := range granted {
		switch {
		case b.isDeferred(t.Name):
		case t.Name == findTools && len(deferred) > 0:
			declared = append(declared, finder(deferred))
		case t.Name == skill.ToolName && len(ready) > 0:
			declared = append(declared, skill.Tool(ready))
		case t.Name != findTools && t.Name != skill.ToolName:
			declared = append(declared, t)
		}
	}
	return declared
}

// skillLines list the skills, with what hides them.
func (b *toolbox) skillLines(visible []*agentcore.Tool) []toolLine {
	var lines []toolLine
	for _, s := range b.skills {
		line := toolLine{Name: "skill " + s.Name, Visible: true, Source: "skills", Approval: "-"}
		missing := s.Missing(func(tool string) bool {
			return slices.ContainsFunc(visible, func(t *agentcore.Tool) bool { return t.Name == tool })
		})
		if len(missing) > 0 {
			line.Visible = false
			line.Hidden = []string{fmt.Sprintf("%s: it needs %s", tools.ReasonContextMismatch, strings.Join(missing, ", "))}
		}
		lines = append(lines, line)
	}
	return lines
}
